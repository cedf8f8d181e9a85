//! The phase's output: read as it comes, bounded, with its last lines kept for the reason of a failure.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Bytes at the end of the output that are kept.
const TAIL: usize = 16 << 10;

/// A thread that reads a pipe until its end.
#[derive(Debug)]
pub struct Pump {
    seen: Arc<AtomicU64>,
    tail: Arc<std::sync::Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Pump {
    pub fn start(mut pipe: std::io::PipeReader) -> Pump {
        let seen = Arc::new(AtomicU64::new(0));
        let tail = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (count, kept) = (Arc::clone(&seen), Arc::clone(&tail));
        let thread = std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(n @ 1..) = pipe.read(&mut buffer) {
                count.fetch_add(n as u64, Ordering::Relaxed);
                let mut kept = kept.lock().unwrap_or_else(|e| e.into_inner());
                kept.extend_from_slice(&buffer[..n]);
                let surplus = kept.len().saturating_sub(TAIL);
                kept.drain(..surplus);
            }
        });
        Pump { seen, tail, thread }
    }

    /// Bytes read so far.
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// The last lines, once the writers are gone. A process that got away may hold the pipe open: it is not waited for.
    pub fn finish(self) -> Vec<u8> {
        for _ in 0..50 {
            if self.thread.is_finished() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        self.tail.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }
}
