//! Packets of many conversations, held back until those of one can be followed together.
//!
//! A conversation's state is a few kilobytes. When thousands of them take turns, every packet would fetch
//! its own from memory; of some ten thousand packets several share one. Conversations do not look at each
//! other, so their packets may be followed out of turn.

use super::direction::Direction;
use super::flow::Flow;
use super::prefetch::prefetch;
use super::Tracker;
use crate::packet::Packet;

/// Packets of each conversation that wait, on average.
const EACH: usize = 4;
/// Packets that wait at most in one capture (a [`Turn`] counts to 65,536).
pub const MOST_WAITING: usize = 1 << 16;

/// Packets looked at together: what is asked of memory together comes together.
const AHEAD: usize = 16;

#[derive(Default)]
pub struct Waiting {
    packets: Vec<Packet>,
    turns: Vec<Turn>,
}

/// A packet that waits, ordered by conversation and, within one, as captured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    flow: u32,
    at: u16,
    side: u8,
}

impl Tracker {
    /// Numbers the packets' conversations at once, and follows the packets when enough wait.
    pub(super) fn wait(&mut self, packets: &[Packet]) {
        let mut hashes = [0; AHEAD];
        for packets in packets.chunks(AHEAD) {
            for (p, hash) in packets.iter().zip(&mut hashes) {
                *hash = self.table.keys.hash(&p.key);
                self.table.keys.prefetch(*hash);
            }
            hashes[..packets.len()].iter().for_each(|&hash| self.table.keys.prefetch_key(hash));
            for (p, &hash) in packets.iter().zip(&hashes) {
                let at = self.intern(p, hash);
                let held = self.waiting.packets.len() as u16;
                self.waiting.turns.push(Turn { flow: at.flow, at: held, side: u8::from(!at.forward) });
                self.waiting.packets.push(*p);
                if self.waiting.packets.len() >= self.limits.waiting.min(EACH * self.flows.len()) {
                    self.flush();
                }
            }
        }
    }

    /// Follows the packets that wait; call it before looking at flows and rounds.
    pub fn flush(&mut self) {
        if self.waiting.packets.is_empty() {
            return;
        }
        let Waiting { mut packets, mut turns } = std::mem::take(&mut self.waiting);
        turns.sort_unstable();
        for turns in turns.chunks(AHEAD) {
            ask(&self.flows, &packets, turns);
            for turn in turns {
                self.follow(&packets[usize::from(turn.at)], turn.flow, usize::from(turn.side));
            }
        }
        turns.clear();
        packets.clear();
        self.waiting = Waiting { packets, turns };
    }
}

/// Asks for the packets and conversations of some turns, then for what lies behind these, level by level.
fn ask(flows: &[Flow], packets: &[Packet], turns: &[Turn]) {
    let dirs = || turns.chunk_by(|a, b| a.flow == b.flow).flat_map(|t| &flows[t[0].flow as usize].dirs);
    turns.iter().for_each(|turn| prefetch(&packets[usize::from(turn.at)]));
    turns.chunk_by(|a, b| a.flow == b.flow).for_each(|t| prefetch(&flows[t[0].flow as usize]));
    dirs().for_each(Direction::prefetch);
    dirs().for_each(Direction::prefetch_sent);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::flag;
    use crate::track::lanes::CACHED;
    use crate::track::testing::{packet, A, B};

    const MS: u64 = 1_000_000;

    /// Turn `n` of one conversation: a handshake, then a data packet and its ACK in turns.
    fn turn(n: u32, port: u16, frame: u64) -> Packet {
        let (syn, ack) = (flag::SYN, flag::ACK);
        let p = Packet { frame, ts_ns: (frame * MS) as i64, ..Packet::default() };
        let sent = 1001 + 1000 * (n / 2);
        let (from, p) = match n {
            0 => (A, Packet { flags: syn, seq: 1000, ..p }),
            1 => (B, Packet { flags: syn | ack, seq: 5000, ack: 1001, ..p }),
            n if n % 2 == 0 => (A, Packet { flags: ack, seq: sent, ack: 5001, payload_len: 1000, ..p }),
            _ => (B, Packet { flags: ack, seq: 5001, ack: sent + 1000, ..p }),
        };
        let mut key = packet(from).key;
        *(if from == A { &mut key.src_port } else { &mut key.dst_port }) = port;
        Packet { key, ..p }
    }

    fn follow(packets: &[Packet]) -> Tracker {
        let mut tracker = Tracker::default();
        // In pieces, so that some are followed at once and the others wait.
        packets.chunks(50).for_each(|p| tracker.packets(p));
        tracker
    }

    #[test]
    fn a_conversation_among_many_is_followed_as_if_it_were_alone() {
        let ports = 1000..1000 + 2 * CACHED as u16;
        let each = (0..20).flat_map(|n| ports.clone().map(move |port| (n, port)));
        let packets: Vec<Packet> = each.zip(1..).map(|((n, port), frame)| turn(n, port, frame)).collect();
        let mut tracker = follow(&packets);
        tracker.finish();
        for (flow, port) in ports.enumerate() {
            let own = |p: &&Packet| p.key.src_port == port || p.key.dst_port == port;
            let mut alone = follow(&packets.iter().filter(own).copied().collect::<Vec<_>>());
            alone.finish();
            alone.rounds.iter_mut().for_each(|row| row.flow = flow as u32);
            let rounds = tracker.rounds.iter().filter(|row| row.flow == flow as u32);
            assert!(alone.rounds.len() > 5);
            assert!(rounds.eq(alone.rounds.iter()), "port {port}");
        }
    }

    #[test]
    fn few_packets_wait() {
        let flows = 2 * CACHED as u16;
        let mut tracker = Tracker::default();
        for n in 0..100 {
            for port in 0..flows {
                tracker.packets(&[turn(n, port, u64::from(n) * u64::from(flows) + u64::from(port) + 1)]);
                assert!(tracker.waiting.packets.len() <= EACH * tracker.flows.len());
            }
        }
    }
}
