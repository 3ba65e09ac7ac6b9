//! Flow interning: a directional 5-tuple becomes a small number, whose bit 0 is the direction.
//!
//! `id = 2 * flow + (0 for client to server, 1 for server to client)`, so the peer of `id` is
//! `id ^ 1`. One probe per packet; the client is decided once, by the first packet, so that every
//! reader of the same capture gives the same numbers.

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
    /// Directional id plus one; 0 is free.
    id: u32,
}

/// What distinguishes a retransmitted SYN from a new conversation on the same ports.
#[derive(Clone, Copy, Debug, Default)]
struct Identity {
    initiator: Initiator,
    /// ISN of the client [0] and of the server [1].
    isn: [Option<u32>; 2],
    answered: bool,
}

/// Conversations seen so far. Grows with conversations only.
pub struct FlowTable {
    slots: Vec<Slot>,
    /// By directional id.
    keys: Vec<FlowKey>,
    identities: Vec<Identity>,
    seed: u64,
}

impl Default for FlowTable {
    fn default() -> Self {
        // A random seed, because the addresses in a capture are chosen by strangers.
        let seed = RandomState::new().build_hasher().finish();
        FlowTable { slots: vec![Slot::default(); 64], keys: Vec::new(), identities: Vec::new(), seed }
    }
}

impl FlowTable {
    /// Number and direction of the packet's conversation; `hash` is that of its key.
    #[inline]
    pub fn intern(&mut self, packet: &Packet, hash: u64) -> Interned {
        match self.find(&packet.key, hash) {
            Some(id) if packet.flags & flag::SYN == 0 => seen(id),
            Some(id) => self.syn(id, packet),
            None => self.insert(packet),
        }
    }

    pub fn len(&self) -> usize {
        self.identities.len()
    }

    pub fn is_empty(&self) -> bool {
        self.identities.is_empty()
    }

    pub fn initiator(&self, flow: u32) -> Initiator {
        self.identities[flow as usize].initiator
    }

    /// ISN of the client, where its SYN or the answer to it was seen.
    pub fn client_isn(&self, flow: u32) -> Option<u32> {
        self.identities[flow as usize].isn[0]
    }

    /// The key in the direction client to server.
    pub fn key(&self, flow: u32) -> &FlowKey {
        &self.keys[2 * flow as usize]
    }

    /// A SYN on known ports: a repetition, the other half of a handshake, or a new conversation.
    fn syn(&mut self, id: u32, packet: &Packet) -> Interned {
        let identity = &mut self.identities[(id >> 1) as usize];
        let side = (id & 1) as usize;
        if packet.has(flag::ACK) {
            identity.answered = true;
            identity.isn[side].get_or_insert(packet.seq);
            // The SYN itself may come late out of a capture with several queues.
            identity.isn[side ^ 1].get_or_insert(packet.ack.wrapping_sub(1));
            return seen(id);
        }
        let simultaneous = identity.isn[side ^ 1].is_some() && !identity.answered;
        match identity.isn[side] {
            Some(isn) if isn == packet.seq => seen(id),
            None if simultaneous => {
                identity.isn[side] = Some(packet.seq);
                seen(id)
            }
            // A SYN is retransmitted with the same ISN, so this one opens another connection.
            _ => self.insert(packet),
        }
    }

    fn insert(&mut self, packet: &Packet) -> Interned {
        if (self.keys.len() + 2) * 2 > self.slots.len() {
            self.grow();
        }
        let (forward, identity) = identify(packet);
        let flow = self.identities.len() as u32;
        self.identities.push(identity);
        let key = if forward { packet.key } else { packet.key.reversed() };
        self.keys.extend([key, key.reversed()]);
        self.put(2 * flow);
        self.put(2 * flow + 1);
        Interned { flow, forward, new: true }
    }

    /// Points the slot of the id's key at the id, taking it from an earlier conversation if need be.
    fn put(&mut self, id: u32) {
        let key = self.keys[id as usize];
        let hash = self.hash(&key);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            let same =
                slot.id != 0 && slot.tag == (hash >> 32) as u32 && self.keys[slot.id as usize - 1] == key;
            if slot.id == 0 || same {
                self.slots[at] = Slot { tag: (hash >> 32) as u32, id: id + 1 };
                return;
            }
            at = (at + 1) & mask;
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
        while self.slots[at].id != 0 && self.slots[at].tag != (hash >> 32) as u32 {
            at = (at + 1) & mask;
        }
        if let Some(key) = self.keys.get((self.slots[at].id as usize).wrapping_sub(1)) {
            prefetch(key);
        }
    }

    #[inline]
    fn find(&self, key: &FlowKey, hash: u64) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.id == 0 {
                return None;
            }
            if slot.tag == (hash >> 32) as u32 && self.keys[slot.id as usize - 1] == *key {
                return Some(slot.id - 1);
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        self.slots = vec![Slot::default(); self.slots.len() * 2];
        for id in 0..self.keys.len() as u32 {
            self.put(id);
        }
    }

    #[inline]
    pub fn hash(&self, key: &FlowKey) -> u64 {
        let word = |a: &[u8; 16], i: usize| u64::from_ne_bytes(a[8 * i..8 * i + 8].try_into().unwrap());
        let ports = (u64::from(key.src_port) << 16) | u64::from(key.dst_port);
        let a = fold(word(&key.src, 0) ^ self.seed, word(&key.src, 1) ^ 0x9e37_79b9_7f4a_7c15);
        let b = fold(word(&key.dst, 0) ^ a, word(&key.dst, 1) ^ 0xc2b2_ae3d_27d4_eb4f);
        fold(b ^ ports, self.seed ^ 0x1656_67b1_9e37_79f9)
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
fn identify(packet: &Packet) -> (bool, Identity) {
    let mut identity = Identity::default();
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
