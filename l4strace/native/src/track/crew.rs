//! Lanes followed by several threads, which share them out as work comes.
//!
//! The caller's thread reads and decodes; what it finds waits in the queue of its lane until some thread takes
//! the lane with all that waits there, follows it and gives the lane back. A lane is with one thread at a
//! time, so its packets are followed in their order.
//!
//! Nothing can wait in a circle. Helpers wait only for lanes with packets, never for room. The caller waits
//! only when its queues are full (or all is read) and every lane with packets is with a helper, which gives it
//! back without waiting for anything; while a lane is free, the caller takes it itself. So one thread is
//! enough, a helper that the system refuses to start is one fewer, and one that sleeps while a few packets
//! wait keeps nobody waiting.

use std::any::Any;
use std::collections::VecDeque;
use std::num::NonZero;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use super::lanes::{lane, LANES};
use super::Tracker;
use crate::packet::Packet;

/// Packets that are handed over together: a lock and a wake-up cost as much as following some ten.
const BATCH: usize = 64;
/// Such batches that wait at most: 2 MB, which the caches hold.
const MOST_QUEUED: usize = 128;
/// Such batches for every helper that is woken: to wake it takes longer than to follow some of them.
const WORTH_WAKING: usize = 16;
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
    let mut lanes = with_crew(threads, (0..LANES).map(|_| Tracker::of_lane()).collect(), feed)?;
    lanes.iter_mut().for_each(Tracker::finish);
    Ok(Tracker::merged(lanes))
}

/// What follows the packets of one lane.
pub trait Follow: Send {
    fn packets(&mut self, packets: &[Packet]);

    /// It is faster with several packets at once, for now.
    fn gathers(&self) -> bool;
}

impl Follow for Tracker {
    fn packets(&mut self, packets: &[Packet]) {
        Tracker::packets(self, packets);
    }

    fn gathers(&self) -> bool {
        Tracker::gathers(self)
    }
}

/// Returns the lanes after all packets of `feed`.
fn with_crew<T: Follow, E>(
    threads: Threads,
    lanes: Vec<T>,
    feed: impl FnOnce(&mut Crew<'_, '_, T>) -> Result<(), E>,
) -> Result<Vec<T>, E> {
    let shared = Shared::default();
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
        shared.lock().lanes = std::mem::take(&mut self.alone).into_iter().map(Lane::new).collect();
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
        let mut state = self.shared.lock();
        while state.queued >= MOST_QUEUED {
            state = self.shared.help_or_wait(state);
        }
        let empty = state.spare.pop().unwrap_or_else(|| Vec::with_capacity(BATCH));
        state.queue(lane, std::mem::replace(&mut self.filling[lane], empty));
        if state.another_pays() {
            state.called += 1;
            self.shared.work.notify_one();
        }
    }

    /// Waits until all packets are followed.
    fn finish(mut self) -> Vec<T> {
        for lane in 0..self.filling.len() {
            if !self.filling[lane].is_empty() {
                self.hand_over(lane);
            }
        }
        if !self.alone.is_empty() {
            return std::mem::take(&mut self.alone);
        }
        let mut state = self.shared.lock();
        while state.lanes.iter().any(Lane::has_work) {
            state = self.shared.help_or_wait(state);
        }
        let lanes = std::mem::take(&mut state.lanes);
        lanes.into_iter().filter_map(|lane| lane.tracker).collect()
    }
}

impl<T: Follow> Drop for Crew<'_, '_, T> {
    /// Lets the helpers go, also when reading failed or panicked.
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.work.notify_all();
    }
}

/// What all threads see.
struct Shared<T> {
    state: Mutex<State<T>>,
    /// Lanes have packets enough to wake a helper, or all is over.
    work: Condvar,
    /// A lane was given back.
    back: Condvar,
}

struct State<T> {
    lanes: Vec<Lane<T>>,
    /// Lanes that are here and have packets.
    ready: VecDeque<usize>,
    /// Batches in the queues of all lanes.
    queued: usize,
    /// Batches to be filled again.
    spare: Vec<Vec<Packet>>,
    /// Helpers that wait, and how many of them were woken and are not here yet.
    idle: usize,
    called: usize,
    /// The caller waits for a lane.
    wanted: bool,
    ended: bool,
    /// A helper panicked, with this.
    panic: Option<Box<dyn Any + Send>>,
}

struct Lane<T> {
    /// Absent while a thread has it.
    tracker: Option<T>,
    queue: Vec<Vec<Packet>>,
}

/// A lane that one thread has, with the batches that waited for it.
struct Taken<T> {
    lane: usize,
    tracker: T,
    batches: Vec<Vec<Packet>>,
}

impl<T> Lane<T> {
    fn new(tracker: T) -> Self {
        Lane { tracker: Some(tracker), queue: Vec::new() }
    }

    fn has_work(&self) -> bool {
        self.tracker.is_none() || !self.queue.is_empty()
    }
}

impl<T: Follow> Taken<T> {
    fn follow(&mut self) {
        self.batches.iter().for_each(|packets| self.tracker.packets(packets));
    }
}

impl<T> State<T> {
    fn queue(&mut self, lane: usize, batch: Vec<Packet>) {
        let here = &mut self.lanes[lane];
        let ready = here.queue.is_empty() && here.tracker.is_some();
        here.queue.push(batch);
        self.queued += 1;
        if ready {
            self.ready.push_back(lane);
        }
    }

    /// There is work for one more helper than are on their way.
    fn another_pays(&self) -> bool {
        self.idle > self.called
            && self.ready.len() > self.called
            && self.queued >= WORTH_WAKING * (self.called + 1)
    }

    fn take(&mut self) -> Option<Taken<T>> {
        let lane = self.ready.pop_front()?;
        let tracker = self.lanes[lane].tracker.take()?;
        let batches = std::mem::take(&mut self.lanes[lane].queue);
        self.queued -= batches.len();
        Some(Taken { lane, tracker, batches })
    }

    fn give_back(&mut self, taken: Taken<T>) {
        let lane = &mut self.lanes[taken.lane];
        lane.tracker = Some(taken.tracker);
        if !lane.queue.is_empty() {
            self.ready.push_back(taken.lane);
        }
        let room = MOST_QUEUED.saturating_sub(self.spare.len());
        self.spare.extend(taken.batches.into_iter().take(room).map(|mut batch| {
            batch.clear();
            batch
        }));
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        let state = State {
            lanes: Vec::new(),
            ready: VecDeque::new(),
            queued: 0,
            spare: Vec::new(),
            idle: 0,
            called: 0,
            wanted: false,
            ended: false,
            panic: None,
        };
        Shared { state: Mutex::new(state), work: Condvar::new(), back: Condvar::new() }
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Nothing is followed under the lock, so no panic leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Follow> Shared<T> {
    /// Follows what lanes have until all is over.
    fn help(&self) {
        let mut state = self.lock();
        loop {
            if let Some(mut taken) = state.take() {
                drop(state);
                let followed = panic::catch_unwind(AssertUnwindSafe(|| taken.follow()));
                state = self.lock();
                match followed {
                    Ok(()) => state.give_back(taken),
                    Err(payload) => state.panic = Some(payload),
                }
                if std::mem::take(&mut state.wanted) {
                    self.back.notify_one();
                }
            } else if state.ended {
                return;
            } else {
                state.idle += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                state.called = state.called.saturating_sub(1);
            }
        }
    }

    /// One step of the caller, which must not wait while a lane is free. Panics as a helper did.
    fn help_or_wait<'a>(&'a self, mut state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        if let Some(payload) = state.panic.take() {
            drop(state);
            panic::resume_unwind(payload);
        }
        let Some(mut taken) = state.take() else {
            state.wanted = true;
            return self.back.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        taken.follow();
        state = self.lock();
        state.give_back(taken);
        state
    }
}

#[cfg(test)]
mod tests;
