//! The phase's output: read as it comes, bounded, with its last lines kept for the reason of a failure.

use std::io::{self, PipeReader, Read};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

/// Bytes at the end of the output that are kept.
const TAIL: usize = 16 << 10;

/// What was printed so far: how much, and its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    pub bytes: u64,
    pub tail: Vec<u8>,
}

impl Printed {
    /// Adds what came next.
    fn add(&mut self, bytes: u64, tail: &[u8]) {
        self.bytes += bytes;
        self.tail.extend_from_slice(tail);
        let surplus = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..surplus);
    }

    /// What was printed after `before`.
    pub fn since(&self, before: &Printed) -> Printed {
        let bytes = self.bytes.saturating_sub(before.bytes);
        let from = self.tail.len().saturating_sub(bytes.min(TAIL as u64) as usize);
        Printed { bytes, tail: self.tail[from..].to_vec() }
    }
}

/// A thread that reads a pipe until its end.
#[derive(Debug)]
pub struct Pump {
    pipe: PipeReader,
    printed: Arc<Mutex<Printed>>,
    thread: JoinHandle<()>,
}

impl Pump {
    pub fn start(pipe: PipeReader) -> io::Result<Pump> {
        let printed = Arc::new(Mutex::new(Printed::default()));
        let (mut reader, kept) = (pipe.try_clone()?, Arc::clone(&printed));
        let thread = std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            loop {
                let ready = poll(&mut [PollFd::new(&reader, PollFlags::IN)], None);
                if matches!(ready, Err(error) if error != rustix::io::Errno::INTR) {
                    return;
                }
                // what has left the pipe is kept as soon as anybody else can look
                let mut kept = locked(&kept);
                match reader.read(&mut buffer) {
                    Ok(n @ 1..) => kept.add(n as u64, &buffer[..n]),
                    _ => return,
                }
            }
        });
        Ok(Pump { pipe, printed, thread })
    }

    /// Bytes read so far.
    pub fn seen(&self) -> u64 {
        locked(&self.printed).bytes
    }

    /// All that was printed until now, by whoever prints no more at the moment.
    pub fn printed(&self) -> io::Result<Printed> {
        for _ in 0..1000 {
            let printed = locked(&self.printed);
            if rustix::io::ioctl_fionread(&self.pipe)? == 0 {
                return Ok(printed.clone());
            }
            drop(printed);
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Takes something for printed.
    pub fn add(&self, printed: &Printed) {
        locked(&self.printed).add(printed.bytes, &printed.tail);
    }

    /// The last lines, once the writers are gone. A process that got away may hold the pipe open: it is not waited for.
    pub fn finish(self) -> Vec<u8> {
        for _ in 0..50 {
            if self.thread.is_finished() {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        locked(&self.printed).tail.clone()
    }
}

fn locked(printed: &Mutex<Printed>) -> MutexGuard<'_, Printed> {
    printed.lock().unwrap_or_else(|e| e.into_inner())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_was_printed_between_two_looks_can_be_printed_again() {
        let (reader, mut writer) = io::pipe().unwrap();
        let pump = Pump::start(reader).unwrap();
        writer.write_all(b"before\n").unwrap();
        let before = pump.printed().unwrap();
        writer.write_all(&[b'x'; 30_000]).unwrap();
        writer.write_all(b"end\n").unwrap();
        let after = pump.printed().unwrap();
        let between = after.since(&before);
        assert_eq!((before.bytes, between.bytes), (7, 30_004));
        assert!(between.tail.len() == TAIL && between.tail.ends_with(b"xend\n"));
        let mut again = before.clone();
        again.add(between.bytes, &between.tail);
        assert_eq!(again, after);
        assert_eq!(after.since(&after), Printed::default());
        drop(writer);
        assert_eq!(pump.finish(), after.tail);
    }

    #[test]
    fn little_is_kept_whole() {
        let mut printed = Printed::default();
        printed.add(2, b"a\n");
        let before = printed.clone();
        printed.add(2, b"b\n");
        assert_eq!(printed.since(&before), Printed { bytes: 2, tail: b"b\n".to_vec() });
    }
}
