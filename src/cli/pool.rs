//! The jobs of a run: the biggest first, a few more at a time than work, so that some can wait for the network.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::audit::slots::Slots;

/// Runs `job` for each of `items` in the order of `first`, and gives what they return in that of the items.
pub fn run<T: Sync, R: Send>(
    items: &[T],
    order: &[usize],
    slots: &Slots,
    threads: usize,
    job: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let answers: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(at) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let _slot = slots.take();
            let answer = job(&items[*at]);
            *answers[*at].lock().unwrap_or_else(|e| e.into_inner()) = Some(answer);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            // where no thread is to be had, the others do it all
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    answers.into_iter().filter_map(|answer| answer.into_inner().unwrap_or_else(|e| e.into_inner())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_their_order_whatever_is_first() {
        let began = Mutex::new(Vec::new());
        let job = |item: &u32| {
            began.lock().unwrap().push(*item);
            item * 2
        };
        assert_eq!(run(&[1, 2, 3], &[2, 0, 1], &Slots::new(1), 1, job), [2, 4, 6]);
        assert_eq!(*began.lock().unwrap(), [3, 1, 2]);
        let many: Vec<u32> = (0..100).collect();
        let order: Vec<usize> = (0..100).rev().collect();
        assert_eq!(run(&many, &order, &Slots::new(3), 8, |n| *n), many);
        assert!(run(&[0; 0], &[], &Slots::new(1), 4, |n| *n).is_empty());
    }
}
