//! Packets of many conversations, held back until those of one can be followed together.
//!
//! A conversation's state is a few kilobytes. When thousands of them take turns, every packet would fetch
//! its own from memory; of some hundred thousand packets a dozen share one. Conversations do not look at each
//! other, so their packets may be followed out of turn.

pub(super) mod mix;
pub(super) mod packed;

use self::packed::Packets;
use crate::packet::Packet;
use crate::track::conversation::direction::Direction;
use crate::track::conversation::flow::Flow;
use crate::track::prefetch::prefetch;
use crate::track::Tracker;

/// Packets of each conversation that wait, on average.
const EACH: usize = 16;
/// Packets that wait at most in one capture, each in a cache line and eight bytes.
pub const MOST_WAITING: usize = 1 << 18;

/// Packets looked at together: what is asked of memory together comes together.
const AHEAD: usize = 16;
/// Steps from a packet to what its conversation keeps: the conversation, its senders, what these sent.
const LEVELS: usize = 3;

/// Conversations to every packet that waits, beyond which to sort is faster than to count.
const SPARSE: usize = 8;

#[derive(Default)]
pub struct Waiting {
    packets: Packets,
    /// In the order of the capture.
    turns: Vec<Turn>,
    /// The same in their own order, and by conversation where its next one goes: kept for their room.
    ordered: Vec<Turn>,
    places: Vec<u32>,
}

/// A packet that waits, ordered by conversation and, within one, as captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    flow: u32,
    /// Its number among those that wait, and in the last bit its side.
    at: u32,
}

impl Tracker {
    /// Numbers the packets' conversations at once, and follows the packets when enough wait.
    #[inline(never)]
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
                self.waiting.add(p, at.flow, u32::from(!at.forward));
                if self.waiting.packets.are(MOST_WAITING.min(EACH * self.flows.len())) {
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
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.order(self.flows.len());
        let chunk = |number: usize| waiting.ordered.chunks(AHEAD).nth(number).unwrap_or_default();
        // What a level asks for is here when the next level, some packets later, looks at it.
        for number in 0..waiting.ordered.len().div_ceil(AHEAD) + LEVELS {
            waiting.ask(&self.flows, chunk(number));
            dirs(&self.flows, chunk(number.wrapping_sub(1))).for_each(Direction::prefetch);
            dirs(&self.flows, chunk(number.wrapping_sub(2))).for_each(Direction::prefetch_sent);
            for turn in chunk(number.wrapping_sub(LEVELS)) {
                self.follow(&waiting.packet(turn), turn.flow, (turn.at & 1) as usize);
            }
        }
        waiting.clear();
        self.waiting = waiting;
    }
}

impl Waiting {
    #[inline]
    fn add(&mut self, p: &Packet, flow: u32, side: u32) {
        let at = (self.packets.len() as u32) << 1 | side;
        self.turns.push(Turn { flow, at });
        self.packets.add(p);
    }

    #[inline]
    fn packet(&self, turn: &Turn) -> Packet {
        self.packets.get(turn.at as usize >> 1)
    }

    /// Puts the turns in their order; there are so many conversations.
    fn order(&mut self, flows: usize) {
        let Waiting { turns, ordered, places, .. } = self;
        ordered.clear();
        if flows > SPARSE * turns.len() {
            ordered.extend_from_slice(turns);
            return ordered.sort_unstable();
        }
        places.clear();
        places.resize(flows, 0);
        turns.iter().for_each(|turn| places[turn.flow as usize] += 1);
        let mut before = 0;
        for place in places.iter_mut() {
            before += std::mem::replace(place, before);
        }
        ordered.resize(turns.len(), Turn::default());
        for turn in turns {
            let place = &mut places[turn.flow as usize];
            ordered[*place as usize] = *turn;
            *place += 1;
        }
    }

    fn clear(&mut self) {
        self.packets.clear();
        self.turns.clear();
    }

    /// Asks for the packets and conversations of some turns.
    fn ask(&self, flows: &[Box<Flow>], turns: &[Turn]) {
        turns.iter().for_each(|turn| self.packets.prefetch(turn.at as usize >> 1));
        turns.chunk_by(|a, b| a.flow == b.flow).for_each(|t| prefetch(&*flows[t[0].flow as usize]));
    }
}

/// Both directions of the conversations of some turns.
fn dirs<'a>(flows: &'a [Box<Flow>], turns: &'a [Turn]) -> impl Iterator<Item = &'a Direction> {
    turns.chunk_by(|a, b| a.flow == b.flow).flat_map(|t| &flows[t[0].flow as usize].dirs)
}

#[cfg(test)]
mod tests {
    use super::mix::CACHED;
    use super::*;
    use crate::packet::flag;
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

    #[test]
    fn turns_are_in_the_same_order_however_many_conversations_there_are() {
        let turn = |at: u32| Turn { flow: at.wrapping_mul(0x9e37_79b9) >> 24, at };
        let mut waiting = Waiting { turns: (0..5000).map(turn).collect(), ..Waiting::default() };
        waiting.order(256);
        let counted = waiting.ordered.clone();
        waiting.order(SPARSE * 5000 + 1);
        assert_eq!(counted, waiting.ordered);
        assert!(counted.is_sorted());
    }
}
