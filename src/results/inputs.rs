//! What the report of one ebuild depends on.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use crate::audit::context::Context;
use crate::audit::{distfiles, variables};
use crate::gentoo::metadata::Metadata;
use crate::gentoo::profile::{UsePackage, UseState};
use crate::gentoo::repository::EbuildFile;
use crate::tree::untrusted;

/// Bytes of a file that is an input; an ebuild with a larger one is always run.
const LARGEST: u64 = 64 << 20;

/// The ebuild and the files beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// The md5 of all of them.
    pub digest: String,
    /// The ebuild's text.
    pub text: String,
}

impl Inputs {
    /// None where one can't be read, or is nothing that could be told by its digest.
    pub fn of(context: &Context, ebuild: &EbuildFile, digests: &Digests) -> Option<Inputs> {
        let root = fs::canonicalize(&context.set.repository.location).ok()?;
        let bytes = inside(&ebuild.path, &root)?;
        let mut sum = md5::Context::new();
        sum.consume(md5::compute(&bytes).0);
        sum.consume(digests.files(&ebuild.dir().join("files"), &root)?);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Some(Inputs { digest: format!("{:x}", sum.finalize()), text })
    }
}

/// What USE and SRC_URI of an ebuild come to: the variables that its phases see, and the distfiles with their digests.
pub fn settled(context: &Context, ebuild: &EbuildFile, metadata: &Metadata) -> String {
    let package = UsePackage { cpv: &ebuild.cpv, metadata, repository: &ebuild.repository };
    let flags = UseState::compute(&context.profile, &context.config, package, &context.options.use_changes);
    let mut sum = md5::Context::new();
    match distfiles::wanted(context, ebuild, metadata, &flags) {
        Err(failure) => sum.consume(failure.reason),
        Ok(found) => {
            let names: Vec<String> = found.iter().map(|f| f.name.clone()).collect();
            sum.consume(variables::settled(&flags, &names, false));
            for file in found {
                sum.consume(format!("{} {} {:?}\0", file.name, file.size, file.hashes));
            }
        }
    }
    format!("{:x}", sum.finalize())
}

/// Digests that several ebuilds share.
#[derive(Debug, Default)]
pub struct Digests {
    known: Mutex<HashMap<PathBuf, Option<[u8; 16]>>>,
}

impl Digests {
    fn of(&self, path: &Path, make: impl FnOnce() -> Option<[u8; 16]>) -> Option<[u8; 16]> {
        if let Some(known) = self.known.lock().unwrap_or_else(|e| e.into_inner()).get(path) {
            return *known;
        }
        let digest = make();
        self.known.lock().unwrap_or_else(|e| e.into_inner()).insert(path.to_owned(), digest);
        digest
    }

    /// The eclasses of these names, as `inherit` finds them now, with their md5s; none where one is not there.
    pub fn eclasses(&self, context: &Context, names: &[String]) -> Option<Vec<(String, String)>> {
        let digest = |name: &String| {
            let (_, path) = context.set.find_eclass(name)?;
            let sum = self.of(&path, || Some(md5::compute(read(&fs::canonicalize(&path).ok()?)?).0))?;
            Some((name.clone(), format!("{:x}", md5::Digest(sum))))
        };
        names.iter().map(digest).collect()
    }

    /// Whether none of the eclasses was touched since `moment`.
    pub fn eclasses_are_older(&self, context: &Context, names: &[String], moment: SystemTime) -> bool {
        names.iter().all(|name| {
            let touched = context.set.find_eclass(name).and_then(|(_, path)| fs::metadata(path).ok()?.modified().ok());
            touched.is_some_and(|touched| touched < moment)
        })
    }

    /// All files below `dir`, by name and contents; those of none where it is not there.
    fn files(&self, dir: &Path, root: &Path) -> Option<[u8; 16]> {
        self.of(dir, || {
            let mut sum = md5::Context::new();
            if !dir.is_dir() {
                return Some(sum.finalize().0);
            }
            for item in walkdir::WalkDir::new(dir).sort_by_file_name() {
                let item = item.ok()?;
                let name = item.path().strip_prefix(dir).ok()?;
                let kind = item.file_type();
                sum.consume(name.as_os_str().as_encoded_bytes());
                if kind.is_dir() {
                    sum.consume(b"\0d");
                } else if kind.is_symlink() {
                    sum.consume(b"\0l");
                    sum.consume(fs::read_link(item.path()).ok()?.as_os_str().as_encoded_bytes());
                    sum.consume(md5::compute(inside(item.path(), root)?).0);
                } else {
                    sum.consume(b"\0f");
                    sum.consume(md5::compute(inside(item.path(), root)?).0);
                }
            }
            Some(sum.finalize().0)
        })
    }
}

/// The contents of a file that lies below `root`, wherever links lead.
fn inside(path: &Path, root: &Path) -> Option<Vec<u8>> {
    let real = fs::canonicalize(path).ok()?;
    if real.starts_with(root) { read(&real) } else { None }
}

fn read(real: &Path) -> Option<Vec<u8>> {
    let file = untrusted::open(real).ok()?;
    let size = file.metadata().ok()?.len();
    let mut data = Vec::with_capacity(size.min(LARGEST) as usize);
    file.take(LARGEST + 1).read_to_end(&mut data).ok()?;
    (data.len() as u64 <= LARGEST).then_some(data)
}
