//! package.mask and package.unmask of repositories, the profile and the user (portage's MaskManager).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::atom::Subject;
use super::node::MaskLine;
use super::repositories::Repositories;
use super::table::AtomTable;

/// Where a mask stands.
#[derive(Clone, Debug)]
struct Origin {
    path: PathBuf,
    number: usize,
    by_user: bool,
}

/// The masks that are left when all lines have had their say, and the atoms that unmask.
#[derive(Debug, Default)]
pub(super) struct Masks {
    masks: AtomTable<Option<Origin>>,
    unmasks: AtomTable<()>,
    /// The lines of the files that masks stand in, for their comments.
    texts: Mutex<BTreeMap<PathBuf, Vec<String>>>,
}

/// A mask that matched.
pub(super) struct Mask {
    pub by_user: bool,
    pub path: PathBuf,
    pub number: usize,
    pub comment: String,
}

/// The lines of one kind, of all places.
pub(super) struct Sources<'a> {
    /// By repository.
    pub repositories: Vec<&'a [MaskLine]>,
    /// By directory of the profile, parents first.
    pub profile: Vec<&'a [MaskLine]>,
    pub user: &'a [MaskLine],
}

impl Masks {
    pub fn new(repositories: &Repositories, masks: &Sources<'_>, unmasks: &Sources<'_>) -> Masks {
        let mut out = Masks::default();
        // a repository's packages are masked by its masters' lines too, but for those that it takes away
        let mut of_repositories = Vec::new();
        for (index, repo) in repositories.all.iter().enumerate() {
            let own = masks.repositories[index];
            let mut lists: Vec<Vec<&MaskLine>> = repo
                .masters
                .iter()
                .map(|&master| stacked([masks.repositories[master], own].into_iter().flatten(), false))
                .collect();
            if lists.is_empty() {
                lists.push(stacked(own.iter(), false));
            }
            let lines = stacked(lists.into_iter().flatten(), false);
            of_repositories.extend(lines.into_iter().map(|line| in_repository(line, &repo.repository.name)));
        }
        let of_profile = stacked(masks.profile.iter().copied().flatten(), false);
        for line in stacked(of_repositories.iter().chain(of_profile).chain(masks.user), true) {
            let origin = Origin { path: line.path.clone(), number: line.number, by_user: line.by_user };
            *out.masks.entry(line.atom.clone()) = Some(origin);
        }
        let mut of_repositories = Vec::new();
        for (index, repo) in repositories.all.iter().enumerate().filter(|(_, repo)| repo.formats.directories) {
            let lines = stacked(unmasks.repositories[index].iter(), false);
            of_repositories.extend(lines.into_iter().map(|line| in_repository(line, &repo.repository.name)));
        }
        let of_profile = stacked(unmasks.profile.iter().copied().flatten(), false);
        for line in stacked(of_repositories.iter().chain(of_profile).chain(unmasks.user), true) {
            out.unmasks.entry(line.atom.clone());
        }
        out
    }

    /// The mask of a package: the user's own if there is one, else the first.
    pub fn of(&self, subject: Subject<'_>) -> Option<Mask> {
        let matching = self.masks.entries(subject.name).filter(|(atom, _)| atom.matches(subject));
        let mut found: Vec<&Origin> = matching.filter_map(|(_, origin)| origin.as_ref()).collect();
        if found.is_empty() || self.unmasks.entries(subject.name).any(|(atom, ())| atom.matches(subject)) {
            return None;
        }
        found.sort_by_key(|origin| !origin.by_user);
        let origin = found[0];
        Some(Mask {
            by_user: origin.by_user,
            path: origin.path.clone(),
            number: origin.number,
            comment: self.comment(&origin.path, origin.number),
        })
    }

    /// The comment block that holds for a line: it ends at an empty line, and lines between may name other packages
    /// (as portage's getmaskingreason has it).
    fn comment(&self, path: &Path, number: usize) -> String {
        let mut texts = self.texts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let lines = texts.entry(path.to_owned()).or_insert_with(|| {
            let text = super::super::text::read(path).ok().flatten().unwrap_or_default();
            text.lines().map(|line| line.trim().to_owned()).collect()
        });
        let before = &lines[..lines.len().min(number.saturating_sub(1))];
        let begin = before.iter().rposition(String::is_empty).map_or(0, |at| at + 1);
        let remarks = before[begin..].iter().filter_map(|line| line.strip_prefix('#'));
        let remarks: Vec<&str> = remarks.map(|text| text.strip_prefix(' ').unwrap_or(text).trim_end()).collect();
        remarks.join("\n").trim_matches('\n').to_owned()
    }
}

fn in_repository(line: &MaskLine, name: &str) -> MaskLine {
    MaskLine { atom: line.atom.clone().in_repository(name), ..line.clone() }
}

/// portage.util.stack_lists: a later line with the same atom takes the earlier one's origin over; `-atom` removes,
/// with `any_repository` also `atom::repository`.
fn stacked<'a>(lines: impl Iterator<Item = &'a MaskLine>, any_repository: bool) -> Vec<&'a MaskLine> {
    let mut order: Vec<Option<&MaskLine>> = Vec::new();
    let mut at: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        let text = line.atom.as_str();
        if !line.removes {
            match at.get(text) {
                Some(&index) => order[index] = Some(line),
                None => {
                    at.insert(text, order.len());
                    order.push(Some(line));
                }
            }
        } else if any_repository && !line.atom.has_repository() {
            for slot in &mut order {
                if let Some(held) = slot.filter(|held| held.atom.without_repository() == text) {
                    at.remove(held.atom.as_str());
                    *slot = None;
                }
            }
        } else if let Some(index) = at.remove(text) {
            order[index] = None;
        }
    }
    order.into_iter().flatten().collect()
}
