//! What would stop the merges of a plan though the dependencies are right: looked at before the first one begins.

use rayon::prelude::*;

use crate::gentoo::manifest::Manifest;
use crate::gentoo::src_uri;
use crate::gentoo::system::{Candidate, System};
use crate::gentoo::within::Within;

use super::answer::{Action, Answer, Remark, cpv_of};

/// Adds a warning for each ebuild of the plan that lacks a line in its Manifest, or that gives up when it is sourced: an
/// eclass may not know the new version.
pub fn check(system: &System, answer: &mut Answer) {
    let merged = answer.steps.iter().filter(|step| step.action != Action::Uninstall);
    let wanted: Vec<(&str, &str)> = merged.map(|step| (step.atom.as_str(), step.repository.as_str())).collect();
    let found: Vec<Remark> = wanted
        .par_iter()
        .flat_map_iter(|(atom, repository)| {
            let cpv = cpv_of(atom);
            let name = crate::gentoo::cpv::Cpv::parse(cpv).map(|cpv| cpv.cp()).unwrap_or_default();
            let candidates = system.candidates(&name);
            let candidate =
                candidates.iter().find(|one| one.ebuild.repository == *repository && one.ebuild.cpv.to_string() == cpv);
            let remarks = candidate.map(|candidate| one(system, candidate)).unwrap_or_default();
            remarks.into_iter().map(|because| Remark { package: cpv.to_owned(), because }).collect::<Vec<_>>()
        })
        .collect();
    answer.warnings.extend(found);
    answer.warnings.sort();
    answer.warnings.dedup();
}

fn one(system: &System, candidate: &Candidate) -> Vec<String> {
    let mut out = Vec::new();
    let enabled = |flag: &str| candidate.use_state.enabled.contains(flag);
    match src_uri::fetchables(&candidate.metadata.src_uri, &candidate.metadata.eapi, &enabled) {
        Ok(files) if !files.is_empty() => match Manifest::read(candidate.ebuild.dir(), &Within::anywhere()) {
            Ok(manifest) => {
                let lacking: Vec<&str> = files
                    .iter()
                    .map(|file| file.filename.as_str())
                    .filter(|name| manifest.dist(name).is_none())
                    .collect();
                if !lacking.is_empty() {
                    out.push(format!(
                        "its Manifest has no line for {}; emerge will refuse it until `pkgdev manifest` was run",
                        lacking.join(", ")
                    ));
                }
            }
            Err(error) => out.push(error.to_string()),
        },
        Ok(_) => {}
        Err(error) => out.push(format!("SRC_URI: {error}")),
    }
    // only an eclass has an opinion on versions that the cache does not show
    if !candidate.metadata.inherited.is_empty()
        && let Some(Err(why)) = system.source(candidate)
    {
        out.push(format!("it gives up when it is sourced: {why}"));
    }
    out
}
