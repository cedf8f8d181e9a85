//! Where replays make their copies.

use std::path::PathBuf;
use std::sync::OnceLock;

static PARENT: OnceLock<PathBuf> = OnceLock::new();

/// The folder of the run for copies; the first call counts.
pub fn set_parent(dir: PathBuf) {
    let _ = PARENT.set(dir);
}

/// A folder of its own for copies. Removed with the value.
pub fn dir() -> std::io::Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("sed-");
    match PARENT.get() {
        Some(parent) => builder.tempdir_in(parent),
        None => builder.tempdir(),
    }
}
