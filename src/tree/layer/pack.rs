//! The contents of a layer in one file, for searching: made when somebody first needs it, kept beside the tree.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::Mmap;

use super::Layer;
use super::store::packed;
use crate::tree::{Slot, untrusted};

/// Threads that read files; the disk and the kernel do most of the work.
const READERS: usize = 4;

impl Layer {
    /// Bytes of the pack.
    pub fn packed(&self) -> u64 {
        self.packed
    }

    /// The contents of the file at `path`, which `slot` is of.
    pub fn read(&self, path: &Path, slot: Slot) -> io::Result<Vec<u8>> {
        untrusted::read(&self.tree().join(path), slot.len())
    }

    /// The pack as memory. Where the layer's folder can't take it, it is made in `otherwise`, for this run.
    pub fn pack(&self, otherwise: &Path) -> io::Result<Arc<Mmap>> {
        let mut made = self.pack.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(map) = &*made {
            return Ok(map.clone());
        }
        let file = self.kept().or_else(|_| self.keep()).or_else(|_| {
            let file = tempfile::tempfile_in(otherwise)?;
            self.fill(&file).map(|()| file)
        })?;
        // SAFETY: it took its name, or is nameless, once it was complete; nobody writes to it any more
        let map = Arc::new(unsafe { Mmap::map(&file) }?);
        *made = Some(map.clone());
        Ok(map)
    }

    fn kept(&self) -> io::Result<File> {
        let file = File::open(self.dir.join("pack"))?;
        match file.metadata()?.len() == self.packed {
            true => Ok(file),
            false => Err(io::Error::other("the pack is not of this layer")),
        }
    }

    fn keep(&self) -> io::Result<File> {
        let fresh = tempfile::NamedTempFile::new_in(&self.dir)?;
        self.fill(fresh.as_file())?;
        fresh.persist(self.dir.join("pack")).map_err(|e| e.error)
    }

    fn fill(&self, file: &File) -> io::Result<()> {
        let files: Vec<(&Path, Slot)> = packed(self.snapshot()).collect();
        let next = AtomicUsize::new(0);
        let work = || -> io::Result<()> {
            let mut buffer = vec![0; 1 << 20];
            while let Some((path, slot)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut source = untrusted::open(&self.tree().join(path))?;
                let mut done = 0;
                loop {
                    let n = source.read(&mut buffer)?;
                    if n == 0 {
                        break;
                    }
                    file.write_all_at(&buffer[..n], slot.start() + done)?;
                    done += n as u64;
                }
                if done != slot.len() {
                    return Err(io::Error::other(format!("{}: it has another size", path.display())));
                }
            }
            Ok(())
        };
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(READERS);
        std::thread::scope(|scope| {
            let others: Vec<_> =
                (1..threads).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
            let own = work();
            let all =
                others.into_iter().map(|t| t.join().unwrap_or_else(|_| Err(io::Error::other("a thread broke down"))));
            all.fold(own, |done, one| done.and(one))
        })?;
        // one that holds nothing but empty files, too
        file.set_len(self.packed)
    }
}
