//! Decompression on a thread of its own, as it is beside tar(1) a process of its own: the next bytes are decoded while
//! the last ones are written.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::limits::Meter;

const CHUNK: usize = 128 << 10;
const CHUNKS: usize = 4;

/// Runs `consume` with a reader of what `source` gives, while a thread reads `source` ahead by at most half a megabyte.
pub(super) fn read_ahead<T>(source: Box<dyn Read + Send>, meter: Meter, consume: impl FnOnce(&mut Ahead) -> T) -> T {
    let (full_in, full_out) = sync_channel(CHUNKS);
    let (empty_in, empty_out) = sync_channel(CHUNKS);
    for _ in 0..CHUNKS {
        let _ = empty_in.send(Vec::with_capacity(CHUNK));
    }
    thread::scope(|scope| {
        let spawned = thread::Builder::new()
            .name("decompress".into())
            .spawn_scoped(scope, move || pump(source, &empty_out, &full_in));
        let failed = spawned.err();
        let mut ahead =
            Ahead { full: full_out, empty: empty_in, meter, chunk: Vec::new(), at: 0, ended: false, failed };
        consume(&mut ahead)
        // Dropping `ahead` ends the thread: it finds nobody to send to.
    })
}

fn pump(mut source: Box<dyn Read + Send>, empty: &Receiver<Vec<u8>>, full: &SyncSender<io::Result<Vec<u8>>>) {
    while let Ok(mut chunk) = empty.recv() {
        chunk.clear();
        let read = source.by_ref().take(CHUNK as u64).read_to_end(&mut chunk);
        let last = match &read {
            Ok(n) => *n == 0,
            Err(_) => true,
        };
        // What came before a fault is good: tar(1) has written it, too, when gzip(1) gives up.
        if !chunk.is_empty() && full.send(Ok(chunk)).is_err() {
            return;
        }
        if let Err(error) = read {
            let _ = full.send(Err(error));
            return;
        }
        if last {
            let _ = full.send(Ok(Vec::new()));
            return;
        }
    }
}

/// The reading end.
pub(super) struct Ahead {
    full: Receiver<io::Result<Vec<u8>>>,
    empty: SyncSender<Vec<u8>>,
    meter: Meter,
    chunk: Vec<u8>,
    at: usize,
    ended: bool,
    failed: Option<io::Error>,
}

impl BufRead for Ahead {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if let Some(error) = self.failed.take() {
            self.ended = true;
            return Err(error);
        }
        if self.at >= self.chunk.len() && !self.ended {
            let spent = std::mem::take(&mut self.chunk);
            self.at = 0;
            if spent.capacity() > 0 {
                let _ = self.empty.send(spent);
            }
            match self.full.recv() {
                Ok(Ok(chunk)) => {
                    self.ended = chunk.is_empty();
                    self.meter.take(chunk.len() as u64)?;
                    self.chunk = chunk;
                }
                Ok(Err(error)) => {
                    self.ended = true;
                    return Err(error);
                }
                Err(_) => {
                    self.ended = true;
                    return Err(io::Error::other("the decoder broke down"));
                }
            }
        }
        Ok(&self.chunk[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        self.at = (self.at + amount).min(self.chunk.len());
    }
}

impl Read for Ahead {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let data = self.fill_buf()?;
        let n = data.len().min(buf.len());
        buf[..n].copy_from_slice(&data[..n]);
        self.consume(n);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::unpack::limits::Budget;
    use crate::source::unpack::{Clock, Limits};

    #[test]
    fn gives_what_the_source_gives_then_its_fault() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let data: Vec<u8> = (0..1_000_000u32).map(|i| i as u8).collect();
        let source = Box::new(io::Cursor::new(data.clone()).chain(Fails));
        let mut got = Vec::new();
        let end = read_ahead(source, meter(1 << 20), |ahead| ahead.read_to_end(&mut got));
        assert_eq!(end.unwrap_err().to_string(), "broken");
        assert_eq!(got, data);
    }

    #[test]
    fn may_be_left_early() {
        let byte = read_ahead(Box::new(io::repeat(7)), meter(1), |ahead| ahead.fill_buf().unwrap()[0]);
        assert_eq!(byte, 7);
    }

    #[test]
    fn no_more_is_decoded_than_may_be() {
        let end = read_ahead(Box::new(io::repeat(7)), meter(1), |ahead| io::copy(ahead, &mut io::sink()));
        assert!(end.unwrap_err().to_string().contains("--max-unpacked-size"));
    }

    fn meter(most: u64) -> Meter {
        let limits = Limits { max_bytes: most, ..Limits::default() };
        Budget::new(&limits, 1, &Clock::default()).meter()
    }
}
