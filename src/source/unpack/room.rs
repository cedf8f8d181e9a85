//! Memory for decoders: those that look far back get it in turn, so that a run's memory is bounded whatever its archives
//! and however many jobs it has.

use std::sync::{Condvar, Mutex, MutexGuard};

/// Bytes; a decoder that wants no more just has them. The dictionary of `xz -6` is 8 MiB.
const FREE: u64 = 10 << 20;
/// Bytes for each job; with it four of eight jobs may use the dictionary of `xz -9` at once.
const FOR_A_JOB: u64 = 44 << 20;

#[derive(Debug, Default)]
struct State {
    used: u64,
    /// Who comes first is served first: the next number to be given, and the one whose turn it is.
    next: u64,
    turn: u64,
}

#[derive(Debug, Default)]
pub(super) struct Room {
    state: Mutex<State>,
    changed: Condvar,
}

/// Memory that is lent, until it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    room: &'static Room,
    bytes: u64,
}

static ROOM: Room = Room { state: Mutex::new(State { used: 0, next: 0, turn: 0 }), changed: Condvar::new() };

impl Share {
    /// Waits until there are as many bytes; one who wants more than there is waits until he is alone. None where they are few.
    pub(super) fn take(bytes: u64) -> Option<Share> {
        ROOM.take(bytes, all())
    }

    /// None where they are not there now.
    pub(super) fn try_take(bytes: u64) -> Option<Share> {
        ROOM.try_take(bytes, all())
    }
}

/// By the number of jobs, which is that of the threads that read trees.
fn all() -> u64 {
    FOR_A_JOB * rayon::current_num_threads().max(8) as u64
}

impl Room {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn take(&'static self, bytes: u64, all: u64) -> Option<Share> {
        if bytes <= FREE {
            return None;
        }
        let bytes = bytes.min(all);
        let mut state = self.state();
        let own = state.next;
        state.next += 1;
        let must_wait = |state: &mut State| state.turn != own || state.used + bytes > all;
        state = self.changed.wait_while(state, must_wait).unwrap_or_else(|e| e.into_inner());
        state.turn += 1;
        state.used += bytes;
        drop(state);
        self.changed.notify_all();
        Some(Share { room: self, bytes })
    }

    fn try_take(&'static self, bytes: u64, all: u64) -> Option<Share> {
        let mut state = self.state();
        let there = state.turn == state.next && state.used + bytes <= all;
        there.then(|| {
            state.used += bytes;
            Share { room: self, bytes }
        })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.room.state().used -= self.bytes;
        self.room.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn no_more_is_lent_than_there_is() {
        static ROOM: Room = Room { state: Mutex::new(State { used: 0, next: 0, turn: 0 }), changed: Condvar::new() };
        static USED: AtomicU64 = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for n in 1..=40 {
                scope.spawn(move || {
                    let bytes = n % 7 * 30 * MB + 20 * MB;
                    let share = ROOM.take(bytes, 100 * MB).unwrap();
                    let used = USED.fetch_add(share.bytes, Ordering::SeqCst) + share.bytes;
                    assert!(used <= 100 * MB, "{used}");
                    std::thread::yield_now();
                    USED.fetch_sub(share.bytes, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(ROOM.state().used, 0);
    }

    #[test]
    fn little_needs_no_turn_and_who_may_go_without_does_not_wait() {
        static ROOM: Room = Room { state: Mutex::new(State { used: 0, next: 0, turn: 0 }), changed: Condvar::new() };
        assert!(ROOM.take(FREE, 100 * MB).is_none());
        let most = ROOM.take(90 * MB, 100 * MB).unwrap();
        assert!(ROOM.try_take(20 * MB, 100 * MB).is_none());
        assert!(ROOM.try_take(10 * MB, 100 * MB).is_some());
        drop(most);
        assert!(ROOM.try_take(20 * MB, 100 * MB).is_some());
    }
}
