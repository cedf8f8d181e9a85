//! Which distfiles an ebuild wants, and where they are.

use std::path::PathBuf;

use super::context::Context;
use super::failure::Failure;
use crate::gentoo::manifest::Manifest;
use crate::gentoo::metadata::Metadata;
use crate::gentoo::mirrors::Place;
use crate::gentoo::profile::UseState;
use crate::gentoo::repository::EbuildFile;
use crate::gentoo::restrict::Restrict;
use crate::gentoo::src_uri;
use crate::source::{Distfile, DistfileError};

/// The distfiles that these flags want, each with its line of the Manifest.
pub fn wanted(
    context: &Context,
    ebuild: &EbuildFile,
    metadata: &Metadata,
    flags: &UseState,
) -> Result<Vec<Distfile>, Failure> {
    let enabled = |flag: &str| flags.is_enabled(flag);
    let fetchables = src_uri::fetchables(&metadata.src_uri, &metadata.eapi, &enabled)
        .map_err(|e| Failure::invalid(format!("SRC_URI: {e}")))?;
    let restrict =
        Restrict::evaluate(&metadata.restrict, &enabled).map_err(|e| Failure::invalid(format!("RESTRICT: {e}")))?;
    if fetchables.is_empty() {
        return Ok(Vec::new());
    }
    let manifest =
        Manifest::read(ebuild.dir(), &context.set.repository.within).map_err(|e| Failure::digest(e.to_string()))?;
    let mut found = Vec::new();
    for fetchable in fetchables {
        let entry = manifest.dist(&fetchable.filename);
        if entry.is_none() && !context.options.allow_unverified {
            let why = if manifest.present {
                "the Manifest has no DIST line for"
            } else {
                "there is no Manifest, so none for"
            };
            return Err(Failure::digest(format!(
                "{why} {}; run `pkgdev manifest`, or pass --allow-unverified",
                fetchable.filename
            )));
        }
        found.push(Distfile {
            name: fetchable.filename.clone(),
            size: entry.map_or(0, |e| e.size),
            hashes: entry.map(|e| e.hashes.clone()).unwrap_or_default(),
            uris: context
                .mirrors
                .places(&fetchable, &restrict)
                .into_iter()
                .map(|place| match place {
                    Place::Uri(uri) => uri,
                    Place::File(path) => format!("file://{}", path.display()),
                })
                .collect(),
            restrict_fetch: restrict.fetch(),
        });
    }
    Ok(found)
}

/// The verified files, in the order of `distfiles`; the first that is not to be had is the failure.
pub fn obtain_all(context: &Context, distfiles: &[Distfile]) -> Result<Vec<PathBuf>, Failure> {
    // who waits for the network leaves its place to another job
    let _away = distfiles.iter().any(|file| !context.store.has(file)).then(|| context.slots.away());
    let found = context.store.obtain_all(distfiles, &*context.progress);
    let failed = |error: DistfileError| match &error {
        DistfileError::BadDigest { .. } => Failure::digest(error.to_string()),
        DistfileError::FetchFailed { attempts, .. } if !attempts.is_empty() => {
            Failure::fetch(format!("{error} ({})", attempts.join("; ")))
        }
        DistfileError::FetchFailed { .. } => Failure::fetch(error.to_string()),
    };
    found.into_iter().map(|file| file.map_err(failed)).collect()
}
