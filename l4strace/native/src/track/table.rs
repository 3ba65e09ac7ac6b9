//! Flow interning: a directional 5-tuple of one network becomes a small number, whose bit 0 is the direction.
//!
//! `id = 2 * flow + (0 for client to server, 1 for server to client)`, so the peer of `id` is
//! `id ^ 1`. One probe per packet; the client is decided once, by the first packet, so that every
//! reader of the same capture gives the same numbers.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use super::prefetch::prefetch;
use crate::packet::{flag, FlowKey, Packet};

/// How the client was identified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Initiator {
    Syn,
    SynAck,
    /// Mid-stream: the lower port serves.
    #[default]
    Port,
}

/// What the table holds about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interned {
    pub flow: u32,
    pub forward: bool,
    /// First packet of the conversation.
    pub new: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    tag: u32,
    /// Number of the entry from 1; 0 is free.
    entry: u32,
}

/// One key and the directional id that its packets have now.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: FlowKey,
    id: u32,
}

/// One conversation: its key in the direction client to server, and what distinguishes a retransmitted
/// SYN from a new conversation on the same ports.
#[derive(Clone, Copy, Debug, Default)]
struct Conversation {
    key: FlowKey,
    initiator: Initiator,
    /// ISN of the client [0] and of the server [1].
    isn: [Option<u32>; 2],
    /// First number known of each side: its ISN, its first packet's or what the peer acknowledged first.
    at: [Option<u32>; 2],
    answered: bool,
}

/// How far two packets of one conversation may lie apart that two networks show at the same time.
const NEAR: u32 = 1 << 24;

fn is_near(at: Option<u32>, raw: u32) -> bool {
    at.is_some_and(|at| (raw.wrapping_sub(at) as i32).unsigned_abs() < NEAR)
}

/// Conversations seen so far. Grows with conversations only.
pub struct FlowTable {
    slots: Vec<Slot>,
    entries: Vec<Entry>,
    conversations: Vec<Conversation>,
    /// Latest conversation between two ends, whatever the network; kept from the first packet that
    /// names a network.
    ends: Option<HashMap<FlowKey, u32>>,
    seed: u64,
}

impl Default for FlowTable {
    fn default() -> Self {
        // A random seed, because the addresses in a capture are chosen by strangers.
        let seed = RandomState::new().build_hasher().finish();
        FlowTable {
            slots: vec![Slot::default(); 64],
            entries: Vec::new(),
            conversations: Vec::new(),
            ends: None,
            seed,
        }
    }
}

impl FlowTable {
    /// Number and direction of the packet's conversation; `hash` is that of its key.
    #[inline]
    pub fn intern(&mut self, packet: &Packet, hash: u64) -> Interned {
        match self.find(&packet.key, hash) {
            Some(id) if packet.flags & flag::SYN == 0 => seen(id),
            Some(id) => self.syn(id, packet),
            None => self.unknown(packet),
        }
    }

    pub fn len(&self) -> usize {
        self.conversations.len()
    }

    pub fn is_empty(&self) -> bool {
        self.conversations.is_empty()
    }

    pub fn initiator(&self, flow: u32) -> Initiator {
        self.conversations[flow as usize].initiator
    }

    /// ISN of the client, where its SYN or the answer to it was seen.
    pub fn client_isn(&self, flow: u32) -> Option<u32> {
        self.conversations[flow as usize].isn[0]
    }

    /// The key in the direction client to server.
    pub fn key(&self, flow: u32) -> &FlowKey {
        &self.conversations[flow as usize].key
    }

    /// A SYN on known ports: a repetition, the other half of a handshake, or a new conversation.
    fn syn(&mut self, id: u32, packet: &Packet) -> Interned {
        let known = &mut self.conversations[(id >> 1) as usize];
        let side = (id & 1) as usize;
        if packet.has(flag::ACK) {
            if !known.may_answer(packet, side) {
                return self.insert(packet);
            }
            known.answered = true;
            known.isn[side].get_or_insert(packet.seq);
            // The SYN itself may come late out of a capture with several queues.
            known.isn[side ^ 1].get_or_insert(packet.ack.wrapping_sub(1));
            known.at = known.isn;
            return seen(id);
        }
        let simultaneous = known.isn[side ^ 1].is_some() && !known.answered;
        match known.isn[side] {
            Some(isn) if isn == packet.seq => seen(id),
            None if simultaneous => {
                known.isn[side] = Some(packet.seq);
                known.at[side] = Some(packet.seq);
                seen(id)
            }
            // A SYN is retransmitted with the same ISN, so this one opens another connection.
            _ => self.insert(packet),
        }
    }

    /// A key that was not seen before: a new conversation, or one that another network shows as well.
    fn unknown(&mut self, packet: &Packet) -> Interned {
        if self.ends.is_none() && !packet.key.network.is_plain() {
            let flows = self.conversations.iter().zip(0..);
            self.ends = Some(flows.map(|(known, flow)| (known.key.ends(), flow)).collect());
        }
        match self.elsewhere(packet) {
            Some(id) => {
                self.put(packet.key, id);
                self.put(packet.key.reversed(), id ^ 1);
                if packet.flags & flag::SYN != 0 {
                    self.syn(id, packet)
                } else {
                    seen(id)
                }
            }
            None => self.insert(packet),
        }
    }

    /// The conversation of another network that the packet belongs to: a host shows it on a tunnel's
    /// interface and on that beneath, a router in two VLANs, and some send each direction in another one.
    fn elsewhere(&self, packet: &Packet) -> Option<u32> {
        let flow = *self.ends.as_ref()?.get(&packet.key.ends())?;
        let known = &self.conversations[flow as usize];
        let side = usize::from((packet.key.src, packet.key.src_port) != (known.key.src, known.key.src_port));
        known.holds(packet, side).then_some(2 * flow + side as u32)
    }

    fn insert(&mut self, packet: &Packet) -> Interned {
        let (forward, conversation) = identify(packet);
        let flow = self.conversations.len() as u32;
        self.conversations.push(conversation);
        if let Some(ends) = &mut self.ends {
            ends.insert(conversation.key.ends(), flow);
        }
        self.put(conversation.key, 2 * flow);
        self.put(conversation.key.reversed(), 2 * flow + 1);
        Interned { flow, forward, new: true }
    }

    /// From now on packets of `key` have this id.
    fn put(&mut self, key: FlowKey, id: u32) {
        if (self.entries.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let hash = self.hash(&key);
        match self.slot(&key, hash) {
            Ok(entry) => self.entries[entry].id = id,
            Err(free) => {
                self.entries.push(Entry { key, id });
                self.slots[free] = Slot { tag: (hash >> 32) as u32, entry: self.entries.len() as u32 };
            }
        }
    }

    /// Asks for the slot of a hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        prefetch(&self.slots[hash as usize & (self.slots.len() - 1)]);
    }

    /// Asks for the key that a hash most likely means, once its slot is here.
    #[inline]
    pub fn prefetch_key(&self, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].entry != 0 && self.slots[at].tag != (hash >> 32) as u32 {
            at = (at + 1) & mask;
        }
        if let Some(entry) = self.entries.get((self.slots[at].entry as usize).wrapping_sub(1)) {
            prefetch(entry);
        }
    }

    #[inline]
    fn find(&self, key: &FlowKey, hash: u64) -> Option<u32> {
        self.slot(key, hash).ok().map(|entry| self.entries[entry].id)
    }

    /// The key's entry, or the free slot where it would stand.
    #[inline]
    fn slot(&self, key: &FlowKey, hash: u64) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.entry == 0 {
                return Err(at);
            }
            if slot.tag == (hash >> 32) as u32 && self.entries[slot.entry as usize - 1].key == *key {
                return Ok(slot.entry as usize - 1);
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        self.slots = vec![Slot::default(); self.slots.len() * 2];
        for (entry, number) in self.entries.iter().zip(1..) {
            let hash = self.hash(&entry.key);
            if let Err(free) = self.slot(&entry.key, hash) {
                self.slots[free] = Slot { tag: (hash >> 32) as u32, entry: number };
            }
        }
    }

    #[inline]
    pub fn hash(&self, key: &FlowKey) -> u64 {
        let word = |a: &[u8; 16], i: usize| u64::from_ne_bytes(a[8 * i..8 * i + 8].try_into().unwrap());
        let ports = (u64::from(key.src_port) << 16) | u64::from(key.dst_port);
        let rest = u64::from(key.network.number()) << 32 | ports;
        let a = fold(word(&key.src, 0) ^ self.seed, word(&key.src, 1) ^ 0x9e37_79b9_7f4a_7c15);
        let b = fold(word(&key.dst, 0) ^ a, word(&key.dst, 1) ^ 0xc2b2_ae3d_27d4_eb4f);
        fold(b ^ rest, self.seed ^ 0x1656_67b1_9e37_79f9)
    }
}

impl Conversation {
    /// A SYN/ACK of `side`: its numbers are those of this conversation, as far as they are known.
    fn may_answer(&self, packet: &Packet, side: usize) -> bool {
        match (self.isn[side], self.isn[side ^ 1]) {
            (Some(isn), _) if isn != packet.seq => false,
            (None, None) => self.at[side].is_none() || is_near(self.at[side], packet.seq),
            _ => true,
        }
    }

    /// The packet of `side` stands where this conversation does.
    fn holds(&self, packet: &Packet, side: usize) -> bool {
        match (packet.has(flag::SYN), packet.has(flag::ACK)) {
            (true, false) => self.isn[side] == Some(packet.seq),
            (true, true) => self.isn[side ^ 1] == Some(packet.ack.wrapping_sub(1)),
            _ => is_near(self.at[side], packet.seq) && is_near(self.at[side ^ 1], packet.ack),
        }
    }
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn seen(id: u32) -> Interned {
    Interned { flow: id >> 1, forward: id & 1 == 0, new: false }
}

/// Who the client of a conversation is, from its first packet.
fn identify(packet: &Packet) -> (bool, Conversation) {
    let mut identity = Conversation::default();
    let forward = match (packet.has(flag::SYN), packet.has(flag::ACK)) {
        (true, false) => {
            identity.initiator = Initiator::Syn;
            identity.isn[0] = Some(packet.seq);
            true
        }
        (true, true) => {
            identity.initiator = Initiator::SynAck;
            identity.isn = [Some(packet.ack.wrapping_sub(1)), Some(packet.seq)];
            identity.answered = true;
            false
        }
        _ => {
            let (from, to) = (packet.key.src_port, packet.key.dst_port);
            from > to || (from == to && packet.key.src < packet.key.dst)
        }
    };
    let side = usize::from(!forward);
    identity.key = if forward { packet.key } else { packet.key.reversed() };
    identity.at = identity.isn;
    identity.at[side] = Some(packet.seq);
    if packet.has(flag::ACK) {
        identity.at[side ^ 1].get_or_insert(packet.ack);
    }
    (forward, identity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::testing::{packet, A, B};

    fn intern(table: &mut FlowTable, p: &Packet) -> Interned {
        table.intern(p, table.hash(&p.key))
    }

    fn syn(from: u8, seq: u32) -> Packet {
        Packet { flags: flag::SYN, seq, ..packet(from) }
    }

    #[test]
    fn both_directions_are_one_flow() {
        let mut table = FlowTable::default();
        let first = intern(&mut table, &syn(A, 5));
        assert_eq!(first, Interned { flow: 0, forward: true, new: true });
        let back = intern(&mut table, &Packet { flags: flag::SYN | flag::ACK, seq: 9, ack: 6, ..packet(B) });
        assert_eq!(back, Interned { flow: 0, forward: false, new: false });
        assert_eq!(table.initiator(0), Initiator::Syn);
    }

    #[test]
    fn a_syn_with_another_isn_is_a_new_conversation() {
        let mut table = FlowTable::default();
        intern(&mut table, &syn(A, 5));
        assert!(!intern(&mut table, &syn(A, 5)).new);
        intern(&mut table, &Packet { flags: flag::SYN | flag::ACK, seq: 9, ack: 6, ..packet(B) });
        let again = intern(&mut table, &syn(A, 77));
        assert_eq!(again, Interned { flow: 1, forward: true, new: true });
        assert_eq!(intern(&mut table, &Packet { flags: flag::ACK, ..packet(B) }).flow, 1);
    }

    #[test]
    fn a_synack_of_another_connection_is_a_new_conversation() {
        let mut table = FlowTable::default();
        let synack = |seq, ack| Packet { flags: flag::SYN | flag::ACK, seq, ack, ..packet(B) };
        intern(&mut table, &syn(A, 5));
        intern(&mut table, &synack(9, 6));
        assert!(!intern(&mut table, &synack(9, 6)).new);
        assert!(intern(&mut table, &synack(900, 7000)).new);
    }

    fn in_vlan(id: u16, p: Packet) -> Packet {
        let key = FlowKey { network: p.key.network.in_vlan(id), ..p.key };
        Packet { key, ..p }
    }

    #[test]
    fn the_same_ends_in_two_networks_are_two_conversations() {
        let mut table = FlowTable::default();
        let data = |seq, ack| Packet { flags: flag::ACK, seq, ack, ..packet(A) };
        assert_eq!(intern(&mut table, &syn(A, 5)).flow, 0);
        assert_eq!(intern(&mut table, &in_vlan(10, syn(A, 1 << 30))).flow, 1);
        assert_eq!(intern(&mut table, &in_vlan(20, data(1 << 29, 1 << 28))).flow, 2);
        assert_eq!(intern(&mut table, &in_vlan(10, data(6, 9))).flow, 1);
        assert_eq!(intern(&mut table, &data(6, 9)).flow, 0);
        assert_ne!(table.key(0), table.key(1));
    }

    #[test]
    fn one_conversation_that_two_networks_show_is_one() {
        let mut table = FlowTable::default();
        intern(&mut table, &syn(A, 5));
        assert_eq!(intern(&mut table, &in_vlan(10, syn(A, 5))).flow, 0);
        // Each direction in a network of its own.
        let synack = Packet { flags: flag::SYN | flag::ACK, seq: 9, ack: 6, ..packet(B) };
        let back = intern(&mut table, &in_vlan(20, synack));
        assert_eq!(back, Interned { flow: 0, forward: false, new: false });
        let data = Packet { flags: flag::ACK, seq: 6, ack: 10, ..packet(A) };
        assert_eq!(intern(&mut table, &in_vlan(30, data)), Interned { flow: 0, forward: true, new: false });
    }

    #[test]
    fn two_syns_crossing_are_one_conversation() {
        let mut table = FlowTable::default();
        intern(&mut table, &syn(A, 5));
        assert_eq!(intern(&mut table, &syn(B, 9)), Interned { flow: 0, forward: false, new: false });
    }

    #[test]
    fn the_lower_port_serves_mid_stream() {
        let mut table = FlowTable::default();
        let from_server = intern(&mut table, &Packet { flags: flag::ACK, ..packet(B) });
        assert!(!from_server.forward);
    }

    #[test]
    fn many_flows_keep_their_numbers() {
        let mut table = FlowTable::default();
        for port in 1000..9000u16 {
            let mut p = syn(A, 1);
            p.key.src_port = port;
            assert_eq!(intern(&mut table, &p).flow, u32::from(port) - 1000);
        }
        let mut p = packet(A);
        p.key.src_port = 1234;
        assert_eq!(intern(&mut table, &p).flow, 234);
    }
}
