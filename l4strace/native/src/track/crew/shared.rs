//! Lanes with their queues, where the caller and its helpers meet.
//!
//! Nothing can wait in a circle. Helpers wait only for lanes with packets, never for room. The caller waits
//! only when its queues are full (or all is read) and every lane with packets is with a helper, which gives it
//! back without waiting for anything; while a lane is free, the caller takes it itself. So one thread is
//! enough, a helper that the system refuses to start is one fewer, and one that sleeps while a few packets
//! wait keeps nobody waiting.
//!
//! `l4strace/native/loom` tries that in every order of the caller and one helper, and in many of two.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::PoisonError;

use super::sync::{Condvar, Mutex, MutexGuard};
use crate::packet::Packet;

/// Packets that are handed over together: a lock and a wake-up cost as much as following some ten.
pub const BATCH: usize = 64;

/// When the caller waits and when helpers are woken, in batches.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// That wait at most: 2 MB, which the caches hold.
    pub most_queued: usize,
    /// For every helper that is woken: to wake it takes longer than to follow some of them.
    pub worth_waking: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { most_queued: 128, worth_waking: 16 }
    }
}

/// What follows the packets of one lane.
pub trait Follow: Send {
    fn packets(&mut self, packets: &[Packet]);

    /// It is faster with several packets at once, for now.
    fn gathers(&self) -> bool;

    /// No more packets follow.
    fn finish(&mut self);
}

/// What all threads see.
pub struct Shared<T> {
    pace: Pace,
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
    fn another_pays(&self, worth_waking: usize) -> bool {
        self.idle > self.called
            && self.ready.len() > self.called
            && self.queued >= worth_waking * (self.called + 1)
    }

    fn take(&mut self) -> Option<Taken<T>> {
        let lane = self.ready.pop_front()?;
        let tracker = self.lanes[lane].tracker.take()?;
        let batches = std::mem::take(&mut self.lanes[lane].queue);
        self.queued -= batches.len();
        Some(Taken { lane, tracker, batches })
    }

    fn give_back(&mut self, taken: Taken<T>, most_spare: usize) {
        let lane = &mut self.lanes[taken.lane];
        lane.tracker = Some(taken.tracker);
        if !lane.queue.is_empty() {
            self.ready.push_back(taken.lane);
        }
        let room = most_spare.saturating_sub(self.spare.len());
        self.spare.extend(taken.batches.into_iter().take(room).map(|mut batch| {
            batch.clear();
            batch
        }));
    }
}

impl<T: Follow> Shared<T> {
    pub fn new(pace: Pace) -> Self {
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
        Shared { pace, state: Mutex::new(state), work: Condvar::new(), back: Condvar::new() }
    }

    /// Lanes are shared from here on.
    pub fn begin(&self, lanes: Vec<T>) {
        self.lock().lanes = lanes.into_iter().map(Lane::new).collect();
    }

    /// Queues the packets of a lane, and leaves an empty batch for the next ones. The caller's.
    pub fn hand_over(&self, lane: usize, filled: &mut Vec<Packet>) {
        let mut state = self.lock();
        while state.queued >= self.pace.most_queued {
            state = self.help_or_wait(state);
        }
        let empty = state.spare.pop().unwrap_or_else(|| Vec::with_capacity(BATCH));
        state.queue(lane, std::mem::replace(filled, empty));
        if state.another_pays(self.pace.worth_waking) {
            state.called += 1;
            self.work.notify_one();
        }
    }

    /// The lanes, once all that was queued is followed. The caller's.
    pub fn finish(&self) -> Vec<T> {
        let mut state = self.lock();
        while state.lanes.iter().any(Lane::has_work) {
            state = self.help_or_wait(state);
        }
        let lanes = std::mem::take(&mut state.lanes);
        lanes.into_iter().filter_map(|lane| lane.tracker).collect()
    }

    /// Lets the helpers go.
    pub fn end(&self) {
        self.lock().ended = true;
        self.work.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Nothing is followed under the lock, so no panic leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows what lanes have until all is over.
    pub fn help(&self) {
        let mut state = self.lock();
        loop {
            if let Some(mut taken) = state.take() {
                drop(state);
                let followed = panic::catch_unwind(AssertUnwindSafe(|| taken.follow()));
                state = self.lock();
                match followed {
                    Ok(()) => state.give_back(taken, self.pace.most_queued),
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
        state.give_back(taken, self.pace.most_queued);
        state
    }
}
