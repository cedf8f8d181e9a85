//! Where replays make their copies: in memory where that can be, as sed's renames over a file are slow on a disk.

use std::path::PathBuf;
use std::sync::OnceLock;

static FALLBACK: OnceLock<PathBuf> = OnceLock::new();

/// The folder to use where there is no file system in memory; the first call counts.
pub fn set_fallback(dir: PathBuf) {
    let _ = FALLBACK.set(dir);
}

/// A folder of its own for copies. Removed with the value.
pub fn dir() -> std::io::Result<tempfile::TempDir> {
    const TMPFS: i64 = 0x0102_1994;
    const FREE: u64 = 1 << 30;
    let memory = std::path::Path::new("/dev/shm");
    let roomy = rustix::fs::statfs(memory)
        .is_ok_and(|fs| fs.f_type == TMPFS && fs.f_bavail.saturating_mul(fs.f_bsize.unsigned_abs()) > FREE);
    let builder = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix("ebaudit-sed-");
        builder
    };
    if roomy && let Ok(dir) = builder().tempdir_in(memory) {
        return Ok(dir);
    }
    match FALLBACK.get() {
        Some(parent) => builder().tempdir_in(parent),
        None => builder().tempdir(),
    }
}
