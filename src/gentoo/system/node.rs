//! One directory of a profile, and the `profiles` directory of a repository, which holds for that repository's packages.

use std::path::{Path, PathBuf};

use super::super::text::{self, Line};
use super::super::varfile::Variables;
use super::atom::{Allowed, ConfigAtom};
use super::flags::{FlagLists, Kind};
use super::lines::Reader;
use super::problem::Problems;
use super::repositories::Formats;
use super::table::AtomTable;

/// A line of package.mask or package.unmask: an atom, or one with a `-` before it.
#[derive(Clone, Debug)]
pub(super) struct MaskLine {
    /// `-atom` takes `atom` away that stands further up.
    pub removes: bool,
    pub atom: ConfigAtom,
    pub path: PathBuf,
    pub number: usize,
    /// Whether it is the user's own line.
    pub by_user: bool,
}

/// The files of one directory but for its lists of USE flags.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub defaults: Variables,
    pub mask: FlagLists,
    pub force: FlagLists,
    /// package.use; [`FlagLists::always`] is filled from make.defaults once USE_EXPAND is known.
    pub use_flags: FlagLists,
    pub masks: Vec<MaskLine>,
    pub unmasks: Vec<MaskLine>,
    pub keywords: AtomTable<Vec<String>>,
    pub accept_keywords: AtomTable<Vec<String>>,
    pub licenses: AtomTable<Vec<String>>,
    /// The lines of `packages`: `*atom` (@system), `atom`, `-…`, `-*`.
    pub packages: Vec<String>,
    /// Whether lines of `packages` without `*` count (@profile).
    pub profile_set: bool,
    pub provided: Vec<Line>,
}

/// What kind of directory it is.
#[derive(Clone, Debug)]
pub(super) struct NodeKind {
    /// The EAPI where the directory has no file `eapi`.
    pub default_eapi: String,
    pub formats: Formats,
    /// The user's own etc/portage/profile.
    pub user: bool,
}

impl Node {
    /// Reads a directory. `known` are the variables so far and learns this one's.
    pub fn read(problems: &Problems, dir: &Path, kind: &NodeKind, known: &mut Variables) -> Node {
        let own_eapi = problems.read(text::first_line(&dir.join("eapi")));
        // without an eapi file the user's own directory is bound to none
        let free = kind.user && own_eapi.is_none();
        let eapi = own_eapi.unwrap_or_else(|| kind.default_eapi.clone());
        let allowed = match free {
            true => Allowed { wildcards: false, ..Allowed::USER },
            false => Allowed::of_eapi(&eapi, kind.formats.repository_atoms),
        };
        let directories = kind.user || kind.formats.allow_directories(&eapi);
        let reader = Reader { problems, allowed, directories };
        let flag_reader = Reader { allowed: Allowed { wildcards: free, ..allowed }, ..reader };
        let eapi = if free { "user" } else { &eapi };
        let lists = |kind: Kind| FlagLists::read(flag_reader, dir, eapi, kind, free);
        // USE="${USE} …" at the top of a file must not repeat the flags of its parents (Portage)
        known.remove("USE");
        Node {
            defaults: reader.variables(&dir.join("make.defaults"), known, false),
            mask: lists(Kind::Mask),
            force: lists(Kind::Force),
            use_flags: lists(Kind::Use),
            masks: masks(reader, &dir.join("package.mask"), kind.user),
            // Portage's own: PMS has no package.unmask in profiles
            unmasks: match directories {
                true => masks(reader, &dir.join("package.unmask"), kind.user),
                false => Vec::new(),
            },
            keywords: reader.table(&dir.join("package.keywords"), None),
            accept_keywords: reader.table(&dir.join("package.accept_keywords"), None),
            licenses: match kind.formats.license {
                true => Reader::user(problems).table(&dir.join("package.license"), Some("licence")),
                false => AtomTable::default(),
            },
            packages: packages(reader, &dir.join("packages")),
            profile_set: kind.user || kind.formats.profile_set,
            provided: provided(reader, &dir.join("package.provided"), eapi),
        }
    }
}

/// The lines of a package.mask or package.unmask.
pub(super) fn masks(reader: Reader<'_>, path: &Path, by_user: bool) -> Vec<MaskLine> {
    let mut out = Vec::new();
    for line in reader.lines(path) {
        let word = line.text.strip_prefix('-').unwrap_or(&line.text);
        if let Some(atom) = reader.atom(&line, word) {
            let removes = line.text.starts_with('-');
            // of two lines that say the same the first is told of, as by Portage
            let before = out.iter().rfind(|before: &&MaskLine| before.atom.as_str() == atom.as_str());
            if before.is_some_and(|before| before.removes == removes) {
                continue;
            }
            out.push(MaskLine { removes, atom, path: line.path, number: line.number, by_user });
        }
    }
    out
}

fn packages(reader: Reader<'_>, path: &Path) -> Vec<String> {
    let reader = Reader { directories: false, ..reader };
    let mut out = Vec::new();
    for line in reader.lines(path) {
        let word = line.text.strip_prefix('-').unwrap_or(&line.text);
        let word = word.strip_prefix('*').unwrap_or(word);
        if line.text == "-*" || reader.atom(&line, word).is_some() {
            out.push(line.text);
        }
    }
    out
}

/// The lines of package.provided, which directories from EAPI 7 on can't have (PMS 5.2.8).
fn provided(reader: Reader<'_>, path: &Path, eapi: &str) -> Vec<Line> {
    let lines = reader.lines(path);
    if !lines.is_empty() && eapi.parse::<u32>().is_ok_and(|eapi| eapi >= 7) {
        reader.problems.add(path, None, format!("does not count in a directory of EAPI {eapi} (PMS 5.2.8)"));
        return Vec::new();
    }
    lines
}
