//! Packets far outside of what a conversation has in flight: injected, or the first ones of another
//! connection on the same ports, or the first ones after a gap in the capture. They move nothing until
//! others around them show which.

use super::direction::Direction;
use super::flow::{Ended, Flow};
use crate::packet::{flag, Packet};
use crate::track::rounds::rows::Rows;

/// Further ahead of the highest known number, or further behind what is acknowledged, no packet of the
/// connection lies unless the capture has a gap. Random numbers lie within by 1.6 %.
const AHEAD: i64 = 1 << 25;
/// So much is in flight at most where no ACK shows what is acknowledged.
const UNACKNOWLEDGED: i64 = 1 << 28;

/// Packets that agree with each other, of which one side's alone are proof.
const PROOF: usize = 4;

/// Packets that wait, by side.
pub type Held = Vec<(Packet, usize)>;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    Here,
    /// It and those that were held, from this frame on, go on after a gap in the capture.
    AfterGap(u64),
    /// It and those before it belong to another connection, see [`Flow::take_held`].
    Elsewhere,
}

impl Direction {
    /// The number, of this direction, lies far outside of it; backwards is no gap of the capture.
    #[inline]
    fn is_far(&self, raw: u32) -> bool {
        !self.space.is_near(raw, AHEAD as u32) && self.is_far_indeed(raw)
    }

    #[cold]
    fn is_far_indeed(&self, raw: u32) -> bool {
        if !self.space.started() {
            return false;
        }
        let (at, highest) = (self.space.unwrap(raw), self.space.highest());
        at > highest + AHEAD || at < self.acked.max(highest - UNACKNOWLEDGED) - AHEAD
    }

    pub(super) fn is_far_ahead(&self, raw: u32) -> bool {
        self.space.started() && self.space.unwrap(raw) > self.space.highest() + AHEAD
    }
}

impl Flow {
    #[inline]
    pub(in crate::track) fn is_stray(&self, p: &Packet, side: usize) -> bool {
        if p.flags & flag::SYN != 0 {
            return p.flags & flag::ACK != 0 && self.is_other_synack(p, side);
        }
        let far = self.dirs[side].is_far(p.seq);
        far || (p.flags & flag::ACK != 0 && self.dirs[side ^ 1].is_far(p.ack))
    }

    /// A SYN/ACK whose numbers are not those of this connection, as far as these are known.
    #[cold]
    fn is_other_synack(&self, p: &Packet, side: usize) -> bool {
        let (me, peer) = (&self.dirs[side], &self.dirs[side ^ 1]);
        let other = |dir: &Direction, known: bool, raw: u32, at: i64| {
            if known {
                dir.space.unwrap(raw) != at
            } else {
                dir.is_far(raw)
            }
        };
        let shown = [self.handshake.syn.is_some(), self.handshake.synack.is_some()];
        let knows = |side: usize| shown[side] || (side == 1 && self.handshake.simultaneous);
        other(me, knows(side), p.seq, 0) || other(peer, knows(side ^ 1), p.ack, 1)
    }

    #[cold]
    pub(super) fn stray(&mut self, p: &Packet, side: usize, rows: &mut Rows) -> Followed {
        if !self.hold(p, side) {
            return Followed::Here;
        }
        if !self.goes_on_after_gap() {
            return Followed::Elsewhere;
        }
        let held = self.take_held();
        held.iter().for_each(|(p, side)| self.skip_gap(p, *side));
        self.all(&held, rows);
        Followed::AfterGap(held.first().map_or(p.frame, |(first, _)| first.frame))
    }

    /// Keeps the packet until it is clear what it is; what was held before and does not agree was stray.
    /// True when those that are held prove each other.
    #[cold]
    pub(in crate::track) fn hold(&mut self, p: &Packet, side: usize) -> bool {
        if p.flags & flag::RST != 0 {
            self.dirs[side].totals.rarely().out_of_window += 1;
            return false;
        }
        let last = self.held.as_ref().and_then(|held| held.last());
        if last.is_some_and(|last| !agrees(last, p, side)) {
            self.forget_held();
        }
        let held = self.held.get_or_insert_default();
        let numbers = |p: &Packet, side: usize| (side, p.seq, p.ack, p.payload_len);
        if held.iter().any(|(q, s)| numbers(q, *s) == numbers(p, side)) {
            // The same one over and over is no proof.
            self.dirs[side].totals.rarely().out_of_window += 1;
            return false;
        }
        held.push((*p, side));
        held.len() >= PROOF || held.iter().any(|(_, s)| *s != side)
    }

    /// A packet of `side` lies where the connection is: what is held of that side does not. (After a gap the
    /// other side's answers to what was sent before it still come.)
    #[inline]
    pub(in crate::track) fn confirm(&mut self, side: usize) {
        if self.held.as_ref().is_some_and(|held| held.iter().any(|(_, s)| *s == side)) {
            self.forget_held();
        }
    }

    /// The packets that are held were stray.
    #[cold]
    pub(in crate::track) fn forget_held(&mut self) {
        for (_, side) in self.take_held() {
            self.dirs[side].totals.rarely().out_of_window += 1;
        }
    }

    pub fn take_held(&mut self) -> Held {
        self.held.take().map_or_else(Vec::new, |held| *held)
    }

    /// The held packets lie where this connection is, which went on after a SYN that was none of it.
    pub(in crate::track) fn fits(&self, held: &Held) -> bool {
        self.ended == Ended::Open
            && self.dirs.iter().all(|dir| dir.space.started())
            && held.iter().all(|(p, side)| !self.is_stray(p, *side))
    }

    /// The held packets come after a gap in the capture, which skipped numbers of one side; those of another
    /// connection have numbers of their own on both sides, or lie behind.
    pub(in crate::track) fn goes_on_after_gap(&self) -> bool {
        let Some((p, side)) = self.held.as_ref().and_then(|held| held.first()) else { return false };
        let (me, peer) = (&self.dirs[*side], &self.dirs[side ^ 1]);
        if !me.space.started() || !peer.space.started() {
            return false; // no more than a SYN so far
        }
        let acks = p.flags & flag::ACK != 0;
        match (me.is_far(p.seq), acks && peer.is_far(p.ack)) {
            (true, false) => acks && me.is_far_ahead(p.seq),
            (false, true) => peer.is_far_ahead(p.ack),
            _ => false,
        }
    }

    /// Follows a packet that is known to go on after a gap in the capture.
    #[cold]
    pub(in crate::track) fn after_gap(&mut self, p: &Packet, side: usize, rows: &mut Rows) {
        self.forget_held();
        self.skip_gap(p, side);
        self.all(&vec![(*p, side)], rows);
    }

    /// Puts both directions where the held packets are.
    pub(in crate::track) fn skip_gap(&mut self, p: &Packet, side: usize) {
        let skip = |dir: &mut Direction, raw: u32| dir.space.advance(raw, dir.space.unwrap(raw));
        skip(&mut self.dirs[side], p.seq);
        if p.flags & flag::ACK != 0 {
            skip(&mut self.dirs[side ^ 1], p.ack);
        }
    }
}

/// The packet lies near the last one that is held, in both directions as far as they show.
fn agrees((last, last_side): &(Packet, usize), p: &Packet, side: usize) -> bool {
    let near = |a: u32, b: u32| i64::from((a.wrapping_sub(b) as i32).unsigned_abs()) < AHEAD;
    let (seq, ack) = if *last_side == side { (last.seq, last.ack) } else { (last.ack, last.seq) };
    let acks = |q: &Packet| q.flags & flag::ACK != 0;
    match (acks(last), acks(p)) {
        (true, true) => near(p.seq, seq) && near(p.ack, ack),
        _ => *last_side == side && near(p.seq, seq),
    }
}
