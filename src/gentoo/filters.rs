//! Which of the ebuilds that were named are taken: the latest, the keyworded, live ones or not.

use std::collections::BTreeMap;

use super::metadata::Metadata;
use super::repository::EbuildFile;

/// An ebuild with what a filter asks of it.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub ebuild: EbuildFile,
    pub slot: String,
    pub keyworded: bool,
    pub live: bool,
}

impl Candidate {
    /// Takes the answers from the ebuild's metadata. It is live if it says so (`PROPERTIES=live`) or if its version
    /// is written like one that moves (`9999`).
    pub fn new(ebuild: EbuildFile, metadata: &Metadata) -> Candidate {
        Candidate {
            slot: metadata.slot.clone(),
            keyworded: metadata.is_keyworded(),
            live: metadata.is_live() || ebuild.cpv.version.looks_live(),
            ebuild,
        }
    }
}

/// Keeps the highest version of each package and slot, in the order given. Leave live ebuilds out before if a release is meant.
pub fn latest(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut highest: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (index, candidate) in candidates.iter().enumerate() {
        let best = highest.entry((candidate.ebuild.cpv.cp(), candidate.slot.clone())).or_insert(index);
        if candidate.ebuild.cpv.version > candidates[*best].ebuild.cpv.version {
            *best = index;
        }
    }
    let mut kept: Vec<usize> = highest.into_values().collect();
    kept.sort_unstable();
    let mut kept = kept.into_iter().peekable();
    let numbered = candidates.into_iter().enumerate();
    numbered.filter_map(|(index, candidate)| kept.next_if_eq(&index).map(|_| candidate)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::cpv::Cpv;
    use super::*;

    fn candidate(cpv: &str, slot: &str) -> Candidate {
        let cpv = Cpv::parse(cpv).unwrap();
        let ebuild = EbuildFile { cpv, path: "x".into(), repository: "r".into() };
        Candidate::new(ebuild, &Metadata { slot: slot.to_owned(), ..Metadata::default() })
    }

    #[test]
    fn the_latest_of_each_slot() {
        let all = [("a/b-1.10", "0"), ("a/b-1.9", "0"), ("a/b-1", "1"), ("a/c-9999", "0"), ("a/b-1.10-r1", "0")];
        let kept = latest(all.map(|(cpv, slot)| candidate(cpv, slot)).into());
        let kept: Vec<_> = kept.iter().map(|candidate| candidate.ebuild.cpv.to_string()).collect();
        assert_eq!(kept, ["a/b-1", "a/c-9999", "a/b-1.10-r1"]);
        assert!(candidate("a/c-9999", "0").live && !candidate("a/c-1", "0").live && !candidate("a/c-1", "0").keyworded);
    }
}
