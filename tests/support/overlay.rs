//! An overlay and a directory of distfiles on the disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use blake2::Blake2b512;
use sha2::{Digest, Sha512};
use tempfile::TempDir;

/// A folder of its own for one test: `repo`, `dist` and `tmp` in it; gone with the value, whatever modes it holds.
pub struct Place {
    dir: Option<TempDir>,
    /// Files that stay when the value goes (for a look at a failure).
    pub keep: bool,
}

impl Place {
    pub fn new() -> Place {
        let dir = tempfile::Builder::new().prefix("case").tempdir().unwrap();
        for name in ["repo", "dist", "tmp"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        Place { dir: Some(dir), keep: false }
    }

    pub fn path(&self) -> &Path {
        self.dir.as_ref().unwrap().path()
    }

    pub fn repo(&self) -> PathBuf {
        self.path().join("repo")
    }

    pub fn dist(&self) -> PathBuf {
        self.path().join("dist")
    }

    /// The folder that the program is told to use for temporary files.
    pub fn tmp(&self) -> PathBuf {
        self.path().join("tmp")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(dir) = self.dir.take() else { return };
        if self.keep {
            eprintln!("kept: {}", dir.keep().display());
            return;
        }
        for entry in walkdir::WalkDir::new(dir.path()).into_iter().flatten() {
            if entry.file_type().is_dir() && entry.metadata().is_ok_and(|m| m.permissions().mode() & 0o700 != 0o700) {
                let _ = fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o700));
            }
        }
    }
}

/// Writes a file and the directories above it.
pub fn put(path: &Path, data: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, data).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// The line of a Manifest for a distfile.
pub fn dist_line(name: &str, data: &[u8]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let (blake, sha) = (hex(&Blake2b512::digest(data)), hex(&Sha512::digest(data)));
    format!("DIST {name} {} BLAKE2B {blake} SHA512 {sha}\n", data.len())
}

/// What makes an overlay of a directory: its name, its layout, its categories.
pub fn found(repo: &Path, name: &str, masters: &str, categories: &[&str]) {
    put(&repo.join("profiles/repo_name"), format!("{name}\n"));
    put(&repo.join("metadata/layout.conf"), format!("repo-name = {name}\nmasters ={masters}\nthin-manifests = true\n"));
    put(&repo.join("profiles/categories"), categories.iter().map(|c| format!("{c}\n")).collect::<String>());
}
