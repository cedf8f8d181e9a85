//! What phases depend on beside their ebuilds.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::context::Context;
use crate::phase::job::find_program;
use crate::tree::untrusted;

/// Tools whose version, or whose absence, a report can show: the phases run them, the replays do, or the prelude asks for them.
const TOOLS: &[&str] = &[
    "7z",
    "aclocal",
    "ar",
    "autoconf",
    "autoheader",
    "autom4te",
    "automake",
    "autopoint",
    "awk",
    "bash",
    "bzip2",
    "cargo",
    "cat",
    "cmake",
    "cp",
    "cpio",
    "dd",
    "diff",
    "eltpatch",
    "env",
    "find",
    "gawk",
    "gcc",
    "gettextize",
    "git",
    "glib-gettextize",
    "go",
    "gpg",
    "grep",
    "gtkdocize",
    "gzip",
    "head",
    "intltoolize",
    "libtoolize",
    "ln",
    "lz4",
    "lzip",
    "lzop",
    "m4",
    "make",
    "mawk",
    "meson",
    "mkdir",
    "mv",
    "openssl",
    "patch",
    "perl",
    "python3",
    "rm",
    "rpm2cpio",
    "sed",
    "sh",
    "sha256sum",
    "sort",
    "tail",
    "tar",
    "tr",
    "unrar",
    "unzip",
    "xargs",
    "xz",
    "zstd",
];

/// A digest of the program, the tools, the repositories' places and the bounds: all of a run that the phases of an ebuild may see, or end by.
pub fn machine(context: &Context) -> String {
    let mut sum = md5::Context::new();
    let mut add = |part: &[u8]| {
        sum.consume((part.len() as u64).to_le_bytes());
        sum.consume(part);
    };
    let options = &context.options;
    add(env!("CARGO_PKG_VERSION").as_bytes());
    add(&program());
    add(format!("{:?} {} {:?}", options.bounds.limits, options.limits, options.most).as_bytes());
    add(context.run.sandbox.tier().name().as_bytes());
    add(context.set.repository.name.as_bytes());
    for location in context.set.locations() {
        add(location.as_os_str().as_encoded_bytes());
    }
    for dir in context.set.eclass_dirs() {
        // it may be a link; and an eclass can read what lies beside it
        add(fs::canonicalize(&dir).unwrap_or_default().as_os_str().as_encoded_bytes());
        add(&beside_eclasses(&dir));
    }
    add(programs().as_bytes());
    for tool in TOOLS {
        add(identity(tool).as_bytes());
    }
    format!("{:x}", sum.finalize())
}

/// What tells this build of the program from others: two builds of one version may judge differently.
fn program() -> Vec<u8> {
    let Ok(file) = std::env::current_exe().and_then(fs::File::open) else { return Vec::new() };
    let mut head = Vec::new();
    let _ = (&file).take(64 << 10).read_to_end(&mut head);
    build_id(&head).unwrap_or_else(|| {
        let mut rest = Vec::new();
        let _ = (&file).read_to_end(&mut rest);
        [md5::compute(&head).0, md5::compute(&rest).0].concat()
    })
}

/// The digest that the linker wrote into the beginning of a program (the note NT_GNU_BUILD_ID), where it did.
fn build_id(head: &[u8]) -> Option<Vec<u8>> {
    // the length of the name, that of the digest, the type 3, the name
    let note = [&4u32.to_ne_bytes()[..], &20u32.to_ne_bytes(), &3u32.to_ne_bytes(), b"GNU\0"].concat();
    let at = memchr::memmem::find(head, &note)? + note.len();
    head.get(at..at + 20).map(<[u8]>::to_vec)
}

/// The files in a folder of eclasses that are none, with their digests.
fn beside_eclasses(dir: &Path) -> Vec<u8> {
    let items = fs::read_dir(dir).into_iter().flatten().flatten();
    let others = items.filter(|item| item.path().extension() != Some(OsStr::new("eclass")));
    let mut files: Vec<PathBuf> = others.map(|item| item.path()).collect();
    files.sort();
    let mut sum = md5::Context::new();
    for file in files.iter().filter_map(|file| fs::canonicalize(file).ok()) {
        sum.consume(file.as_os_str().as_encoded_bytes());
        sum.consume(untrusted::read(&file, 1 << 20).unwrap_or_default());
    }
    sum.finalize().0.to_vec()
}

/// PATH, and the names of all programs there: a phase may ask whether one is there.
fn programs() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut sum = md5::Context::new();
    for dir in std::env::split_paths(&path) {
        let mut names: Vec<_> =
            fs::read_dir(&dir).into_iter().flatten().flatten().map(|item| item.file_name()).collect();
        names.sort();
        for name in names {
            sum.consume(name.as_encoded_bytes());
            sum.consume(b"\0");
        }
    }
    format!("{} {:x}", path.display(), sum.finalize())
}

fn identity(tool: &str) -> String {
    let Some(path) = find_program(tool) else { return format!("no {tool}") };
    let meta = fs::metadata(&path);
    let (size, time) = meta.map_or((0, 0), |m| (m.size(), m.mtime()));
    format!("{} {size} {time}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_an_identity() {
        assert!(program().len() >= 20);
        assert_eq!(program(), program());
        assert_eq!(build_id(b"no program"), None);
    }
}
