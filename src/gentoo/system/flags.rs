//! The lists of USE flags that profiles and repositories have: use.mask, package.use.force and their kin (PMS 5.2).

use std::path::Path;

use super::super::text::Line;
use super::atom::Subject;
use super::layer::Layer;
use super::lines::Reader;
use super::table::AtomTable;

/// Which of the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Mask,
    Force,
    /// package.use; what is on for all stands in make.defaults.
    Use,
}

impl Kind {
    fn suffix(self) -> &'static str {
        match self {
            Kind::Mask => ".mask",
            Kind::Force => ".force",
            Kind::Use => "",
        }
    }

    /// The first EAPI of a directory whose lists for stable packages count (PMS 5.2.11, table 5.4).
    fn stable_since(self) -> u32 {
        if self == Kind::Use { 9 } else { 5 }
    }
}

/// One kind of list of one directory, from the weakest to the strongest.
#[derive(Clone, Debug, Default)]
pub(super) struct FlagLists {
    pub always: Layer,
    stable: Layer,
    package: AtomTable<Layer>,
    package_stable: AtomTable<Layer>,
}

impl FlagLists {
    /// Reads the lists of a directory. `extended` is for the user's own profile without an EAPI, where `VARIABLE:`
    /// may stand before flags.
    pub fn read(reader: Reader<'_>, dir: &Path, eapi: &str, kind: Kind, extended: bool) -> FlagLists {
        let suffix = kind.suffix();
        let has_stable = eapi.parse::<u32>().map_or(true, |eapi| eapi >= kind.stable_since());
        let mut lists = FlagLists::default();
        if kind != Kind::Use {
            lists.always = plain(reader, &dir.join(format!("use{suffix}")));
        }
        lists.package = table(reader, &dir.join(format!("package.use{suffix}")), kind, extended);
        let (stable, package) = (format!("use.stable{suffix}"), format!("package.use.stable{suffix}"));
        if has_stable {
            lists.stable = plain(reader, &dir.join(stable));
            lists.package_stable = table(reader, &dir.join(package), kind, extended);
        } else {
            for name in [stable, package].map(|name| dir.join(name)).iter().filter(|path| path.exists()) {
                let message =
                    format!("does not count: the directory's EAPI is {eapi}; raise it to {}", kind.stable_since());
                reader.problems.add(name, None, message);
            }
        }
        lists
    }

    /// The layers that hold for a package, the weakest first.
    pub fn collect<'a>(&'a self, subject: Subject<'_>, stable: bool, out: &mut Vec<&'a Layer>) {
        out.push(&self.always);
        if stable {
            out.push(&self.stable);
        }
        out.extend(self.package.matching(subject));
        if stable {
            out.extend(self.package_stable.matching(subject));
        }
    }

    /// Whether lines for single packages may speak of this name.
    fn speaks_of(&self, name: &str) -> bool {
        self.package.speaks_of(name) || self.package_stable.speaks_of(name)
    }
}

/// One kind of list of all directories of a profile, parents first.
#[derive(Clone, Debug, Default)]
pub(super) struct Stack {
    lists: Vec<FlagLists>,
    /// What holds where no line speaks of the package.
    unstable: Layer,
    stable: Layer,
}

impl Stack {
    pub fn new(lists: Vec<FlagLists>) -> Stack {
        let (mut unstable, mut stable) = (Layer::default(), Layer::default());
        for node in &lists {
            unstable.append(&node.always);
            stable.append(&node.always);
            stable.append(&node.stable);
        }
        Stack { lists, unstable, stable }
    }

    /// The layers that hold for a package, the weakest first.
    pub fn collect<'a>(&'a self, subject: Subject<'_>, stable: bool, out: &mut Vec<&'a Layer>) {
        if self.lists.iter().any(|lists| lists.speaks_of(subject.name)) {
            self.lists.iter().for_each(|lists| lists.collect(subject, stable, out));
        } else {
            out.push(if stable { &self.stable } else { &self.unstable });
        }
    }

    /// What holds for all packages that are not stable.
    pub fn global(&self) -> &Layer {
        &self.unstable
    }
}

/// What the strongest of some layers that speaks of a flag says.
pub(super) fn says(layers: &[&Layer], flag: &str, own: bool) -> Option<bool> {
    layers.iter().rev().find_map(|layer| layer.says(flag, own))
}

fn plain(reader: Reader<'_>, path: &Path) -> Layer {
    let mut layer = Layer::default();
    for line in reader.lines(path) {
        if line.text == "-*" || is_listed(reader, &line, &line.text) {
            layer.list_word(&line.text);
        }
    }
    layer
}

fn table(reader: Reader<'_>, path: &Path, kind: Kind, extended: bool) -> AtomTable<Layer> {
    let mut table: AtomTable<Layer> = AtomTable::default();
    for line in reader.lines(path) {
        let mut words = line.text.split(' ');
        let Some(atom) = reader.atom(&line, words.next().unwrap_or_default()) else { continue };
        let layer = table.entry(atom);
        let mut prefix = String::new();
        if extended && line.text.split(' ').nth(1).is_none() {
            reader.says_nothing(&line, "flag");
        }
        for word in words {
            if let Some(name) = word.strip_suffix(':').filter(|_| extended) {
                prefix = format!("{}_", name.to_lowercase());
                continue;
            }
            let (sign, flag) = word.strip_prefix('-').map_or(("", word), |flag| ("-", flag));
            let word = format!("{sign}{prefix}{flag}");
            if !is_listed(reader, &line, &word) {
                continue;
            }
            match kind {
                Kind::Use => layer.use_word(&word),
                _ => layer.list_word(&word),
            }
        }
    }
    table
}

/// Whether a word is a flag as such lists may have it (portage.dep._get_useflag_re), else a problem.
fn is_listed(reader: Reader<'_>, line: &Line, word: &str) -> bool {
    let sound = is_flag(word.strip_prefix('-').unwrap_or(word));
    if !sound {
        complain(reader, line, word);
    }
    sound
}

/// A word of the user's package.use that can't be one: Portage takes it without a word, and no package has such a flag.
pub(super) fn check(reader: Reader<'_>, line: &Line, word: &str) {
    let flag = word.strip_prefix(['-', '+']).unwrap_or(word);
    if word != "-*" && !is_flag(flag.strip_suffix("_*").unwrap_or(flag)) {
        complain(reader, line, word);
    }
}

fn is_flag(flag: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric();
    flag.starts_with(plain) && flag.chars().all(|c| plain(c) || "+_@-".contains(c))
}

fn complain(reader: Reader<'_>, line: &Line, word: &str) {
    let word = crate::escape::show(word.as_bytes());
    reader.problems.line(line, format!("`{word}` is no USE flag (PMS 3.1.4); mend or remove it"));
}
