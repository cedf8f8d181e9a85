//! What USE and SRC_URI of an ebuild come to.

use crate::audit::context::Context;
use crate::audit::{distfiles, variables};
use crate::gentoo::metadata::Metadata;
use crate::gentoo::profile::{UsePackage, UseState};
use crate::gentoo::repository::EbuildFile;

/// The digest of that: the variables that its phases see, and the distfiles with their digests. None where a distfile has
/// none, so that it may be another one next time.
pub fn settled(context: &Context, ebuild: &EbuildFile, metadata: &Metadata) -> Option<String> {
    let package = UsePackage { cpv: &ebuild.cpv, metadata, repository: &ebuild.repository };
    let flags = UseState::compute(&context.profile, &context.config, package, &context.options.use_changes);
    let mut sum = md5::Context::new();
    match distfiles::wanted(context, ebuild, metadata, &flags) {
        Err(failure) => sum.consume(failure.reason),
        Ok(found) => {
            let names: Vec<String> = found.iter().map(|f| f.name.clone()).collect();
            sum.consume(variables::settled(&flags, &names, false));
            for file in found {
                if file.hashes.is_empty() {
                    return None;
                }
                sum.consume(format!("{} {} {:?}\0", file.name, file.size, file.hashes));
            }
        }
    }
    Some(format!("{:x}", sum.finalize()))
}
