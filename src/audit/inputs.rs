//! What an ebuild is made of in its repository, by digests: its text, the files beside it, its eclasses.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use super::context::Context;
use crate::gentoo::inherits;
use crate::gentoo::repository::EbuildFile;
use crate::phase::runner::interrupted;
use crate::tree::untrusted;

/// Bytes of the files of a package; an ebuild with more is always run.
const LARGEST: u64 = 64 << 20;
/// Files of a package; likewise.
const MOST: usize = 10_000;

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
        sum.consume(digests.package(ebuild.dir(), &root)?);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if names_neighbours(&text) {
            sum.consume(digests.neighbours(ebuild.dir(), &root)?);
        }
        Some(Inputs { digest: format!("{:x}", sum.finalize()), text })
    }
}

/// Digests that several ebuilds share.
#[derive(Debug, Default)]
pub struct Digests {
    known: Mutex<HashMap<PathBuf, Option<[u8; 16]>>>,
    /// What the repository's own eclasses name.
    named: Mutex<HashMap<String, Option<BTreeSet<String>>>>,
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

    /// The eclasses that an ebuild says it inherited, and those of its own repository that its text names; as `inherit` finds them now, with their md5s; none where one is not there.
    pub fn eclasses(&self, context: &Context, said: &[String], text: &str) -> Option<Vec<(String, String)>> {
        let mut known = self.named.lock().unwrap_or_else(|e| e.into_inner());
        let mut names = inherits::named(text, |name| {
            let look = || inherits::of_eclass(&context.set, name);
            known.entry(name.to_owned()).or_insert_with(look).clone()
        });
        drop(known);
        names.extend(said.iter().cloned());
        let digest = |name: &String| {
            let (_, path) = context.set.find_eclass(name)?;
            let sum = self.of(&path, || Some(md5::compute(read(&fs::canonicalize(&path).ok()?)?).0))?;
            Some((name.clone(), format!("{:x}", md5::Digest(sum))))
        };
        names.iter().map(digest).collect()
    }

    /// Whether none of the eclasses was touched since `moment`.
    pub fn eclasses_are_older(&self, context: &Context, eclasses: &[(String, String)], moment: SystemTime) -> bool {
        eclasses.iter().all(|(name, _)| {
            let touched = context.set.find_eclass(name).and_then(|(_, path)| fs::metadata(path).ok()?.modified().ok());
            touched.is_some_and(|touched| touched < moment)
        })
    }

    /// What [`Self::package`] leaves out.
    fn neighbours(&self, dir: &Path, root: &Path) -> Option<[u8; 16]> {
        // a name that no file has
        self.of(&dir.join("\0"), || {
            let mut items = fs::read_dir(dir).ok()?.collect::<std::io::Result<Vec<_>>>().ok()?;
            items.retain(|item| is_of_the_package(&item.file_name()));
            items.sort_by_key(fs::DirEntry::file_name);
            let mut sum = md5::Context::new();
            for item in items {
                sum.consume(item.file_name().as_encoded_bytes());
                sum.consume(md5::compute(inside(&item.path(), root)?).0);
            }
            Some(sum.finalize().0)
        })
    }

    /// All that the phases see of the package: what is in its folder, by name, contents, links and whether it may be executed. Its ebuilds, the
    /// Manifest and metadata.xml are left out, since they change with every other version; a text that may read them says so.
    fn package(&self, dir: &Path, root: &Path) -> Option<[u8; 16]> {
        self.of(dir, || {
            let mut sum = md5::Context::new();
            let mut left = LARGEST;
            let mut read = HashMap::new();
            for (count, item) in walkdir::WalkDir::new(dir).min_depth(1).sort_by_file_name().into_iter().enumerate() {
                let item = item.ok()?;
                if count > MOST || interrupted() {
                    return None;
                }
                let known = item.depth() == 1 && is_of_the_package(item.file_name());
                if known {
                    continue;
                }
                sum.consume(item.path().strip_prefix(dir).ok()?.as_os_str().as_encoded_bytes());
                let kind = item.file_type();
                if kind.is_dir() {
                    sum.consume(b"\0d");
                    continue;
                }
                if kind.is_symlink() {
                    sum.consume(b"\0l");
                    sum.consume(fs::read_link(item.path()).ok()?.as_os_str().as_encoded_bytes());
                }
                let real = fs::canonicalize(item.path()).ok().filter(|real| real.starts_with(root))?;
                // many links may lead to one file
                let md5 = match read.get(&real) {
                    Some(md5) => *md5,
                    None => {
                        let data = self::read(&real)?;
                        left = left.checked_sub(data.len() as u64)?;
                        *read.entry(real.clone()).or_insert(md5::compute(data).0)
                    }
                };
                sum.consume(if fs::metadata(&real).ok()?.mode() & 0o100 != 0 { b"\0x" } else { b"\0f" });
                sum.consume(md5);
            }
            // it may be a link, which may come to lead elsewhere
            sum.consume(fs::canonicalize(dir).ok()?.as_os_str().as_encoded_bytes());
            Some(sum.finalize().0)
        })
    }
}

/// Whether a text may read what [`is_of_the_package`].
fn names_neighbours(text: &str) -> bool {
    let named =
        [".ebuild", "metadata.xml", "Manifest", "${O}", "$O/", "${EBUILD"].iter().any(|name| text.contains(name));
    let leads_up = |(at, name): (usize, &str)| {
        let word = text[at + name.len()..].split([' ', '\t', '\n', ')', ';']).next();
        word.is_some_and(|word| word.contains(".."))
    };
    named || text.match_indices("FILESDIR").any(leads_up)
}

fn is_of_the_package(name: &OsStr) -> bool {
    matches!(name.as_encoded_bytes(), b"Manifest" | b"metadata.xml" | b"ChangeLog")
        || name.as_encoded_bytes().ends_with(b".ebuild")
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
