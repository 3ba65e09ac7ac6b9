//! Two captures that saw the same conversations: matches their packets as both move on in time.

use super::clock::Bounds;
use super::key::Sighting;
use super::window::{Taken, Waiting, Window};

/// How long a packet may wait to be seen by the other capture.
pub const PATIENCE_NS: i64 = 3_000_000_000;

/// A packet seen this shortly before the other capture ended may have arrived after it.
const MARGIN_NS: i64 = 200_000_000;

/// When a capture ran, on its own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub first_ns: i64,
    pub last_ns: i64,
}

/// Two neighbors on a path; side 0 is the one with the lower number.
#[derive(Debug)]
pub struct Link {
    pub sources: [u16; 2],
    spans: [Span; 2],
    windows: [Window; 2],
    /// Clock of side 1 minus that of side 0, as far as it is known before packets are matched.
    pub rough_offset_ns: i64,
    pub bounds: Bounds,
}

/// A packet seen by both.
#[derive(Clone, Copy, Debug)]
pub struct Match {
    /// By side.
    pub seen: [Sighting; 2],
    /// The two may be different copies of the same bytes.
    pub ambiguous: bool,
}

/// What the sighting of a packet shows.
#[derive(Clone, Copy, Debug)]
pub enum Seen {
    /// Both sides saw it.
    Twice(Match),
    /// The other side saw the same bytes in another packet.
    OtherId,
    Once,
}

/// A packet that only one side saw while both ran.
#[derive(Clone, Copy, Debug)]
pub struct Missing {
    pub path: u32,
    /// Side that saw it.
    pub side: usize,
}

impl Link {
    pub fn new(sources: [u16; 2], spans: [Span; 2], rough_offset_ns: i64) -> Self {
        Link { sources, spans, windows: Default::default(), rough_offset_ns, bounds: Bounds::default() }
    }

    pub fn side(&self, source: u16) -> usize {
        usize::from(self.sources[1] == source)
    }

    /// A packet of one side: its other sighting, if that came before; else it waits. `keeps_ids`: see
    /// [`Window::take`].
    #[inline]
    pub fn see(&mut self, side: usize, key: u64, waiting: Waiting, keeps_ids: bool) -> Seen {
        let taken = self.windows[side ^ 1].take(key, waiting.seen.ip_id, keeps_ids);
        if let Taken::Found(other, ambiguous) = taken {
            let seen = if side == 0 { [waiting.seen, other.seen] } else { [other.seen, waiting.seen] };
            return Seen::Twice(Match { seen, ambiguous });
        }
        self.windows[side].push(key, waiting);
        if matches!(taken, Taken::OtherId) {
            Seen::OtherId
        } else {
            Seen::Once
        }
    }

    /// Gives up packets that the other side, which has come to `reached_ns` on its own clock (`None`:
    /// to its end), should have seen by now.
    pub fn expire(&mut self, side: usize, reached_ns: Option<i64>, mut missing: impl FnMut(Missing)) {
        let shift = if side == 0 { self.rough_offset_ns } else { self.rough_offset_ns.saturating_neg() };
        let horizon = match reached_ns {
            Some(ns) => ns.saturating_sub(shift).saturating_sub(PATIENCE_NS),
            None => i64::MAX,
        };
        let other = self.spans[side ^ 1];
        self.windows[side].expire(horizon, |waiting| {
            let there = waiting.seen.ts_ns.saturating_add(shift);
            if there >= other.first_ns && there <= other.last_ns.saturating_sub(MARGIN_NS) {
                missing(Missing { path: waiting.path, side });
            }
        });
    }
}
