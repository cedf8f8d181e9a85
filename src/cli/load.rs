//! What ebuilds cost, as far as it is known before they run, and in which order they are best done.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::escape::escape_path;
use crate::gentoo::manifest::{EntryKind, Manifest};
use crate::gentoo::repository::EbuildFile;
use crate::gentoo::within::Within;

/// What an ebuild costs beside its distfiles, as the bytes of a distfile that cost the same.
pub const EBUILD: u64 = 2 << 20;

/// What an ebuild weighs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// What it is known by.
    pub name: String,
    /// Its distfiles and their bytes.
    pub files: BTreeMap<String, u64>,
}

impl Load {
    /// In bytes.
    pub fn whole(&self) -> u64 {
        EBUILD + self.files.values().sum::<u64>()
    }
}

/// The loads of ebuilds, by what the Manifests say. SRC_URI is not asked: it takes a run of the ebuild, which may fail on one machine.
pub fn loads(ebuilds: &[EbuildFile], within: &Within) -> Vec<Load> {
    let mut versions: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
    for ebuild in ebuilds {
        versions.entry(ebuild.dir()).or_default().push(ebuild.cpv.pv());
    }
    let manifests: BTreeMap<_, _> =
        versions.keys().map(|dir| (*dir, Manifest::read(dir, within).unwrap_or_default())).collect();
    let load = |ebuild: &EbuildFile| {
        let (own, all) = (ebuild.cpv.pv(), &versions[ebuild.dir()]);
        let dist = manifests[ebuild.dir()].entries().filter(|entry| entry.kind == EntryKind::Dist);
        let files = dist.filter_map(|entry| {
            let name = entry.name.to_string_lossy().into_owned();
            // a version in its name makes it that one's, the longest where several are
            let bare = letters_and_digits(&name);
            let has = |version: &&&str| name.contains(**version) || bare.contains(&letters_and_digits(version));
            let named = all.iter().filter(has).max_by_key(|version| version.len());
            named.is_none_or(|version| *version == own).then_some((name, entry.size))
        });
        Load { name: escape_path(&ebuild.relative()), files: files.collect() }
    };
    ebuilds.iter().map(load).collect()
}

/// `boost_1_85_0` is the 1.85.0 of boost.
fn letters_and_digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// The order in which ebuilds are begun: of those with the same distfiles one first, since the others can use what it unpacks; among both, the heaviest
/// first, so that none is left over at the end.
pub fn order(ebuilds: &[EbuildFile], within: &Within) -> Vec<usize> {
    let loads = loads(ebuilds, within);
    let mut order: Vec<usize> = (0..loads.len()).collect();
    order.sort_by_key(|at| Reverse(loads[*at].whole()));
    let mut seen = BTreeSet::new();
    let (first, others): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|at| {
        let files = &loads[*at].files;
        files.is_empty() || seen.insert(files)
    });
    first.into_iter().chain(others).collect()
}
