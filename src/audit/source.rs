//! How the source comes to WORKDIR, and how what became of it is read again.
//!
//! Without a layer WORKDIR is unpacked, hashed, and looked at again. A copy of a layer is hashed already. Below an overlay
//! lies the layer itself, and what the phases wrote lies apart: nothing else is looked at.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags};

use super::context::Context;
use super::failure::Failure;
use super::layers::{self, Archive, Layers, Way};
use crate::phase::job::JobDir;
use crate::phase::runner::{self, Walls};
use crate::phase::sandbox;
use crate::phase::trace::{BLOB_LIMIT, LENT_FROM, TraceDir};
use crate::source::unpack::{self, Clock, UnpackError};
use crate::tree::layer::{Layer, LayerError};
use crate::tree::{Kind, Most, Pack, Snapshot, SnapshotError, hex, is_whiteout};

/// Between two looks whether somebody else is done with a layer.
const LOOK: Duration = Duration::from_millis(20);

/// What is known of WORKDIR once the source is in it.
#[derive(Debug, Default)]
pub enum Source {
    /// Nothing but that it is there.
    #[default]
    Plain,
    Copy(Arc<Layer>, Snapshot),
    Overlay(Arc<Layer>),
}

impl Source {
    /// Unpacks archives as the default src_unpack does. `remarks` takes what unpacking has to remark.
    pub fn unpack(
        context: &Context,
        way: Option<Way>,
        job: &JobDir,
        archives: &[Archive],
        clock: &Clock,
        remarks: &mut Vec<String>,
        walls: &mut Walls,
    ) -> Result<Source, Failure> {
        // what an ebuild wrote while it was sourced would be covered
        let fresh = || fs::read_dir(job.workdir()).is_ok_and(|mut items| items.next().is_none());
        let layers = context.layers.as_ref().zip(way).filter(|_| fresh());
        if let Some((layers, way)) = layers
            && let Some(key) = layers::key(archives, &context.options.limits, context.options.most)
            && let Some(layer) = obtain(context, layers, &key, archives, clock)?
            && let Some(source) = lay(layer, way, job, walls)?
        {
            remarks.extend(source.layer().iter().flat_map(|layer| layer.remarks()).cloned());
            return Ok(source);
        }
        let limits = &context.options.limits;
        let made = layers::unpack(archives, limits, |archive, limits| {
            unpack::unpack_as(archive.kind, &archive.path, OsStr::new(&archive.name), &job.workdir(), limits, clock)
        });
        remarks.extend(made.map_err(unpack_failure)?.remarks);
        Ok(Source::Plain)
    }

    fn layer(&self) -> Option<&Arc<Layer>> {
        match self {
            Source::Plain => None,
            Source::Copy(layer, _) | Source::Overlay(layer) => Some(layer),
        }
    }

    /// The trace, with what need not be kept there since the layer has it.
    pub fn trace(&self, job: &JobDir) -> TraceDir {
        // what is lent is read by replays, which must not be able to write it
        let Some(layer) = self.layer().filter(|_| sandbox::guards_replays()) else { return job.trace() };
        let tree = layer.tree();
        let large = layer.snapshot().iter().filter(|(_, entry)| (LENT_FROM..=BLOB_LIMIT).contains(&entry.size));
        let lent = large.filter_map(|(path, entry)| match &entry.kind {
            Kind::File { md5, .. } => Some((hex(md5), tree.join(path))),
            _ => None,
        });
        job.trace().with_lent(lent.collect())
    }

    pub fn is_overlay(&self) -> bool {
        matches!(self, Source::Overlay(_))
    }

    /// The pristine tree and the pack of its contents. `touched`: whether anything ran in WORKDIR since the source came.
    pub fn before(&self, job: &JobDir, most: Most, touched: bool) -> Result<(Snapshot, Pack), Failure> {
        let pack = match self.layer() {
            Some(layer) => Pack::over(layer.clone(), job.root()),
            None => Pack::create(job.root()),
        };
        let pack = pack.map_err(|e| Failure::unpack(format!("can't keep the source: {e}")))?;
        let snapshot = match self {
            Source::Plain => Snapshot::take(&job.workdir(), None, Some(&pack), most),
            Source::Copy(_, known) if touched => Snapshot::take(&job.workdir(), Some(known), Some(&pack), most),
            Source::Copy(_, known) => Ok(known.clone()),
            Source::Overlay(layer) => layer.snapshot().under(&job.upper(), None, Some(&pack), most),
        };
        Ok((snapshot.map_err(snapshot_failure)?, pack))
    }

    /// The tree as the phases left it.
    pub fn after(&self, job: &JobDir, before: &Snapshot, pack: Option<&Pack>, most: Most) -> Result<Snapshot, Failure> {
        let taken = match self {
            Source::Overlay(layer) => layer.snapshot().under(&job.upper(), Some(before), pack, most),
            _ => Snapshot::take(&job.workdir(), Some(before), pack, most),
        };
        taken.map_err(snapshot_failure)
    }

    /// Where what the phases wrote below WORKDIR lies.
    pub fn written(&self, job: &JobDir) -> PathBuf {
        if self.is_overlay() { job.upper() } else { job.workdir() }
    }

    /// The names in WORKDIR.
    pub fn names(&self, job: &JobDir) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        if let Source::Overlay(layer) = self {
            let tops = layer.snapshot().iter().filter(|(path, _)| path.components().count() == 1);
            names.extend(tops.map(|(path, _)| path.to_string_lossy().into_owned()));
        }
        for item in fs::read_dir(self.written(job)).into_iter().flatten().flatten() {
            let name = item.file_name().to_string_lossy().into_owned();
            match item.metadata().is_ok_and(|meta| is_whiteout(&meta)) {
                true => names.remove(&name),
                false => names.insert(name),
            };
        }
        names
    }
}

/// The layer of these archives; none where it can't be kept, so that they are unpacked without one.
fn obtain(
    context: &Context,
    layers: &Layers,
    key: &str,
    archives: &[Archive],
    clock: &Clock,
) -> Result<Option<Arc<Layer>>, Failure> {
    let (limits, most) = (&context.options.limits, context.options.most);
    let found = layers.store.obtain(key, most, &|| wait(context), |tree| {
        layers::unpack(archives, limits, |archive, limits| {
            unpack::unpack_hashed(archive.kind, &archive.path, OsStr::new(&archive.name), tree, limits, clock)
        })
    });
    match found {
        Ok(layer) => Ok(Some(layer)),
        Err(LayerError::Stopped) => Err(Failure::interrupted("unpacking")),
        // the cache may be full where WORKDIR is not: without a layer it is seen what the archive is worth
        Err(LayerError::Made(UnpackError::Failed { .. }) | LayerError::Store(_)) => Ok(None),
        Err(LayerError::Made(error)) => Err(unpack_failure(error)),
        Err(LayerError::Snapshot(error @ (SnapshotError::TooMany { .. } | SnapshotError::TooDeep { .. }))) => {
            Err(snapshot_failure(error))
        }
        Err(LayerError::Snapshot(_)) => Ok(None),
    }
}

/// Waits a little for who is at work on a layer; false where there is no use in it.
pub fn wait(context: &Context) -> bool {
    let _away = context.slots.away();
    std::thread::sleep(LOOK);
    !runner::interrupted()
}

/// Brings a layer to WORKDIR; none where that failed and left nothing.
pub fn lay(layer: Arc<Layer>, way: Way, job: &JobDir, walls: &mut Walls) -> Result<Option<Source>, Failure> {
    let source = laid(layer, way, job, walls)?;
    if let Some(source) = &source {
        // where an ebuild was faster at that name all contents are kept
        let _ = source.trace(job).tell_lent();
    }
    Ok(source)
}

fn laid(layer: Arc<Layer>, way: Way, job: &JobDir, walls: &mut Walls) -> Result<Option<Source>, Failure> {
    // an overlay would part the names of a file
    if way == Way::Overlay && !layer.has_hard_links() && over(&layer, job, walls).is_ok() {
        return Ok(Some(Source::Overlay(layer)));
    }
    let copied = staged(job, |to| layer.copy(to)).and_then(|snapshot| {
        layer.root_to(&job.workdir())?;
        Ok(snapshot)
    });
    match copied {
        Ok(snapshot) => Ok(Some(Source::Copy(layer, snapshot))),
        Err(_) => {
            clean(&job.workdir()).map_err(|e| Failure::unpack(format!("can't clean WORKDIR: {e}")))?;
            Ok(None)
        }
    }
}

/// Removes all that lies in a folder. The folder itself stays: it is the one that the sandbox shows.
fn clean(dir: &Path) -> io::Result<()> {
    for item in fs::read_dir(dir)? {
        let item = item?;
        match item.file_type()?.is_dir() {
            true => crate::tree::remove(&item.path())?,
            false => fs::remove_file(item.path())?,
        }
    }
    Ok(())
}

/// Fills a folder that the job can't reach, and moves what is in it to WORKDIR: there processes of the ebuild may wait with
/// links in the place of folders.
fn staged<T>(job: &JobDir, fill: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let stage = job.root().join("stage");
    fs::create_dir(&stage)?;
    let moved = fill(&stage).and_then(|filled| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let work = rustix::fs::open(job.workdir(), flags, Mode::empty())?;
        for item in fs::read_dir(&stage)? {
            let item = item?;
            // a folder that can't be written can't be moved: its `..` changes
            rustix::fs::renameat(CWD, item.path(), &work, item.file_name())?;
        }
        Ok(filled)
    });
    crate::tree::remove(&stage)?;
    moved
}

/// Mounts the overlay; its root is what its upper folder is.
fn over(layer: &Layer, job: &JobDir, walls: &mut Walls) -> io::Result<()> {
    layer.root_to(&job.upper())?;
    walls.lay(layer)
}

/// The second run of a job finds the layer as the first one left it.
pub fn again(source: &Source, walls: &mut Walls) -> Result<(), Failure> {
    let Source::Overlay(layer) = source else { return Ok(()) };
    walls.lay(layer).map_err(|e| Failure::prepare(format!("can't mount the source again: {e}")))
}

/// A copy of a source that lies somewhere else, without its history.
pub fn copy(source: &Path, s: &Path, job: &JobDir) -> Result<(), Failure> {
    let below =
        s.strip_prefix(job.workdir()).ok().filter(|s| s.components().all(|c| matches!(c, Component::Normal(_))));
    let below = below.ok_or_else(|| Failure::unpack(format!("S={} is not below WORKDIR", s.display())))?;
    staged(job, |stage| fill(source, &stage.join(below)))
        .map_err(|e| Failure::unpack(format!("can't copy {}: {e}", source.display())))
}

fn fill(source: &Path, s: &Path) -> io::Result<()> {
    for item in walkdir::WalkDir::new(source).into_iter().filter_entry(|e| e.depth() == 0 || e.file_name() != ".git") {
        let item = item?;
        let to = s.join(item.path().strip_prefix(source).unwrap_or(item.path()));
        let kind = item.file_type();
        if kind.is_dir() {
            fs::create_dir_all(&to)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(item.path())?, &to)?;
        } else if kind.is_file() {
            fs::copy(item.path(), &to)?;
        }
    }
    Ok(())
}

fn unpack_failure(error: UnpackError) -> Failure {
    match error {
        UnpackError::TooLarge { .. } => Failure::too_large(error.to_string()),
        UnpackError::Unsupported { .. } => Failure::unsupported(error.to_string()),
        UnpackError::TooSlow { .. } => Failure::timed_out(error.to_string()),
        UnpackError::Stopped { .. } => Failure::interrupted("unpacking"),
        UnpackError::Refused { .. } | UnpackError::Failed { .. } => Failure::unpack(error.to_string()),
    }
}

fn snapshot_failure(error: SnapshotError) -> Failure {
    match error {
        SnapshotError::TooMany { .. } | SnapshotError::TooDeep { .. } | SnapshotError::TooLarge { .. } => {
            Failure::too_large(error.to_string())
        }
        SnapshotError::TooSlow => Failure::timed_out(error.to_string()),
        SnapshotError::Stopped => Failure::interrupted("reading the tree"),
        error => Failure::prepare(error.to_string()),
    }
}
