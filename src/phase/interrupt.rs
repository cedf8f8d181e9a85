//! Ctrl-C and SIGTERM: the first ends the running phases and lets what is done be reported, a later one ends everything.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{sandbox, stale};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// One request may come as several signals: `timeout` of coreutils sends one to its child and one to the whole group.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// From now on Ctrl-C and SIGTERM set [`interrupted`]. One that comes a second later or more ends this process at once,
/// with its sandboxes and its work folders.
pub fn interruptible() -> io::Result<()> {
    let first: Mutex<Option<Instant>> = Mutex::default();
    ctrlc::set_handler(move || {
        INTERRUPTED.store(true, Ordering::SeqCst);
        crate::tree::stop_reading();
        let mut first = first.lock().unwrap_or_else(|e| e.into_inner());
        if first.get_or_insert_with(Instant::now).elapsed() < ONE_REQUEST {
            return;
        }
        sandbox::end_all();
        stale::remove_own();
        std::process::exit(130);
    })
    .map_err(io::Error::other)
}

/// Whether Ctrl-C or SIGTERM came.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}
