//! When the datagrams of a few UDP conversations passed, and how long they were: see `l4strace/ingest/join/senders.py`.

use std::collections::HashMap;

use crate::packet::{FlowKey, Network, Packet};
use crate::read::{PacketStream, ReadError, Sink};

/// A datagram of one of the conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub flow: u32,
    pub forward: bool,
    pub ts_ns: i64,
    pub bytes: u32,
}

/// Looks through a capture for them.
pub struct Datagrams {
    stream: PacketStream,
    seen: Kept,
}

struct Kept {
    /// Number and direction of a conversation by its addresses and ports.
    flows: HashMap<FlowKey, (u32, bool)>,
    /// By conversation and direction, how many more are kept.
    left: HashMap<(u32, bool), usize>,
    rows: Vec<Seen>,
}

impl Sink for Kept {
    fn packets(&mut self, _: &[Packet]) {}

    fn datagram(&mut self, packet: &Packet, _: &[u8]) {
        let key = FlowKey { network: Network::default(), ..packet.key };
        let Some(&(flow, forward)) = self.flows.get(&key) else { return };
        let Some(left) = self.left.get_mut(&(flow, forward)).filter(|left| **left > 0) else { return };
        *left -= 1;
        self.rows.push(Seen { flow, forward, ts_ns: packet.ts_ns, bytes: packet.payload_len });
    }
}

impl Datagrams {
    /// `flows`: numbers and keys from client to server; `most`: datagrams of each direction that are kept.
    pub fn new(stream: PacketStream, flows: &[(u32, FlowKey)], most: usize) -> Self {
        let both = |&(flow, key): &(u32, FlowKey)| [(key, (flow, true)), (key.reversed(), (flow, false))];
        let left = flows.iter().flat_map(|&(flow, _)| [((flow, true), most), ((flow, false), most)]);
        let left = left.collect();
        let flows = flows.iter().flat_map(both).collect();
        Datagrams { stream, seen: Kept { flows, left, rows: Vec::new() } }
    }

    /// Looks through the next packets; false when there is nothing more to look for.
    pub fn batch(&mut self) -> Result<bool, ReadError> {
        let more = self.stream.next_batch(&mut self.seen)?;
        Ok(more && self.seen.left.values().any(|&left| left > 0))
    }

    pub fn rows(&self) -> &[Seen] {
        &self.seen.rows
    }
}
