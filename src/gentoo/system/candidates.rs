//! The ebuilds of a package and what stands against each.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock, RwLock};

use super::super::depstring::DepString;
use super::super::masters::RepositorySet;
use super::super::md5_cache::CacheMiss;
use super::super::metadata::Metadata;
use super::super::names;
use super::super::repository::EbuildFile;
use super::super::text;
use super::atom::Subject;
use super::keywords::Keywords;
use super::licenses::Acceptance;
use super::masks::Masks;
use super::model::{Candidate, CandidateUse, Obstacle};
use super::problem::Problems;
use super::repositories::Repositories;
use super::use_config::{Asked, UseConfig};

/// Where metadata come from that no cache has: the ebuild is sourced by whoever can do that.
pub type MetadataSource = Box<dyn Fn(&RepositorySet, &EbuildFile) -> Result<Metadata, String> + Send + Sync>;

/// The EAPIs that Portage 3.0.83 supports.
const EAPIS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// The rules by which candidates are judged.
pub(super) struct Rules {
    pub flags: UseConfig,
    pub masks: Masks,
    pub keywords: Keywords,
    pub licenses: Acceptance,
    pub properties: Acceptance,
    pub restrict: Acceptance,
}

/// The ebuilds of all repositories, read when they are asked for.
pub(super) struct Candidates {
    pub repositories: Repositories,
    pub rules: Rules,
    pub source: Option<MetadataSource>,
    pub categories: Vec<String>,
    names: OnceLock<Vec<String>>,
    known: RwLock<HashMap<String, Arc<[Candidate]>>>,
}

impl Candidates {
    pub fn new(
        repositories: Repositories,
        rules: Rules,
        source: Option<MetadataSource>,
        categories: Vec<String>,
    ) -> Candidates {
        let (names, known) = (OnceLock::new(), RwLock::default());
        Candidates { repositories, rules, source, categories, names, known }
    }

    /// All names of packages, sorted.
    pub fn names(&self, problems: &Problems) -> &[String] {
        self.names.get_or_init(|| {
            let mut all = Vec::new();
            for category in &self.categories {
                for repo in &self.repositories.all {
                    packages(&repo.repository.location, category, problems, &mut all);
                }
            }
            all.sort();
            all.dedup();
            all
        })
    }

    /// The ebuilds of a package, the newest first, then by priority of the repository.
    pub fn of(&self, name: &str, problems: &Problems) -> Arc<[Candidate]> {
        if let Some(known) = self.known.read().unwrap_or_else(|poisoned| poisoned.into_inner()).get(name) {
            return known.clone();
        }
        let found = self.read(name, problems);
        let mut known = self.known.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        known.entry(name.to_owned()).or_insert(found).clone()
    }

    fn read(&self, name: &str, problems: &Problems) -> Arc<[Candidate]> {
        let Some((category, package)) = name.split_once('/') else {
            return Arc::new([]);
        };
        // a category that is listed nowhere is none for Portage
        if self.categories.binary_search_by(|known| known.as_str().cmp(category)).is_err()
            || !names::is_package(package)
        {
            return Arc::new([]);
        }
        let mut found = Vec::new();
        for (index, repo) in self.repositories.all.iter().enumerate() {
            let listing = repo.repository.ebuilds(category, package);
            for problem in listing.problems {
                problems.add(&problem.path, None, format!("{}; the ebuild is left out", problem.message));
            }
            found.extend(listing.items.into_iter().map(|ebuild| (index, ebuild)));
        }
        found.sort_by(|(a, ours), (b, theirs)| (&theirs.cpv.version, b).cmp(&(&ours.cpv.version, a)));
        found.into_iter().map(|(index, ebuild)| self.candidate(name, index, ebuild, problems)).collect()
    }

    fn candidate(&self, name: &str, index: usize, ebuild: EbuildFile, problems: &Problems) -> Candidate {
        let repo = &self.repositories.all[index];
        let (mut metadata, mut invalid) = match self.metadata(index, &ebuild, problems) {
            Ok(metadata) => (metadata, None),
            Err(reason) => (Metadata::default(), Some(reason)),
        };
        let known = invalid.is_none();
        let eapi_known = EAPIS.contains(&metadata.eapi.as_str());
        if known {
            invalid = wrong(&metadata, eapi_known);
        }
        settle_slot(&mut metadata);
        let subject = Subject {
            name,
            version: &ebuild.cpv.version,
            slot: &metadata.slot,
            subslot: &metadata.subslot,
            repository: &ebuild.repository,
        };
        let (use_state, obstacles) = match known && eapi_known {
            true => self.judge(subject, index, &metadata),
            false => (CandidateUse::default(), self.rules.masked(subject).into_iter().collect()),
        };
        Candidate { priority: repo.priority, ebuild, metadata, use_state, obstacles, invalid }
    }

    fn metadata(&self, index: usize, ebuild: &EbuildFile, problems: &Problems) -> Result<Metadata, String> {
        let cache = &self.repositories.all[index].cache;
        let miss = match cache.look(ebuild) {
            Ok(metadata) => return Ok(metadata),
            Err(miss) => miss,
        };
        if let CacheMiss::Corrupt(line) = miss {
            let message = "is no KEY=value, the entry is not used; make the repository's cache anew (egencache)";
            problems.add(&cache.path(ebuild), Some(line), message);
        }
        match &self.source {
            Some(source) => {
                source(cache.set(), ebuild).map_err(|reason| format!("its metadata can't be had: {reason}"))
            }
            None => Err(format!("its metadata can't be had: {miss}")),
        }
    }

    pub fn source_anew(&self, ebuild: &EbuildFile) -> Option<Result<Metadata, String>> {
        let set = self.repositories.all[self.repositories.index(&ebuild.repository)?].cache.set();
        Some(self.source.as_ref()?(set, ebuild))
    }

    fn judge(&self, subject: Subject<'_>, repository: usize, metadata: &Metadata) -> (CandidateUse, Vec<Obstacle>) {
        let rules = &self.rules;
        let stable = rules.keywords.is_stable(subject, &metadata.keywords);
        let state = rules.flags.state(Asked { subject, repository, metadata, stable });
        let mut obstacles: Vec<Obstacle> = rules.masked(subject).into_iter().collect();
        if let Some(accept) = rules.keywords.missing(subject, &metadata.keywords) {
            obstacles.push(Obstacle::Keyword { accept });
        }
        let enabled = |flag: &str| state.enabled.contains(flag);
        // what does not parse is told as invalid
        let licenses = rules.licenses.missing(subject, &metadata.license, &enabled).unwrap_or_default();
        if !licenses.is_empty() {
            obstacles.push(Obstacle::License { licenses });
        }
        let properties = metadata.properties.join(" ");
        for (variable, text, rule) in
            [("PROPERTIES", &properties, &rules.properties), ("RESTRICT", &metadata.restrict, &rules.restrict)]
        {
            let words = rule.missing(subject, text, &enabled).unwrap_or_default();
            if !words.is_empty() {
                obstacles.push(Obstacle::Other { variable: variable.to_owned(), words });
            }
        }
        (state, obstacles)
    }
}

impl Rules {
    fn masked(&self, subject: Subject<'_>) -> Option<Obstacle> {
        let mask = self.masks.of(subject)?;
        let origin = format!("{}:{}", mask.path.display(), mask.number);
        Some(Obstacle::Masked { by_user: mask.by_user, origin, comment: mask.comment })
    }
}

/// The names of the packages of a category.
fn packages(location: &Path, category: &str, problems: &Problems, out: &mut Vec<String>) {
    let dir = location.join(category);
    for name in problems.read(text::sorted_names(&dir)) {
        let Some(name) = name.to_str().filter(|name| *name != "CVS" && names::is_package(name)) else { continue };
        // a file beside the packages is metadata.xml or ends in .something, which no package name does
        if dir.join(name).is_dir() {
            out.push(format!("{category}/{name}"));
        }
    }
}

/// Slot and sub-slot as Portage has them: 0 for what is none, the slot's own name without a sub-slot.
fn settle_slot(metadata: &mut Metadata) {
    if !is_slot(metadata) {
        metadata.slot = "0".to_owned();
        metadata.subslot = "0".to_owned();
    } else if metadata.subslot.is_empty() {
        metadata.subslot.clone_from(&metadata.slot);
    }
}

fn is_slot(metadata: &Metadata) -> bool {
    names::is_slot(&metadata.slot) && (metadata.subslot.is_empty() || names::is_slot(&metadata.subslot))
}

/// Why Portage would call the metadata invalid.
fn wrong(metadata: &Metadata, eapi_known: bool) -> Option<String> {
    if !eapi_known {
        return Some(format!("EAPI {} is unknown", crate::escape::show(metadata.eapi.as_bytes())));
    }
    if !is_slot(metadata) {
        return Some(format!("SLOT: `{}` is no slot (PMS 3.1.3)", crate::escape::show(metadata.slot.as_bytes())));
    }
    let properties = metadata.properties.join(" ");
    let texts = [
        ("BDEPEND", &metadata.bdepend),
        ("DEPEND", &metadata.depend),
        ("IDEPEND", &metadata.idepend),
        ("PDEPEND", &metadata.pdepend),
        ("RDEPEND", &metadata.rdepend),
        ("LICENSE", &metadata.license),
        ("PROPERTIES", &properties),
        ("RESTRICT", &metadata.restrict),
        ("REQUIRED_USE", &metadata.required_use),
    ];
    let mut wrong = texts.into_iter().filter(|(_, text)| !text.is_empty());
    wrong.find_map(|(name, text)| DepString::parse(text).err().map(|error| format!("{name}: {error}")))
}
