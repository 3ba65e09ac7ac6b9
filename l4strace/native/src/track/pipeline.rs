//! Reading and tracking in two stages: the caller reads and decodes, and a thread of its own follows the packets, in
//! their order. So what one tracker finds is found on any number of threads.
//!
//! Batches of packets go round: filled by the caller, followed by the thread, and back to be filled again. There are a
//! few, so that the caller waits while the thread is behind. Each side waits for the other only when it has no batch,
//! and then the other has one.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::thread::{self, Scope, ScopedJoinHandle};

use super::Tracker;
use crate::packet::Packet;

/// Packets that are followed (in some 5 ms) before the thread is started.
const SMALL: u64 = 1 << 15;

/// Packets that are handed over together: to wake a thread takes as long as to follow some fifty.
const BATCH: usize = 512;

/// Batches that there are, in 2 MB, which the caches hold.
const BATCHES: usize = 16;

/// How many threads read and follow a capture, and from which packet on.
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

/// Follows all packets that `feed` hands over.
pub fn follow<E>(
    threads: Threads,
    feed: impl FnOnce(&mut Pipeline<'_, '_>) -> Result<(), E>,
) -> Result<Tracker, E> {
    thread::scope(|scope| {
        let alone = if threads.most > 1 { threads.after } else { u64::MAX };
        let mut pipeline = Pipeline { scope, alone, stage: Stage::Here(Box::default()) };
        feed(&mut pipeline)?;
        Ok(pipeline.end())
    })
}

/// The caller's side.
pub struct Pipeline<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    /// Packets that the caller follows before a thread is started.
    alone: u64,
    stage: Stage<'scope>,
}

/// Where packets are followed.
enum Stage<'scope> {
    Here(Box<Tracker>),
    Beside(Beside<'scope, Tracker>),
}

impl Pipeline<'_, '_> {
    /// Takes packets in the order of the capture.
    pub fn packets(&mut self, packets: &[Packet]) {
        match &mut self.stage {
            Stage::Here(tracker) => {
                tracker.packets(packets);
                self.alone = self.alone.saturating_sub(packets.len() as u64);
                if self.alone == 0 {
                    self.start();
                }
            }
            Stage::Beside(beside) => beside.add(packets),
        }
    }

    #[cold]
    fn start(&mut self) {
        let Stage::Here(tracker) = &mut self.stage else { return };
        match Beside::start(self.scope, &mut **tracker) {
            Some(beside) => self.stage = Stage::Beside(beside),
            None => self.alone = u64::MAX, // the system refuses another thread
        }
    }

    /// The tracker after all packets.
    fn end(self) -> Tracker {
        match self.stage {
            Stage::Here(mut tracker) => {
                tracker.finish();
                *tracker
            }
            Stage::Beside(beside) => beside.end(),
        }
    }
}

/// What a thread follows packets with.
trait Follow: Default + Send {
    fn packets(&mut self, packets: &[Packet]);

    /// No more packets follow.
    fn finish(&mut self);
}

impl Follow for Tracker {
    fn packets(&mut self, packets: &[Packet]) {
        Tracker::packets(self, packets);
    }

    fn finish(&mut self) {
        Tracker::finish(self);
    }
}

/// The thread, and the batches on their way to it and back.
struct Beside<'scope, T> {
    filling: Vec<Packet>,
    full: SyncSender<Vec<Packet>>,
    followed: Receiver<Vec<Packet>>,
    thread: ScopedJoinHandle<'scope, T>,
}

impl<'scope, T: Follow + 'scope> Beside<'scope, T> {
    /// Takes over `tracker`, unless no thread can be started.
    fn start(scope: &'scope Scope<'scope, '_>, tracker: &mut T) -> Option<Self> {
        let (full, to_follow) = sync_channel::<Vec<Packet>>(BATCHES);
        let (back, followed) = sync_channel(BATCHES);
        (1..BATCHES).try_for_each(|_| back.send(Vec::new())).ok()?;
        let (give, take) = sync_channel::<T>(1);
        let work = move || {
            let mut tracker = take.recv().unwrap_or_default();
            for mut packets in to_follow {
                tracker.packets(&packets);
                packets.clear();
                let _ = back.send(packets); // the caller may wait for no more
            }
            tracker.finish();
            tracker
        };
        let thread = thread::Builder::new().name("l4strace-track".into()).spawn_scoped(scope, work).ok()?;
        give.send(std::mem::take(tracker)).ok()?;
        Some(Beside { filling: Vec::new(), full, followed, thread })
    }

    #[inline]
    fn add(&mut self, packets: &[Packet]) {
        self.filling.extend_from_slice(packets);
        if self.filling.len() >= BATCH {
            self.hand_over();
        }
    }

    /// After a panic of the thread nobody takes batches, nor gives them back: [`Beside::end`] passes it on.
    fn hand_over(&mut self) {
        let next = self.followed.recv().unwrap_or_default();
        let _ = self.full.send(std::mem::replace(&mut self.filling, next));
    }

    /// The tracker when all is followed. Panics as the thread did.
    fn end(mut self) -> T {
        self.hand_over();
        drop(self.full);
        self.thread.join().unwrap_or_else(|payload| resume_unwind(payload))
    }
}

#[cfg(test)]
mod tests;
