//! Flow interning: a directional 5-tuple of one network becomes a small number, whose bit 0 is the direction.
//!
//! `id = 2 * flow + (0 for client to server, 1 for server to client)`, so the peer of `id` is
//! `id ^ 1`. One probe per packet; the client is decided once, by the first packet, so that every
//! reader of the same capture gives the same numbers.

pub(super) mod fold;
pub(super) mod keys;
pub(super) mod retrace;
pub(super) mod unify;

use std::collections::HashMap;

use self::keys::Keys;
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

impl Interned {
    /// Number and direction as one.
    pub fn id(self) -> u32 {
        2 * self.flow + u32::from(!self.forward)
    }
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
    /// The conversation whose ports a SYN of this one took.
    before: Option<u32>,
}

/// How far two packets of one conversation may lie apart that two networks show at the same time.
const NEAR: u32 = 1 << 24;

fn is_near(at: Option<u32>, raw: u32) -> bool {
    at.is_some_and(|at| (raw.wrapping_sub(at) as i32).unsigned_abs() < NEAR)
}

/// Conversations seen so far. Grows with conversations only.
#[derive(Default)]
pub struct FlowTable {
    pub keys: Keys,
    conversations: Vec<Conversation>,
    /// Latest conversation between two ends, whatever the network; kept from the first packet that
    /// names a network.
    ends: Option<HashMap<FlowKey, u32>>,
}

impl FlowTable {
    /// Number and direction of the packet's conversation; `hash` is that of its key.
    #[inline]
    pub fn intern(&mut self, packet: &Packet, hash: u64) -> Interned {
        let at = match self.keys.find(&packet.key, hash) {
            Some(id) if packet.flags & flag::SYN == 0 => seen(id),
            Some(id) => self.syn(id, packet),
            None => self.unknown(packet),
        };
        self.keys.note(&packet.key, at.id());
        at
    }

    /// The id of [`FlowTable::intern`] where the packet follows one of its conversation.
    #[inline(always)]
    pub fn again(&self, packet: &Packet) -> Option<u32> {
        if packet.flags & flag::SYN != 0 {
            return None;
        }
        self.keys.again(&packet.key)
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
        if self.is_of(id, packet) {
            seen(id)
        } else {
            self.insert(packet)
        }
    }

    /// The SYN or SYN/ACK belongs to the conversation, which then knows its numbers.
    fn is_of(&mut self, id: u32, packet: &Packet) -> bool {
        let known = &mut self.conversations[(id >> 1) as usize];
        let side = (id & 1) as usize;
        if packet.has(flag::ACK) {
            // One that answers another SYN is injected, or of a connection whose SYN the capture lacks:
            // what follows shows it (see `strays`).
            if known.may_answer(packet, side) {
                known.answered = true;
                known.isn[side].get_or_insert(packet.seq);
                // The SYN itself may come late out of a capture with several queues.
                known.isn[side ^ 1].get_or_insert(packet.ack.wrapping_sub(1));
                known.at = known.isn;
            }
            return true;
        }
        let simultaneous = known.isn[side ^ 1].is_some() && !known.answered;
        if known.isn[side].is_none() && simultaneous {
            known.isn[side] = Some(packet.seq);
            known.at[side] = Some(packet.seq);
        }
        // A SYN is retransmitted with the same ISN; another one opens another connection.
        known.isn[side] == Some(packet.seq)
    }

    /// The packet begins a conversation, whatever the table holds.
    pub fn begin(&mut self, packet: &Packet) -> Interned {
        match self.keys.find(&packet.key, self.keys.hash(&packet.key)) {
            Some(id) if packet.flags & flag::SYN == 0 => self.restart(id >> 1, packet, (id & 1) as usize),
            _ => self.insert(packet),
        }
    }

    /// The packet's conversation, if it is one of the table's.
    pub fn known(&mut self, packet: &Packet) -> Option<Interned> {
        let id = match self.keys.find(&packet.key, self.keys.hash(&packet.key)) {
            Some(id) => id,
            None => self.join(packet)?,
        };
        if packet.flags & flag::SYN != 0 && !self.is_of(id, packet) {
            return None;
        }
        Some(seen(id))
    }

    /// The packet begins a conversation on ports that are known, without a SYN: client and server stay.
    pub fn restart(&mut self, flow: u32, packet: &Packet, side: usize) -> Interned {
        let key = self.conversations[flow as usize].key;
        let at = [packet.seq, packet.ack];
        let at = if side == 0 { at } else { [at[1], at[0]] }.map(Some);
        let new = self.conversations.len() as u32;
        self.conversations.push(Conversation { key, at, ..Conversation::default() });
        self.resume(new, flow);
        Interned { flow: new, forward: side == 0, new: true }
    }

    /// The ports that `flow` has are those of `heir`.
    pub fn resume(&mut self, heir: u32, flow: u32) {
        let key = self.conversations[flow as usize].key;
        for (key, id) in [(key, 2 * flow), (key.reversed(), 2 * flow + 1)] {
            // A SYN that came since may have taken the ports already.
            if self.keys.find(&key, self.keys.hash(&key)) == Some(id) {
                self.keys.put(key, 2 * heir + (id & 1));
            }
        }
    }

    /// The conversation whose ports a SYN of `flow` took, with the same client.
    pub fn before(&self, flow: u32) -> Option<u32> {
        self.conversations[flow as usize].before
    }

    /// A key that was not seen before: a new conversation, or one that another network shows as well.
    fn unknown(&mut self, packet: &Packet) -> Interned {
        match self.join(packet) {
            Some(id) if packet.flags & flag::SYN == 0 => seen(id),
            Some(id) => self.syn(id, packet),
            None => self.insert(packet),
        }
    }

    /// Adds the packet's key to the conversation that another network shows.
    fn join(&mut self, packet: &Packet) -> Option<u32> {
        if self.ends.is_none() && !packet.key.network.is_plain() {
            let flows = self.conversations.iter().zip(0..);
            self.ends = Some(flows.map(|(known, flow)| (known.key.ends(), flow)).collect());
        }
        let id = self.elsewhere(packet)?;
        self.keys.put(packet.key, id);
        self.keys.put(packet.key.reversed(), id ^ 1);
        Some(id)
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
        let (forward, mut conversation) = identify(packet);
        let flow = self.conversations.len() as u32;
        let before = self.keys.find(&conversation.key, self.keys.hash(&conversation.key));
        // With client and server the other way round it would be another conversation in any case.
        conversation.before = before.filter(|id| id & 1 == 0).map(|id| id >> 1);
        self.conversations.push(conversation);
        if let Some(ends) = &mut self.ends {
            ends.insert(conversation.key.ends(), flow);
        }
        self.keys.put(conversation.key, 2 * flow);
        self.keys.put(conversation.key.reversed(), 2 * flow + 1);
        Interned { flow, forward, new: true }
    }

    /// Drops conversations: `numbers` has the new number of those that stay, by the old one.
    pub fn keep(&mut self, numbers: &[Option<u32>]) {
        let mut stays = numbers.iter().map(Option::is_some);
        self.conversations.retain_mut(|known| {
            known.before = known.before.and_then(|before| numbers[before as usize]);
            stays.next().unwrap_or(false)
        });
        self.keys.keep(|id| Some(2 * numbers[(id >> 1) as usize]? + (id & 1)));
        if let Some(ends) = &mut self.ends {
            ends.retain(|_, flow| {
                let number = numbers[*flow as usize];
                *flow = number.unwrap_or_default();
                number.is_some()
            });
        }
    }
}

impl Conversation {
    /// A SYN/ACK of `side`: its numbers are those of this conversation, as far as they are known.
    fn may_answer(&self, packet: &Packet, side: usize) -> bool {
        let acked = packet.ack.wrapping_sub(1);
        match (self.isn[side], self.isn[side ^ 1]) {
            (None, None) => self.at[side].is_none() || is_near(self.at[side], packet.seq),
            (own, peer) => own.is_none_or(|isn| isn == packet.seq) && peer.is_none_or(|isn| isn == acked),
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
mod tests;
