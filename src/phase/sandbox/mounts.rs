//! The file system of the `namespaces` tier: a new root in which only what was granted is.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};

use super::spec::Spec;
use super::sys::{NODEV, NOSUID, RDONLY, set_mount_attributes};

/// Our own folder within the walls: the real programs of covered tools, and a link to the trace.
pub const INSIDE: &str = "/.ebaudit";

/// Builds the root that `spec` describes and moves there. To be called by the first process of its namespaces.
pub fn build(spec: &Spec) -> io::Result<()> {
    let root = Root { at: PathBuf::from(&spec.root.0) };
    let change = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    rustix::mount::mount_change("/", change).map_err(|e| told("mount", Path::new("/"), e.into()))?;
    root.memory("/", "mode=755,size=16m")?;
    for name in ["/tmp", "/var/tmp", "/dev", "/dev/shm", "/proc", INSIDE] {
        root.folder(Path::new(name))?;
    }
    for (name, options) in
        [("/tmp", "mode=1777,size=2g"), ("/var/tmp", "mode=1777,size=2g"), ("/dev", "mode=755,size=1m")]
    {
        root.memory(name, options)?;
    }
    root.folder(Path::new("/dev/shm"))?;
    root.memory("/dev/shm", "mode=1777,size=1g")?;
    // between the job's folders there is nothing to be written, wherever they lie
    let run = root.at.parent().map(Path::to_owned);
    if let Some(run) = run.as_deref().filter(|run| run.parent().is_some()) {
        root.folder(run)?;
        root.memory(run, "mode=755,size=1m")?;
    }
    root.top_links()?;
    root.devices()?;
    // what lies further up comes first, so that a tree within a hidden one is there again
    let read = spec.read.iter().map(|path| (path, Way::Read));
    let hide = spec.hide.iter().map(|path| (path, Way::Hide));
    let write = spec.write.iter().map(|path| (path, Way::Write));
    let mut all: Vec<(&Path, Way)> = read.chain(hide).chain(write).collect();
    all.sort_by_key(|(path, way)| (path.components().count(), *way as u8));
    let mut shown: Vec<(PathBuf, Way)> = Vec::new();
    for (path, way) in all {
        root.expose(path, way, &mut shown)?;
    }
    root.cover(spec)?;
    root.processes()?;
    if let Some(over) = &spec.over {
        over.expose(&root.at).map_err(|e| told("expose", Path::new(&over.layers.0), e))?;
    }
    if let Some(run) = run.as_deref().filter(|run| run.parent().is_some()) {
        set_mount_attributes(&root.inside(run), RDONLY | NOSUID | NODEV, false)?;
    }
    rustix::process::chdir(&root.at)?;
    rustix::process::pivot_root(".", ".").map_err(|e| told("pivot_root", &root.at, e.into()))?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")?;
    set_mount_attributes(Path::new("/"), RDONLY | NOSUID | NODEV, false)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Read,
    Hide,
    Write,
}

/// The new root while it is built.
struct Root {
    at: PathBuf,
}

impl Root {
    /// Where `path` will be, as long as we are outside.
    fn inside(&self, path: &Path) -> PathBuf {
        self.at.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(self.inside(path)).map_err(|e| told("mkdir", path, e))
    }

    /// A file system in memory.
    fn memory(&self, path: impl AsRef<Path>, options: &str) -> io::Result<()> {
        let path = path.as_ref();
        let options = std::ffi::CString::new(options)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        rustix::mount::mount("tmpfs", self.inside(path), "tmpfs", flags, options.as_c_str())
            .map_err(|e| told("mount", path, e.into()))
    }

    /// `/bin` and its like, where they are links.
    fn top_links(&self) -> io::Result<()> {
        for item in fs::read_dir("/")?.flatten().filter(|i| i.file_type().is_ok_and(|t| t.is_symlink())) {
            let (from, to) = (item.path(), fs::read_link(item.path())?);
            let _ = std::os::unix::fs::symlink(to, self.inside(&from));
        }
        Ok(())
    }

    fn devices(&self) -> io::Result<()> {
        for name in ["null", "zero", "full", "random", "urandom"] {
            let path = Path::new("/dev").join(name);
            if path.exists() {
                self.bind(&path, &path)?;
            }
        }
        for (name, to) in [("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
            std::os::unix::fs::symlink(format!("/proc/self/{to}"), self.inside(&Path::new("/dev").join(name)))?;
        }
        Ok(())
    }

    /// Shows the host's `source` at `path`.
    fn bind(&self, source: &Path, path: &Path) -> io::Result<()> {
        let target = self.inside(path);
        let is_dir = fs::metadata(source).map_err(|e| told("stat", source, e))?.is_dir();
        if fs::symlink_metadata(&target).is_err() {
            if let Some(parent) = path.parent() {
                self.folder(parent)?;
            }
            let made = if is_dir { fs::create_dir(&target) } else { fs::File::create(&target).map(drop) };
            made.map_err(|e| told("create", path, e))?;
        }
        rustix::mount::mount_bind_recursive(source, &target).map_err(|e| told("bind", path, e.into()))
    }

    fn expose(&self, path: &Path, way: Way, shown: &mut Vec<(PathBuf, Way)>) -> io::Result<()> {
        let Some(real) = self.lay_links(path)? else { return Ok(()) };
        // what holds here so far is what the nearest folder above has
        let above = shown.iter().filter(|(s, _)| real.starts_with(s)).max_by_key(|(s, _)| s.components().count());
        let is_shown = above.is_some_and(|(_, way)| *way == Way::Read);
        match way {
            Way::Read => {
                if is_shown {
                    return Ok(());
                }
                self.bind(&real, &real)?;
                set_mount_attributes(&self.inside(&real), RDONLY | NOSUID | NODEV, true)
                    .map_err(|e| told("read-only", &real, e))?;
                shown.push((real, way));
            }
            Way::Hide => {
                if is_shown {
                    self.hide(&real)?;
                    shown.push((real, way));
                }
            }
            Way::Write => {
                self.bind(&real, &real)?;
                set_mount_attributes(&self.inside(&real), NOSUID | NODEV, true)
                    .map_err(|e| told("nosuid", &real, e))?;
            }
        }
        Ok(())
    }

    fn hide(&self, path: &Path) -> io::Result<()> {
        let target = self.inside(path);
        if path.is_dir() {
            return rustix::mount::mount(
                "tmpfs",
                &target,
                "tmpfs",
                MountFlags::NOSUID | MountFlags::NODEV,
                c"mode=755,size=64k",
            )
            .map_err(|e| told("hide", path, e.into()));
        }
        rustix::mount::mount_bind("/dev/null", &target).map_err(|e| told("hide", path, e.into()))
    }

    /// Makes the links that lead along `path`, and gives the path without links; none where nothing is there.
    fn lay_links(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let mut left: Vec<std::ffi::OsString> = names(path);
        let mut at = PathBuf::from("/");
        for _ in 0..40 {
            let mut followed = false;
            while let Some(name) = left.pop() {
                if name == ".." {
                    at.pop();
                    continue;
                }
                let next = at.join(&name);
                match fs::symlink_metadata(&next) {
                    Err(_) => return Ok(None),
                    Ok(meta) if meta.is_symlink() => {
                        let to = fs::read_link(&next)?;
                        let here = self.inside(&next);
                        // below a tree that is shown already the link is there
                        if fs::symlink_metadata(&here).is_err() {
                            self.folder(&at)?;
                            std::os::unix::fs::symlink(&to, &here).map_err(|e| told("symlink", &next, e))?;
                        }
                        if to.is_absolute() {
                            at = PathBuf::from("/");
                        }
                        left.extend(names(&to));
                        followed = true;
                        break;
                    }
                    Ok(_) => at = next,
                }
            }
            if !followed {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Puts the tracer in the place of tools that are called by their absolute path.
    fn cover(&self, spec: &Spec) -> io::Result<()> {
        let own = Path::new(INSIDE);
        self.folder(&own.join("real"))?;
        for tool in spec.cover.iter() {
            let Some(name) = tool.file_name() else { continue };
            self.bind(tool, &own.join("real").join(name))?;
            rustix::mount::mount_bind(Path::new(&spec.program.0), self.inside(tool))
                .map_err(|e| told("cover", tool, e.into()))?;
            set_mount_attributes(&self.inside(tool), RDONLY | NOSUID | NODEV, false)?;
        }
        // the other tools are where they are
        for item in fs::read_dir(Path::new(&spec.real.0)).into_iter().flatten().flatten() {
            let here = self.inside(&own.join("real").join(item.file_name()));
            if fs::symlink_metadata(&here).is_err() {
                std::os::unix::fs::symlink(fs::read_link(item.path())?, here)?;
            }
        }
        if !spec.trace.0.is_empty() {
            std::os::unix::fs::symlink(&spec.trace.0, self.inside(&own.join("trace")))?;
        }
        Ok(())
    }

    /// A `/proc` that shows the processes of this namespace, and nothing of the machine that could be written.
    fn processes(&self) -> io::Result<()> {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        let at = self.inside(Path::new("/proc"));
        rustix::mount::mount("proc", &at, "proc", flags, None)
            .map_err(|e| told("mount", Path::new("/proc"), e.into()))?;
        for item in fs::read_dir(&at)?.flatten() {
            let (path, name) = (item.path(), item.file_name());
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            let number = name.to_string_lossy().bytes().all(|b| b.is_ascii_digit());
            if number || meta.is_symlink() {
                continue;
            }
            let secret = ["kcore", "keys", "key-users", "kmsg", "timer_list", "sched_debug"].iter().any(|s| name == *s);
            if secret {
                rustix::mount::mount_bind("/dev/null", &path)?;
            } else if meta.is_dir() || meta.permissions().mode() & 0o222 != 0 {
                rustix::mount::mount_bind_recursive(&path, &path)?;
                set_mount_attributes(&path, RDONLY | NOSUID | NODEV, true)?;
            }
        }
        Ok(())
    }
}

/// The names of a path, the last one first.
fn names(path: &Path) -> Vec<std::ffi::OsString> {
    let part = |part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().rev().filter_map(part).collect()
}

fn told(what: &str, path: &Path, error: io::Error) -> io::Error {
    io::Error::other(format!("{what} {}: {error}", path.display()))
}
