//! Pieces of a file, decoded side by side by threads and read one after the other.
//!
//! Where pieces begin is guessed. What a piece gives is handed on when all of it is decoded and known to be right; from the
//! first one that is not, the beginning of its stream is gone back to, one thread decodes it and all that follows, and
//! what was handed on before is left out. So the bytes, and the error at their end, are those of the one thread.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use super::decode::Remarks;
use super::room::Share;

/// More threads than that would only wait for the one that writes.
pub(super) const THREADS: usize = 4;
/// Pieces that are begun, beyond one for each thread.
const SPARE: usize = 2;
/// Decoded bytes of all pieces together before their turn comes.
const AHEAD: usize = 48 << 20;
/// Decoded bytes of a piece whose turn it is; the largest block of bzip2 has 46 MB.
const MOST: usize = 48 << 20;
/// Decoded bytes are kept in parts of this size.
pub(super) const CHUNK: usize = 256 << 10;

/// One archive at a time is decoded by several threads: what they keep in memory is bounded once, whatever number of
/// jobs there is.
static TURN: AtomicBool = AtomicBool::new(false);

/// The right to decode by several threads, and the memory for it, given up when dropped.
pub(super) struct Turn {
    taken: &'static AtomicBool,
    _share: Option<Share>,
}

impl Turn {
    /// Bytes that the threads may keep, more than [`AHEAD`], [`MOST`] and what they decode from.
    pub(super) const BYTES: u64 = 160 << 20;

    /// None where there is one processor, or somebody else has it, or others have the memory.
    pub(super) fn take() -> Option<Turn> {
        let mut turn = Turn::of(&TURN)?;
        turn._share = Some(Share::try_take(Turn::BYTES)?);
        Some(turn)
    }

    fn of(taken: &'static AtomicBool) -> Option<Turn> {
        (cores() > 1 && !taken.swap(true, Ordering::Relaxed)).then_some(Turn { taken, _share: None })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.taken.store(false, Ordering::Relaxed);
    }
}

pub(super) fn cores() -> usize {
    thread::available_parallelism().map_or(1, |n| n.get())
}

/// What comes next in a file.
pub(super) enum Item<J> {
    /// `stream`: the place in the file from where one thread could decode.
    Piece {
        stream: u64,
        job: J,
    },
    /// Nothing that can be told to be a piece.
    Odd {
        stream: u64,
    },
    End {
        remark: Option<&'static str>,
    },
}

/// Cuts a file into pieces.
pub(super) trait Split: Send {
    type Job: Job;

    /// Called until it gives something else than a piece.
    fn next(&mut self) -> Item<Self::Job>;

    /// The decoder that does without guesses, from a stream on.
    fn alone(self, stream: u64) -> io::Result<Box<dyn Read + Send>>;
}

/// A piece to be decoded.
pub(super) trait Job: Send + 'static {
    /// None where it is not what it was taken for.
    fn run(self, out: &mut Out) -> Option<()>;
}

/// Takes what a piece gives.
pub(super) struct Out {
    chunks: Vec<Vec<u8>>,
    bytes: usize,
    /// How many bytes may be kept before the turn comes.
    ahead: usize,
    turn: Receiver<()>,
}

impl Out {
    /// None where the piece is to be given up.
    pub(super) fn push(&mut self, chunk: Vec<u8>) -> Option<()> {
        let before = self.bytes;
        self.bytes += chunk.len();
        self.chunks.push(chunk);
        if (before..self.bytes).contains(&self.ahead) {
            self.turn.recv().ok()?;
        }
        (self.bytes <= MOST).then_some(())
    }
}

type Chunks = Vec<Vec<u8>>;

struct Task<J> {
    job: J,
    out: Out,
    done: SyncSender<Option<Chunks>>,
}

/// A piece that somebody decodes.
struct Begun {
    turn: SyncSender<()>,
    done: Receiver<Option<Chunks>>,
}

/// Reads the pieces in their order.
pub(super) struct Lanes<S: Split> {
    split: Option<S>,
    crew: Crew<S::Job>,
    begun: VecDeque<Item<Begun>>,
    all_told: bool,
    ready: VecDeque<Vec<u8>>,
    /// How much of the first of `ready` has been read.
    at: usize,
    stream: u64,
    /// Bytes of the stream that were handed on, or are ready to be.
    given: u64,
    alone: Option<Box<dyn Read + Send>>,
    remarks: Remarks,
    turn: Option<Turn>,
}

impl<S: Split> Lanes<S> {
    pub(super) fn new(split: S, turn: Option<Turn>, remarks: Remarks) -> Self {
        Lanes {
            split: Some(split),
            crew: Crew::new(cores().clamp(2, THREADS)),
            begun: VecDeque::new(),
            all_told: false,
            ready: VecDeque::new(),
            at: 0,
            stream: 0,
            given: 0,
            alone: None,
            remarks,
            turn,
        }
    }

    fn begin(&mut self) {
        let Some(split) = &mut self.split else { return };
        while !self.all_told && self.begun.len() < self.crew.most + SPARE {
            let item = match split.next() {
                Item::Piece { stream, job } => match self.crew.begin(job) {
                    Some(job) => Item::Piece { stream, job },
                    None => Item::Odd { stream },
                },
                Item::Odd { stream } => Item::Odd { stream },
                Item::End { remark } => Item::End { remark },
            };
            self.all_told = !matches!(item, Item::Piece { .. });
            self.begun.push_back(item);
        }
    }

    /// False at the end.
    fn advance(&mut self) -> io::Result<bool> {
        self.begin();
        match self.begun.pop_front() {
            Some(Item::Piece { stream, job }) => {
                if stream != self.stream {
                    (self.stream, self.given) = (stream, 0);
                }
                let _ = job.turn.try_send(());
                match job.done.recv() {
                    Ok(Some(chunks)) => {
                        self.given += chunks.iter().map(|c| c.len() as u64).sum::<u64>();
                        self.ready = chunks.into();
                    }
                    _ => self.go_alone(stream)?,
                }
            }
            Some(Item::Odd { stream }) => self.go_alone(stream)?,
            Some(Item::End { remark }) => {
                remark.into_iter().for_each(|remark| self.remarks.add(remark));
                return Ok(false);
            }
            None => return Ok(false),
        }
        Ok(true)
    }

    fn go_alone(&mut self, stream: u64) -> io::Result<()> {
        self.begun.clear();
        self.all_told = true;
        self.crew.end();
        self.turn = None;
        let Some(split) = self.split.take() else { return Ok(()) };
        let given = if stream == self.stream { self.given } else { 0 };
        let mut alone = split.alone(stream)?;
        if io::copy(&mut (&mut alone).take(given), &mut io::sink())? < given {
            return Err(io::Error::other("the file changed while it was read"));
        }
        self.alone = Some(alone);
        Ok(())
    }
}

impl<S: Split> Read for Lanes<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(chunk) = self.ready.front() {
                let rest = &chunk[self.at..];
                let n = rest.len().min(buf.len());
                buf[..n].copy_from_slice(&rest[..n]);
                self.at += n;
                if n == rest.len() {
                    self.ready.pop_front();
                    self.at = 0;
                }
                if n > 0 || buf.is_empty() {
                    return Ok(n);
                }
            } else if let Some(alone) = &mut self.alone {
                return alone.read(buf);
            } else if !self.advance()? {
                return Ok(0);
            }
        }
    }
}

/// The threads, started as pieces come.
struct Crew<J> {
    most: usize,
    threads: Vec<JoinHandle<()>>,
    tasks: Option<Sender<Task<J>>>,
    queue: Arc<Mutex<Receiver<Task<J>>>>,
}

impl<J: Job> Crew<J> {
    fn new(most: usize) -> Self {
        let (tasks, queue) = channel();
        Crew { most, threads: Vec::new(), tasks: Some(tasks), queue: Arc::new(Mutex::new(queue)) }
    }

    /// None where there is nobody to do it.
    fn begin(&mut self, job: J) -> Option<Begun> {
        if self.threads.len() < self.most {
            let queue = self.queue.clone();
            let spawned = thread::Builder::new().name("decode".into()).spawn(move || work(&queue));
            self.threads.extend(spawned.ok());
        }
        if self.threads.is_empty() {
            return None;
        }
        let (turn, of_turn) = sync_channel(1);
        let (done, of_done) = sync_channel(1);
        let out = Out { chunks: Vec::new(), bytes: 0, ahead: AHEAD / (self.most + SPARE), turn: of_turn };
        self.tasks.as_ref()?.send(Task { job, out, done }).ok()?;
        Some(Begun { turn, done: of_done })
    }
}

impl<J> Crew<J> {
    fn end(&mut self) {
        self.tasks = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl<S: Split> Drop for Lanes<S> {
    fn drop(&mut self) {
        // who waits for its turn finds that it never comes
        self.begun.clear();
        self.crew.end();
    }
}

fn work<J: Job>(queue: &Mutex<Receiver<Task<J>>>) {
    loop {
        let task = queue.lock().unwrap_or_else(|e| e.into_inner()).recv();
        let Ok(Task { job, mut out, done }) = task else { return };
        // who began it may not want it any more; a panic closes `done` and with it the piece
        let right = job.run(&mut out).is_some();
        let _ = done.send(right.then_some(out.chunks));
    }
}

#[cfg(test)]
mod tests;
