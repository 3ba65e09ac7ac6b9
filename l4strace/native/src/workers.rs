//! Work in pieces, which several threads take one after the other.

use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// A piece of work that is done once.
pub type Job<'a, T> = Box<dyn FnOnce() -> T + Send + 'a>;

/// What the jobs return, in the order of the jobs, on up to so many threads; one is the caller's. Panics as a
/// job did.
pub fn all<T: Send>(threads: usize, jobs: Vec<Job<'_, T>>) -> Vec<T> {
    let helpers = threads.min(jobs.len()).saturating_sub(1);
    let (left, done) = (Mutex::new(jobs.into_iter().enumerate()), Mutex::new(Vec::new()));
    let work = || loop {
        let Some((number, job)) = locked(&left).next() else { return };
        let result = job();
        locked(&done).push((number, result));
    };
    thread::scope(|scope| {
        // One that the system refuses to start is one fewer.
        let start = |_| thread::Builder::new().name("l4strace-work".into()).spawn_scoped(scope, work).ok();
        let started: Vec<_> = (0..helpers).filter_map(start).collect();
        work();
        for helper in started {
            helper.join().unwrap_or_else(|payload| resume_unwind(payload));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|&(number, _)| number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// No job runs under a lock, so none leaves anything half changed.
fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{catch_unwind, AssertUnwindSafe};
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::time::{Duration, Instant};

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        for threads in [0, 1, 2, 3, 100] {
            let jobs = (0..50u32).map(|n| Box::new(move || n * n) as Job<'_, u32>).collect();
            assert!(all(threads, jobs).into_iter().eq((0..50).map(|n| n * n)), "{threads}");
        }
        assert!(all::<u32>(2, Vec::new()).is_empty());
    }

    /// How many threads were at work at once. Jobs wait for `threads` others, but not for ever.
    fn at_once(threads: usize) -> usize {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let job = || {
            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
            let begun = Instant::now();
            while most.load(SeqCst) < threads && begun.elapsed() < Duration::from_secs(2) {
                thread::yield_now();
            }
            // One more than are allowed would be here by then.
            thread::sleep(Duration::from_millis(20));
            now.fetch_sub(1, SeqCst);
        };
        all(threads, (0..2 * threads).map(|_| Box::new(job) as Job<'_, ()>).collect());
        most.into_inner()
    }

    #[test]
    fn as_many_threads_work_as_are_allowed_and_no_more() {
        assert_eq!([1, 2, 3].map(at_once), [1, 2, 3]);
    }

    #[test]
    fn a_panic_reaches_the_caller_as_it_was() {
        for threads in [1, 2] {
            let job = |n: u32| Box::new(move || assert!(n != 7, "a bug")) as Job<'_, ()>;
            let run = AssertUnwindSafe(|| all(threads, (0..20).map(job).collect()));
            let payload = catch_unwind(run).unwrap_err();
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"a bug"));
        }
    }
}
