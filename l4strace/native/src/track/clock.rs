//! A clock of the capturing host that was set forward while a conversation went on. Nothing shows it in
//! the capture's own timestamps, where it looks like silence; the hosts' timestamps and what is in flight do.

use super::direction::Direction;
use super::flow::Flow;
use super::round::RoundRow;
use crate::packet::{flag, Packet};

/// Pause of a conversation from which it is looked at.
pub const PAUSE_NS: i64 = 1_000_000_000;

/// Pause in which a sender with data in flight retransmits at least once: the first timeout is at most a
/// second (RFC 6298 section 2), doubled twice.
const RETRANSMITTED_BY_NS: i64 = 7_000_000_000;

/// Packets in flight of which delayed ACKs would have acknowledged some.
const SEVERAL: u32 = 4;

impl Flow {
    /// The conversation paused until this packet: if the clock was set, what spans the step is not timed.
    #[cold]
    pub(super) fn paused(&mut self, p: &Packet, side: usize, before_ns: i64, rows: &mut Vec<RoundRow>) {
        let Some(ahead_ns) = self.set_forward(p, side, p.ts_ns - before_ns) else { return };
        let totals = &mut self.dirs[side].totals;
        totals.clock_steps += 1;
        let sum = &mut totals.rarely().clock_ahead_ns;
        *sum = sum.saturating_add(ahead_ns);
        for side in 0..2 {
            self.dirs[side].echoes.forget();
            self.split_round(side, p, before_ns, rows);
        }
    }

    fn set_forward(&self, p: &Packet, side: usize, pause_ns: i64) -> Option<i64> {
        match p.timestamps {
            Some((tsval, _)) if self.dirs[side].echoes.shows_rate() => {
                self.dirs[side].echoes.ahead_ns(tsval, p.ts_ns)
            }
            _ => (pause_ns > RETRANSMITTED_BY_NS && self.goes_on(p, side)).then_some(pause_ns),
        }
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
