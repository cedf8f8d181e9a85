//! The md5s of files that are written one after the other: their contents are gathered, and hashed many at once, from the
//! second batch on beside the writing.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use super::lanes::cores;
use super::md5_lanes::{BLOCK, Job, START, State, digest, end, run};

pub(super) type ByInode = HashMap<u64, [u8; 16]>;

/// Bytes. Many small files fill the lanes, and one that is large has others beside it.
const BATCH: usize = 2 << 20;
/// A batch of nothing but empty files ends, too.
const PIECES: usize = 8 << 10;

/// The contents of files, one behind the other.
#[derive(Default)]
struct Batch {
    data: Vec<u8>,
    pieces: Vec<Piece>,
}

/// What a batch has of a file.
struct Piece {
    /// In the batch's data.
    to: usize,
    /// Whether the file begins here.
    first: bool,
    /// The inode number and the size, if the file ends here; else these are whole blocks.
    last: Option<(u64, u64)>,
}

/// Takes the contents of files.
pub(super) struct Sums {
    batch: Batch,
    /// Bytes of a batch.
    most: usize,
    /// Where in the batch the open file begins, and whether it begins there.
    from: usize,
    first: bool,
    /// Bytes of the open file.
    size: u64,
    hasher: Hasher,
    beside: Option<Beside>,
    begun: bool,
}

/// A thread that hashes.
struct Beside {
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
    thread: JoinHandle<Hasher>,
}

impl Sums {
    pub(super) fn new() -> Sums {
        Sums::of(BATCH)
    }

    /// In batches of so many bytes, which are more than a block.
    fn of(most: usize) -> Sums {
        let (batch, hasher) = (Batch::default(), Hasher::default());
        Sums { batch, most, from: 0, first: true, size: 0, hasher, beside: None, begun: false }
    }

    /// A file begins.
    pub(super) fn begin(&mut self) {
        self.batch.data.truncate(self.batch.pieces.last().map_or(0, |piece| piece.to));
        (self.from, self.first, self.size) = (self.batch.data.len(), true, 0);
    }

    pub(super) fn take(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.size += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = self.most.saturating_sub(self.batch.data.len());
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            self.batch.data.extend_from_slice(now);
            bytes = rest;
            if self.batch.data.len() >= self.most {
                self.hand_on()?;
            }
        }
        Ok(())
    }

    /// The file has ended; it is the one of that inode number.
    pub(super) fn end(&mut self, ino: u64) -> io::Result<()> {
        self.from = self.batch.data.len();
        self.batch.pieces.push(Piece { to: self.from, first: self.first, last: Some((ino, self.size)) });
        if self.batch.pieces.len() >= PIECES { self.hand_on() } else { Ok(()) }
    }

    pub(super) fn finish(mut self) -> io::Result<ByInode> {
        self.begin();
        let batch = std::mem::take(&mut self.batch);
        if let Some(Beside { full, thread, .. }) = self.beside {
            let _ = full.send(batch);
            drop(full);
            return Ok(thread.join().map_err(|_| broken())?.sums);
        }
        self.hasher.take(&batch);
        Ok(self.hasher.sums)
    }

    /// The batch is full. What is no whole block of the open file goes to the next one.
    fn hand_on(&mut self) -> io::Result<()> {
        let whole = (self.batch.data.len() - self.from) / BLOCK * BLOCK;
        let to = self.from + whole;
        if whole > 0 {
            self.batch.pieces.push(Piece { to, first: self.first, last: None });
            self.first = false;
        }
        self.from = 0;
        if !std::mem::replace(&mut self.begun, true) && cores() > 1 {
            self.beside = Beside::start();
        }
        let rest = self.batch.data[to..].to_vec();
        match &self.beside {
            Some(beside) => {
                beside.full.send(std::mem::take(&mut self.batch)).map_err(|_| broken())?;
                self.batch = beside.empty.try_recv().unwrap_or_default();
            }
            None => self.hasher.take(&self.batch),
        }
        self.batch.clear();
        self.batch.data.extend(rest);
        Ok(())
    }
}

fn broken() -> io::Error {
    io::Error::other("hashing broke down")
}

impl Batch {
    fn clear(&mut self) {
        self.data.clear();
        self.pieces.clear();
    }
}

impl Beside {
    /// None where no thread is to be had.
    fn start() -> Option<Beside> {
        // one batch is filled, one is hashed
        let (full, batches) = sync_channel::<Batch>(0);
        let (spent, empty) = channel();
        let thread = thread::Builder::new().name("md5".into()).spawn(move || {
            let mut hasher = Hasher::default();
            while let Ok(batch) = batches.recv() {
                hasher.take(&batch);
                let _ = spent.send(batch);
            }
            hasher
        });
        Some(Beside { full, empty, thread: thread.ok()? })
    }
}

/// Makes sums of batches that come in order.
#[derive(Default)]
struct Hasher {
    /// Of the file that goes on in the next batch.
    open: State,
    sums: ByInode,
}

impl Hasher {
    fn take(&mut self, batch: &Batch) {
        let mut from = 0;
        let mut jobs = Vec::with_capacity(batch.pieces.len());
        for piece in &batch.pieces {
            let state = if piece.first { START } else { self.open };
            jobs.push(Job { state, data: &batch.data[from..piece.to] });
            from = piece.to;
        }
        run(&mut jobs);
        let of_job = |(job, piece): (&Job<'_>, &Piece)| {
            let (ino, size) = piece.last?;
            Some((ino, job.state, end(job.data, size)))
        };
        let ends: Vec<_> = jobs.iter().zip(&batch.pieces).filter_map(of_job).collect();
        self.open = jobs.last().map_or(self.open, |job| job.state);
        let mut jobs: Vec<_> =
            ends.iter().map(|(_, state, (data, n))| Job { state: *state, data: &data[..*n] }).collect();
        run(&mut jobs);
        self.sums.extend(ends.iter().zip(jobs).map(|((ino, ..), job)| (*ino, digest(job.state))));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn any_number_of_empty_files() {
        let mut sums = Sums::new();
        for n in 0..30_000 {
            sums.begin();
            sums.end(n).unwrap();
            assert!(sums.batch.pieces.len() < PIECES);
        }
        let sums = sums.finish().unwrap();
        assert_eq!(sums.len(), 30_000);
        assert!(sums.values().all(|sum| *sum == md5::compute("").0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]

        #[test]
        fn whatever_the_sizes_and_the_pieces(
            batch in 65..5_000usize,
            files in prop::collection::vec((prop_oneof![0..300usize, 0..20_000usize], 1..3_000usize, prop::bool::weighted(0.9)), 0..30),
        ) {
            let (mut sums, mut plain) = (Sums::of(batch), ByInode::new());
            for (n, (size, piece, ended)) in files.into_iter().enumerate() {
                let data: Vec<u8> = (0..size).map(|i| (i * (n + 3) / 5) as u8).collect();
                sums.begin();
                data.chunks(piece).try_for_each(|piece| sums.take(piece)).unwrap();
                // one that is given up has no sum
                if ended {
                    sums.end(n as u64).unwrap();
                    plain.insert(n as u64, md5::compute(data).0);
                }
            }
            prop_assert!(sums.finish().unwrap() == plain);
        }
    }
}
