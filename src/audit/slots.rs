//! How many jobs work at a time, while others wait for the network.

use std::sync::{Condvar, Mutex};

/// Places for jobs that use a processor.
#[derive(Debug)]
pub struct Slots {
    number: usize,
    free: Mutex<usize>,
    given_back: Condvar,
}

/// A place that is taken; given back with the value.
#[derive(Debug)]
pub struct Slot<'a>(&'a Slots);

/// A place that its holder does without for a time; with the end of the value it is taken again.
#[derive(Debug)]
pub struct Away<'a>(&'a Slots);

impl Slots {
    pub fn new(number: usize) -> Slots {
        let number = number.max(1);
        Slots { number, free: Mutex::new(number), given_back: Condvar::new() }
    }

    /// How many there are, free or taken.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Waits for a place.
    pub fn take(&self) -> Slot<'_> {
        self.wait();
        Slot(self)
    }

    /// Lets another job have the place of this one, which waits for something that takes no processor. Only for who holds one.
    pub fn away(&self) -> Away<'_> {
        self.give_back();
        Away(self)
    }

    fn wait(&self) {
        let mut free = self.free.lock().unwrap_or_else(|e| e.into_inner());
        while *free == 0 {
            free = self.given_back.wait(free).unwrap_or_else(|e| e.into_inner());
        }
        *free -= 1;
    }

    fn give_back(&self) {
        *self.free.lock().unwrap_or_else(|e| e.into_inner()) += 1;
        self.given_back.notify_one();
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn no_more_than_there_are_places() {
        let (slots, at_work, most) = (Slots::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            most.fetch_max(at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(1));
            at_work.fetch_sub(1, Ordering::SeqCst);
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _slot = slots.take();
                    work();
                    drop(slots.away());
                    work();
                });
            }
        });
        assert!(most.into_inner() <= 2);
        assert_eq!(*slots.free.lock().unwrap(), 2);
    }
}
