//! A clock of the capturing host that was set forward while a conversation went on. Nothing shows it in
//! the capture's own timestamps, where it looks like silence; the hosts' timestamps and what is in flight do.

use super::direction::Direction;
use super::flow::Flow;
use crate::packet::{flag, Packet};
use crate::track::rounds::rows::Rows;
use crate::track::sending::echo::Reference;

/// Pause of a conversation from which it is looked at.
pub const PAUSE_NS: i64 = 1_000_000_000;

/// Pause in which a sender with data in flight retransmits at least once: the first timeout is at most a
/// second (RFC 6298 section 2), doubled twice.
const RETRANSMITTED_BY_NS: i64 = 7_000_000_000;

/// Packets in flight of which delayed ACKs would have acknowledged some.
const SEVERAL: u32 = 4;

/// A pause that a host's timestamps did not see. Packets that the path held look the same: those that were
/// sent after it decide.
#[derive(Debug)]
pub struct Suspicion {
    side: usize,
    /// The host's clock before the pause.
    reference: Reference,
    ahead_ns: i64,
    at_ns: i64,
    /// Newest TSval of the other host before the pause: what echoes a newer one was sent after it.
    peer: Option<u32>,
}

impl Flow {
    /// The conversation paused until this packet: if the clock was set, what spans the step is not timed.
    #[cold]
    pub(in crate::track) fn paused(&mut self, p: &Packet, side: usize, before_ns: i64, rows: &mut Rows) {
        match (p.timestamps, self.dirs[side].echoes.reference()) {
            (Some((tsval, _)), Some(reference)) => {
                let Some(ahead_ns) = reference.stood_still_ns(tsval, p.ts_ns) else { return };
                let peer = self.dirs[side ^ 1].echoes.last();
                let suspicion = Suspicion { side, reference, ahead_ns, at_ns: p.ts_ns, peer };
                self.suspicion = Some(Box::new(suspicion));
            }
            _ => {
                let pause_ns = p.ts_ns - before_ns;
                if pause_ns <= RETRANSMITTED_BY_NS || !self.goes_on(p, side) {
                    return;
                }
                self.count_step(side, pause_ns);
            }
        }
        for side in 0..2 {
            self.dirs[side].echoes.forget();
            self.split_round(side, p, before_ns, rows);
        }
    }

    /// A packet that was sent after the pause, or comes long after it, decides a suspicion.
    #[cold]
    pub(in crate::track) fn look_at_clock(&mut self, p: &Packet, side: usize) {
        let (Some(s), Some((tsval, tsecr))) = (&self.suspicion, p.timestamps) else { return };
        if s.side != side {
            return;
        }
        let ahead_ns = s.ahead_ns;
        let stands = s.reference.ahead_ns(tsval, p.ts_ns) > ahead_ns as f64 / 2.0;
        let answers = s.peer.is_some_and(|peer| (tsecr.wrapping_sub(peer) as i32) > 0);
        let sent_after = answers || p.ts_ns.saturating_sub(s.at_ns) > PAUSE_NS;
        if stands && sent_after {
            self.count_step(side, ahead_ns);
        }
        if !stands || sent_after {
            self.suspicion = None;
        }
    }

    fn count_step(&mut self, side: usize, ahead_ns: i64) {
        let totals = &mut self.dirs[side].totals;
        totals.clock_steps += 1;
        let sum = &mut totals.rarely().clock_ahead_ns;
        *sum = sum.saturating_add(ahead_ns);
    }

    /// Several packets were in flight before the pause, of which nothing was retransmitted meanwhile: the
    /// packet acknowledges some, or sends what comes next. (After a single one the capture may have lost its
    /// ACK, and of a direction without any ACK in the capture nothing is known.)
    fn goes_on(&self, p: &Packet, side: usize) -> bool {
        let [me, peer] = [&self.dirs[side], &self.dirs[side ^ 1]];
        let flight = |dir: &Direction| {
            let segments = dir.sender.as_ref().map(|sender| &sender.segments);
            segments.filter(|s| s.inflight_packets() >= SEVERAL && dir.acked > 1).map(|s| (s.una, s.max))
        };
        let sends = p.payload_len > 0 && flight(me).is_some_and(|(_, max)| me.space.unwrap(p.seq) == max);
        let acknowledges = p.payload_len == 0
            && p.has(flag::ACK)
            && flight(peer).is_some_and(|(una, max)| (una + 1..=max).contains(&peer.space.unwrap(p.ack)));
        sends || acknowledges
    }
}
