//! The folders of one job: WORKDIR, T, HOME and our own, below one temporary folder.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::prelude;
use super::sandbox::Sandbox;
use super::stale::{self, Folder};
use super::trace::{Tool, TraceDir};
use crate::tree;

/// The folder of a whole run: what its jobs share. Removed with the value.
#[derive(Debug)]
pub struct RunDir {
    dir: Folder,
    /// A second one in memory, as sed's renames over a file are slow on a disk.
    memory: Option<Folder>,
    program: PathBuf,
    /// The walls around the jobs; none until [`Sandbox::choose`] made them.
    pub sandbox: Sandbox,
}

impl RunDir {
    /// Lays out the prelude and the tracer below `parent` (the system's temporary folder by default).
    pub fn create(parent: &Path, program: &Path) -> io::Result<RunDir> {
        stale::sweep(parent);
        let dir = stale::make_numbered(parent)?;
        let memory = in_memory();
        // the phase's paths are to be free of links, so that they compare
        let root = fs::canonicalize(dir.path())?;
        prelude::lay_out(&root.join("prelude"))?;
        crate::edit::scratch::set_parent(memory.as_ref().map_or(&*root, |m| m.path()).to_owned());
        for name in ["bin", "real", "root"] {
            fs::create_dir(root.join(name))?;
        }
        std::os::unix::fs::symlink(program, root.join("bin/ebaudit-unpack"))?;
        for tool in Tool::ALL {
            // a tool that this machine lacks is missing for the phase as well
            if let Some(real) = find_program(tool.name()) {
                std::os::unix::fs::symlink(program, root.join("bin").join(tool.name()))?;
                std::os::unix::fs::symlink(real, root.join("real").join(tool.name()))?;
            }
        }
        Ok(RunDir { dir, memory, program: program.to_owned(), sandbox: Sandbox::default() })
    }

    pub fn path(&self) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap_or_else(|_| self.dir.path().into())
    }

    /// Where replays make their copies.
    pub fn scratch(&self) -> PathBuf {
        self.memory.as_ref().map_or_else(|| self.path(), |m| m.path().to_owned())
    }

    pub fn prelude(&self) -> PathBuf {
        self.path().join("prelude")
    }

    pub fn bin(&self) -> PathBuf {
        self.path().join("bin")
    }

    pub fn real(&self) -> PathBuf {
        self.path().join("real")
    }

    /// An empty folder for the sandbox's root.
    pub fn root(&self) -> PathBuf {
        self.path().join("root")
    }

    /// This program's own file.
    pub fn program(&self) -> &Path {
        &self.program
    }
}

/// A folder in memory, where there is room for one.
fn in_memory() -> Option<Folder> {
    const TMPFS: i64 = 0x0102_1994;
    const FREE: u64 = 1 << 30;
    let memory = Path::new("/dev/shm");
    stale::sweep(memory);
    let roomy = rustix::fs::statfs(memory)
        .is_ok_and(|fs| fs.f_type == TMPFS && fs.f_bavail.saturating_mul(fs.f_bsize.unsigned_abs()) > FREE);
    roomy.then(|| stale::make(memory).ok()).flatten()
}

/// A program on our own PATH.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|d| d.join(name)).find(|p| is_executable(p)).and_then(|p| fs::canonicalize(p).ok())
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The folders of one ebuild's job. Removed with the value.
#[derive(Debug)]
pub struct JobDir {
    root: PathBuf,
    /// Where WORKDIR and its like are: `root`, or where Portage wants them below it.
    build: PathBuf,
}

impl JobDir {
    /// Empty folders for `name` (CATEGORY/PF) in `run`.
    pub fn create(run: &RunDir, name: &str) -> io::Result<JobDir> {
        let root = run.path().join("jobs").join(name);
        JobDir { build: root.clone(), root }.made()
    }

    /// As [`create`](JobDir::create), laid out so that `root` can be Portage's PORTAGE_TMPDIR.
    pub fn for_portage(run: &RunDir, name: &str) -> io::Result<JobDir> {
        let root = run.path().join("jobs").join(name);
        JobDir { build: root.join("portage").join(name), root }.made()
    }

    fn made(self) -> io::Result<JobDir> {
        for dir in ["work", "temp", "homedir", "image"] {
            fs::create_dir_all(self.build.join(dir))?;
        }
        for dir in ["distdir", "ctl"] {
            fs::create_dir_all(self.root.join(dir))?;
        }
        if self.build != self.root {
            fs::create_dir_all(self.config())?;
            // Portage gives it the bit for the group, which nobody may do within the sandbox
            let ipc = self.build.join(".ipc");
            fs::create_dir_all(&ipc)?;
            fs::set_permissions(&ipc, fs::Permissions::from_mode(0o2770))?;
        }
        TraceDir::create(&self.root.join("trace"))?;
        Ok(self)
    }

    /// PORTAGE_BUILDDIR.
    pub fn build(&self) -> &Path {
        &self.build
    }

    /// What Portage writes in.
    pub fn portage_tmp(&self) -> PathBuf {
        self.root.join("portage")
    }

    /// Portage's PORTAGE_CONFIGROOT.
    pub fn config(&self) -> PathBuf {
        self.root.join("config")
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn workdir(&self) -> PathBuf {
        self.build.join("work")
    }

    pub fn temp(&self) -> PathBuf {
        self.build.join("temp")
    }

    pub fn home(&self) -> PathBuf {
        self.build.join("homedir")
    }

    pub fn image(&self) -> PathBuf {
        self.build.join("image")
    }

    pub fn distdir(&self) -> PathBuf {
        self.root.join("distdir")
    }

    pub fn ctl(&self) -> PathBuf {
        self.root.join("ctl")
    }

    /// What the phases wrote, where WORKDIR lies over a layer.
    pub fn upper(&self) -> PathBuf {
        self.root.join("over/upper")
    }

    /// Makes the folder of an overlay's upper and work folders, if it is not there.
    pub fn make_over(&self) -> io::Result<PathBuf> {
        let over = self.root.join("over");
        for name in ["upper", "work"] {
            fs::create_dir_all(over.join(name))?;
        }
        Ok(over)
    }

    pub fn trace(&self) -> TraceDir {
        TraceDir::open(&self.root.join("trace"))
    }

    /// Links a distfile into the job's own DISTDIR, which shows the ebuild's files and no others.
    ///
    /// Tools such as zstd refuse symbolic links, and the job can't see where one would lead to: so it is a hard link,
    /// or where that can't be a copy (shared, where the file system can do that).
    pub fn link_distfile(&self, name: &str, path: &Path) -> io::Result<()> {
        let (real, to) = (fs::canonicalize(path)?, self.distdir().join(name));
        // a forged step asks twice; copied over its own link a file would be emptied
        let _ = fs::remove_file(&to);
        fs::hard_link(&real, &to).or_else(|_| fs::copy(&real, &to).map(drop))
    }

    /// The folders that the phase may write.
    pub fn writable(&self) -> Vec<PathBuf> {
        let own = ["ctl", "trace"].map(|name| self.root.join(name));
        if self.build != self.root {
            return own.into_iter().chain([self.portage_tmp()]).collect();
        }
        ["work", "temp", "homedir", "image"].map(|name| self.root.join(name)).into_iter().chain(own).collect()
    }
}

impl Drop for JobDir {
    fn drop(&mut self) {
        let _ = tree::remove(&self.root);
    }
}
