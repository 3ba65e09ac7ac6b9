//! The datagrams of a few UDP conversations, one by one: to fit logs of senders (`l4strace/ingest/join/senders.py`), and
//! for the packet chart.

use std::collections::HashMap;

use crate::packet::{FlowKey, Network, Packet};
use crate::read::{PacketStream, ReadError, Sink};

/// A datagram of one of the conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub frame: u64,
    pub flow: u32,
    pub forward: bool,
    pub ts_ns: i64,
    pub bytes: u32,
    pub ecn: u8,
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
    /// Only datagrams from one moment to another, both included.
    span_ns: (i64, i64),
    rows: Vec<Seen>,
}

impl Sink for Kept {
    fn packets(&mut self, _: &[Packet]) {}

    fn datagram(&mut self, packet: &Packet, _: &[u8]) {
        if packet.ts_ns < self.span_ns.0 || packet.ts_ns > self.span_ns.1 {
            return;
        }
        let key = FlowKey { network: Network::default(), ..packet.key };
        let Some(&(flow, forward)) = self.flows.get(&key) else { return };
        let Some(left) = self.left.get_mut(&(flow, forward)).filter(|left| **left > 0) else { return };
        *left -= 1;
        let (frame, ts_ns) = (packet.frame, packet.ts_ns);
        self.rows.push(Seen { frame, flow, forward, ts_ns, bytes: packet.payload_len, ecn: packet.ip_ecn });
    }
}

impl Datagrams {
    /// `flows`: numbers and keys from client to server; `most`: datagrams of each direction that are kept.
    pub fn new(stream: PacketStream, flows: &[(u32, FlowKey)], most: usize, span_ns: (i64, i64)) -> Self {
        let both = |&(flow, key): &(u32, FlowKey)| [(key, (flow, true)), (key.reversed(), (flow, false))];
        let left = flows.iter().flat_map(|&(flow, _)| [((flow, true), most), ((flow, false), most)]);
        let left = left.collect();
        let flows = flows.iter().flat_map(both).collect();
        Datagrams { stream, seen: Kept { flows, left, span_ns, rows: Vec::new() } }
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
