//! What all reports of a run depend on beside their ebuilds.

use std::fmt::Debug;
use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::audit::context::Context;
use crate::phase::job::find_program;

/// The program, the tools, the repositories and the options, as one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunKey(String);

/// Tools whose version, or whose absence, a report can show: the phases run them, the replays do, or the prelude asks for them.
const TOOLS: &[&str] = &[
    "aclocal",
    "autoconf",
    "autoheader",
    "automake",
    "autom4te",
    "autopoint",
    "awk",
    "bash",
    "bzip2",
    "cat",
    "cmake",
    "cp",
    "diff",
    "eltpatch",
    "env",
    "find",
    "gawk",
    "gettextize",
    "git",
    "glib-gettextize",
    "grep",
    "gtkdocize",
    "gzip",
    "head",
    "intltoolize",
    "libtoolize",
    "m4",
    "make",
    "mawk",
    "meson",
    "mv",
    "patch",
    "perl",
    "python3",
    "rm",
    "sed",
    "sh",
    "sort",
    "tail",
    "tar",
    "tr",
    "unzip",
    "xargs",
    "xz",
    "zstd",
];

impl RunKey {
    /// The key of a run of this program with `options`, which are told apart by what [`Debug`] prints of them.
    pub fn of(context: &Context, options: &dyn Debug) -> RunKey {
        let mut sum = md5::Context::new();
        let mut add = |part: &[u8]| {
            sum.consume((part.len() as u64).to_le_bytes());
            sum.consume(part);
        };
        add(env!("CARGO_PKG_VERSION").as_bytes());
        add(&program());
        add(format!("{options:?}").as_bytes());
        add(format!("{:?} {}", context.options.bounds, context.options.limits).as_bytes());
        add(format!("{:?} {}", context.options.most, context.options.eclass_edits).as_bytes());
        add(context.run.sandbox.tier().name().as_bytes());
        for location in context.set.locations() {
            add(location.as_os_str().as_encoded_bytes());
        }
        for tool in TOOLS {
            add(identity(tool).as_bytes());
        }
        let settings = context.set.repository.location.join("metadata/ebaudit.toml");
        add(&crate::gentoo::text::read_bytes(&settings).ok().flatten().unwrap_or_default());
        RunKey(format!("{:x}", sum.finalize()))
    }

    pub fn text(&self) -> &str {
        &self.0
    }
}

/// The digest of this program: two builds of one version may judge differently.
fn program() -> Vec<u8> {
    let data = std::env::current_exe().and_then(fs::read).unwrap_or_default();
    md5::compute(data).0.to_vec()
}

fn identity(tool: &str) -> String {
    let Some(path) = find_program(tool) else { return format!("no {tool}") };
    let meta = fs::metadata(&path);
    let (size, time) = meta.map_or((0, 0), |m| (m.size(), m.mtime()));
    format!("{} {size} {time}", path.display())
}
