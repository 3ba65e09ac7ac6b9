//! Lanes followed by several threads, which share them out as work comes.
//!
//! The caller's thread reads and decodes; what it finds waits in the queue of its lane until some thread takes
//! the lane with all that waits there, follows it and gives the lane back. A lane is with one thread at a
//! time, so its packets are followed in their order.

pub(super) mod lanes;
pub(super) mod mix;
pub(super) mod packed;
pub(super) mod waiting;

mod shared;
/// What of the standard library threads meet in; `l4strace/native/loom` has its own.
mod sync {
    pub use std::sync::{Condvar, Mutex, MutexGuard};
}

use std::num::NonZero;
use std::thread::{self, Scope};

use self::lanes::{lane, LANES};
use self::shared::{Follow, Pace, Shared, BATCH};
use super::Tracker;
use crate::packet::Packet;
use crate::workers::{self, Job};

/// Packets that are followed (in some 5 ms) before helpers are started.
const SMALL: u64 = 1 << 15;

/// How many threads follow packets, and from which packet on.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    pub most: usize,
    pub after: u64,
}

impl Threads {
    /// So many, once a capture is large enough.
    pub fn most(most: usize) -> Self {
        Threads { most, after: SMALL }
    }
}

impl Default for Threads {
    /// One for each processor.
    fn default() -> Self {
        Threads::most(thread::available_parallelism().map_or(1, NonZero::get))
    }
}

/// Follows all packets that `feed` hands to the crew, on several threads.
pub fn follow<E>(
    threads: Threads,
    feed: impl FnOnce(&mut Crew<'_, '_, Tracker>) -> Result<(), E>,
) -> Result<Tracker, E> {
    let lanes = with_crew(threads, (0..LANES).map(|_| Tracker::of_lane()).collect(), feed)?;
    Ok(Tracker::merged(lanes))
}

impl Follow for Tracker {
    fn packets(&mut self, packets: &[Packet]) {
        Tracker::packets(self, packets);
    }

    fn gathers(&self) -> bool {
        Tracker::gathers(self)
    }

    fn finish(&mut self) {
        Tracker::finish(self);
    }
}

/// Returns the lanes after all packets of `feed`.
fn with_crew<T: Follow, E>(
    threads: Threads,
    lanes: Vec<T>,
    feed: impl FnOnce(&mut Crew<'_, '_, T>) -> Result<(), E>,
) -> Result<Vec<T>, E> {
    let shared = Shared::new(Pace::default());
    thread::scope(|scope| {
        let filling = lanes.iter().map(|_| Vec::new()).collect();
        let mut crew = Crew { shared: &shared, scope, threads, alone: lanes, filling, seen: 0 };
        feed(&mut crew)?;
        Ok(crew.finish())
    })
}

/// The caller's side.
pub struct Crew<'scope, 'env, T: Follow> {
    shared: &'env Shared<T>,
    scope: &'scope Scope<'scope, 'env>,
    threads: Threads,
    /// All lanes until there are helpers.
    alone: Vec<T>,
    /// By lane, the batch that is not full.
    filling: Vec<Vec<Packet>>,
    seen: u64,
}

impl<T: Follow> Crew<'_, '_, T> {
    /// Takes packets in the order of the capture.
    pub fn packets(&mut self, packets: &[Packet]) {
        self.seen += packets.len() as u64;
        if !self.alone.is_empty() && self.threads.most > 1 && self.seen > self.threads.after {
            self.start();
        }
        let Some(first) = packets.first() else { return };
        let (mut from, mut of) = (0, lane(&first.key));
        for (at, p) in packets.iter().enumerate().skip(1) {
            let next = lane(&p.key);
            if next != of {
                self.add(of, &packets[from..at]);
                (from, of) = (at, next);
            }
        }
        self.add(of, &packets[from..]);
    }

    /// Packets of one lane, which come in runs.
    #[inline]
    fn add(&mut self, lane: usize, packets: &[Packet]) {
        if let Some(alone) = self.alone.get_mut(lane).filter(|lane| !lane.gathers()) {
            let before = &mut self.filling[lane];
            if !before.is_empty() {
                alone.packets(before);
                before.clear();
            }
            return alone.packets(packets);
        }
        let mut rest = packets;
        while !rest.is_empty() {
            let filling = &mut self.filling[lane];
            let (fits, more) = rest.split_at(rest.len().min(BATCH - filling.len()));
            filling.extend_from_slice(fits);
            if filling.len() == BATCH {
                self.hand_over(lane);
            }
            rest = more;
        }
    }

    /// Starts the helpers; from here on lanes are shared.
    #[cold]
    fn start(&mut self) {
        let shared = self.shared;
        shared.begin(std::mem::take(&mut self.alone));
        for _ in 1..self.threads.most.min(LANES) {
            let helper = thread::Builder::new().name("l4strace-track".into());
            if helper.spawn_scoped(self.scope, || shared.help()).is_err() {
                break; // with fewer: the caller follows what nobody takes
            }
        }
    }

    fn hand_over(&mut self, lane: usize) {
        if let Some(alone) = self.alone.get_mut(lane) {
            alone.packets(&self.filling[lane]);
            return self.filling[lane].clear();
        }
        self.shared.hand_over(lane, &mut self.filling[lane]);
    }

    /// Waits until all packets are followed, and finishes the lanes: many packets may wait in them.
    fn finish(mut self) -> Vec<T> {
        for lane in 0..self.filling.len() {
            if !self.filling[lane].is_empty() {
                self.hand_over(lane);
            }
        }
        let (mut lanes, threads) = if self.alone.is_empty() {
            (self.shared.finish(), self.threads.most)
        } else {
            (std::mem::take(&mut self.alone), 1)
        };
        let job = |lane| Box::new(|| T::finish(lane)) as Job<'_, ()>;
        workers::all(threads, lanes.iter_mut().map(job).collect());
        lanes
    }
}

impl<T: Follow> Drop for Crew<'_, '_, T> {
    /// Lets the helpers go, also when reading failed or panicked.
    fn drop(&mut self) {
        self.shared.end();
    }
}

#[cfg(test)]
mod tests;
