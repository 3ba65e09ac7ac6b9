//! The datagrams of a few UDP conversations, one by one: to fit logs of senders (`l4strace/ingest/join/senders.py`), and
//! for the packet chart.

use std::collections::{HashMap, HashSet};

use crate::packet::{FlowKey, Network, Packet};
use crate::read::{PacketStream, ReadError, Sink};
use crate::track::{Stated, Statements, Transport};

/// A datagram of one of the conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub frame: u64,
    pub offset: u64,
    pub captured_len: u32,
    pub wire_len: u32,
    pub flow: u32,
    pub forward: bool,
    pub ts_ns: i64,
    pub bytes: u32,
    pub ecn: u8,
    pub stated: Stated,
}

/// A conversation: number, key from client to server, and what runs over it.
pub type Conversation = (u32, FlowKey, Transport);

/// The datagrams that are kept.
#[derive(Clone, Debug, Default)]
pub struct Only {
    /// Of each direction in each time, from the first.
    pub most: usize,
    /// Of these times: conversation, begin and end, both included; empty: of all.
    pub spans: Vec<(u32, i64, i64)>,
    /// Of these frames; None: of all.
    pub frames: Option<HashSet<u64>>,
}

/// A time of one conversation, and how many datagrams of client and server are still kept of it.
struct Span {
    flow: u32,
    ns: (i64, i64),
    left: [usize; 2],
}

/// Looks through a capture for them.
pub struct Datagrams {
    stream: PacketStream,
    seen: Kept,
}

struct Kept {
    /// Number and direction of a conversation by its addresses and ports.
    flows: HashMap<FlowKey, (u32, bool)>,
    /// By conversation, what was read of its datagrams.
    statements: HashMap<u32, Statements>,
    spans: Vec<Span>,
    frames: Option<HashSet<u64>>,
    rows: Vec<Seen>,
}

impl Only {
    fn spans(&self, flows: &[Conversation]) -> Vec<Span> {
        let whole = || flows.iter().map(|&(flow, ..)| (flow, i64::MIN, i64::MAX)).collect();
        let spans: Vec<_> = if self.spans.is_empty() { whole() } else { self.spans.clone() };
        let span = |(flow, start_ns, end_ns)| Span { flow, ns: (start_ns, end_ns), left: [self.most; 2] };
        spans.into_iter().map(span).collect()
    }
}

impl Sink for Kept {
    fn packets(&mut self, _: &[Packet]) {}

    fn datagram(&mut self, packet: &Packet, payload: &[u8]) {
        let key = FlowKey { network: Network::default(), ..packet.key };
        let Some(&(flow, forward)) = self.flows.get(&key) else { return };
        let Some(statements) = self.statements.get_mut(&flow) else { return };
        // What came before shows what a number means.
        let stated = statements.of(packet, payload, usize::from(!forward));
        if !self.wants(packet, flow, forward) {
            return;
        }
        self.rows.push(Seen {
            frame: packet.frame,
            offset: packet.offset,
            captured_len: packet.captured_len,
            wire_len: packet.wire_len,
            flow,
            forward,
            ts_ns: packet.ts_ns,
            bytes: packet.payload_len,
            ecn: packet.ip_ecn,
            stated,
        });
    }
}

impl Kept {
    fn wants(&mut self, packet: &Packet, flow: u32, forward: bool) -> bool {
        if self.frames.as_ref().is_some_and(|frames| !frames.contains(&packet.frame)) {
            return false;
        }
        let mut wanted = false;
        for span in self.spans.iter_mut().filter(|span| span.flow == flow) {
            let left = &mut span.left[usize::from(!forward)];
            if *left > 0 && (span.ns.0..=span.ns.1).contains(&packet.ts_ns) {
                *left -= 1;
                wanted = true;
            }
        }
        wanted
    }
}

impl Datagrams {
    pub fn new(stream: PacketStream, flows: &[Conversation], only: Only) -> Self {
        let both = |&(flow, key, _): &Conversation| [(key, (flow, true)), (key.reversed(), (flow, false))];
        let statements = flows.iter().map(|&(flow, _, transport)| (flow, Statements::new(transport)));
        let (statements, spans) = (statements.collect(), only.spans(flows));
        let flows = flows.iter().flat_map(both).collect();
        let seen = Kept { flows, statements, spans, frames: only.frames, rows: Vec::new() };
        Datagrams { stream, seen }
    }

    /// Looks through the next packets; false when there is nothing more to look for.
    pub fn batch(&mut self) -> Result<bool, ReadError> {
        let more = self.stream.next_batch(&mut self.seen)?;
        let Kept { spans, frames, rows, .. } = &self.seen;
        let named = frames.as_ref().map_or(usize::MAX, HashSet::len);
        Ok(more && rows.len() < named && spans.iter().any(|span| span.left != [0, 0]))
    }

    pub fn rows(&self) -> &[Seen] {
        &self.seen.rows
    }
}
