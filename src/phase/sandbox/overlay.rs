//! WORKDIR as an overlay: below lies a layer, which nothing can write, above it a folder that takes what the phases write.
//!
//! What the source is made of is known only when the ebuild is sourced, thus when its shell runs already. So the keeper,
//! which alone has the right to mount, lays the layer below WORKDIR when it is asked to. Both folders are there from the
//! beginning, behind a folder without any rights: the keeper may pass, the job, which has no capabilities, may not.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags};
use serde::{Deserialize, Serialize};

use super::mounts::INSIDE;
use super::spec::Word;
use super::sys::{NODEV, NOSUID, RDONLY, set_mount_attributes};

/// The folders of an overlay to come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Over {
    /// Where the layers are.
    pub layers: Word,
    /// The job's folder with `upper` and `work`.
    pub own: Word,
    pub workdir: Word,
}

/// The layer that is to be laid below WORKDIR.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lay {
    /// Its name in the folder of layers.
    pub layer: Word,
    /// Its entries and bytes, which count as the job's.
    pub files: u64,
    pub bytes: u64,
}

impl Over {
    /// Puts both folders into the root that lies at `root`.
    pub fn expose(&self, root: &Path) -> io::Result<()> {
        let closed = root.join(closed().strip_prefix("/").unwrap_or(Path::new("")));
        for (name, source, more) in [("layers", &self.layers, RDONLY), ("own", &self.own, 0)] {
            let at = closed.join(name);
            fs::create_dir_all(&at)?;
            rustix::mount::mount_bind(Path::new(&source.0), &at)?;
            set_mount_attributes(&at, NOSUID | NODEV | more, false)?;
        }
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000))
    }

    /// Mounts the overlay at WORKDIR. To be called from within the root.
    pub fn lay(&self, lay: &Lay) -> io::Result<()> {
        let plain = |name: &[u8]| !name.is_empty() && name.iter().all(u8::is_ascii_alphanumeric);
        if !plain(lay.layer.0.as_encoded_bytes()) {
            return Err(io::Error::other("this is no layer's name"));
        }
        let at = closed();
        let lower = at.join("layers").join(&lay.layer.0).join("tree");
        let (upper, work) = (at.join("own/upper"), at.join("own/work"));
        let options =
            format!("lowerdir={},upperdir={},workdir={},userxattr", lower.display(), upper.display(), work.display());
        let options = std::ffi::CString::new(options)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        rustix::mount::mount("overlay", Path::new(&self.workdir.0), "overlay", flags, options.as_c_str())?;
        // the overlay has its own way to them
        for name in ["layers", "own"] {
            let _ = rustix::mount::unmount(at.join(name), UnmountFlags::DETACH);
        }
        Ok(())
    }

    /// Lays the layer `try` and changes what [`attempt`] looks for, to see whether the kernel and the file system can do it.
    pub fn try_out(&self) -> io::Result<()> {
        self.lay(&Lay { layer: Word("try".into()), files: 0, bytes: 0 })?;
        let at = Path::new(&self.workdir.0);
        fs::File::options().append(true).open(at.join("changed"))?.write_all(b"more")?;
        fs::remove_file(at.join("gone"))?;
        fs::remove_dir_all(at.join("dir"))?;
        fs::create_dir(at.join("dir"))
    }
}

fn closed() -> PathBuf {
    Path::new(INSIDE).join("closed")
}

/// Makes what [`Over::try_out`] needs below `dir`.
pub fn prepare_attempt(dir: &Path, workdir: &Path) -> io::Result<Over> {
    let (layers, own) = (dir.join("layers"), dir.join("own"));
    let tree = layers.join("try/tree");
    fs::create_dir_all(tree.join("dir"))?;
    for name in ["changed", "gone", "dir/hidden"] {
        fs::write(tree.join(name), "text")?;
    }
    for name in ["upper", "work"] {
        fs::create_dir_all(own.join(name))?;
    }
    Ok(Over { layers: Word(layers.into()), own: Word(own.into()), workdir: Word(workdir.into()) })
}
