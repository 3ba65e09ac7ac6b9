//! When acknowledgement numbers first passed: see `l4strace/ingest/join/matching.py`.

use std::collections::HashMap;

use crate::packet::{flag, Packet};
use crate::read::{PacketStream, ReadError};
use crate::track::Retrace;

/// Numbers that are looked for in one capture.
pub struct Acks {
    stream: PacketStream,
    flows: Retrace,
    /// By flow, whether the server [0] and the client [1] are such receivers.
    receivers: Vec<[bool; 2]>,
    /// By flow and number, its first time.
    first_ns: HashMap<(u32, u32), Option<i64>>,
    /// Packets that are left to read.
    left: u64,
}

impl Acks {
    /// `receivers`: flow and direction of the packets that acknowledge; `wanted`: flows and numbers; `most`: packets
    /// that are read.
    pub fn new(
        stream: PacketStream,
        flows: Retrace,
        receivers: &[(u32, bool)],
        wanted: &[(u32, u32)],
        most: u64,
    ) -> Self {
        let flow_count = receivers.iter().map(|&(flow, _)| flow as usize + 1).max().unwrap_or(0);
        let mut by_flow = vec![[false; 2]; flow_count];
        receivers.iter().for_each(|&(flow, forward)| by_flow[flow as usize][usize::from(forward)] = true);
        let first_ns = wanted.iter().map(|&key| (key, None)).collect();
        Acks { stream, flows, receivers: by_flow, first_ns, left: most }
    }

    /// Looks through the next packets; false when there are no more to look at.
    pub fn batch(&mut self) -> Result<bool, ReadError> {
        let Acks { stream, flows, receivers, first_ns, left } = self;
        let more = stream.next_batch(&mut |packets: &[Packet]| {
            let most = usize::try_from(*left).unwrap_or(usize::MAX).min(packets.len());
            *left -= most as u64;
            for p in &packets[..most] {
                let Some(at) = flows.place(p) else { continue };
                let counts = receivers.get(at.flow as usize).is_some_and(|of| of[usize::from(at.forward)]);
                if !counts || !p.has(flag::ACK) {
                    continue;
                }
                if let Some(first) = first_ns.get_mut(&(at.flow, p.ack)) {
                    *first = Some(first.map_or(p.ts_ns, |before| before.min(p.ts_ns)));
                }
            }
        })?;
        Ok(more && self.left > 0)
    }

    /// The first time of a number, if it passed.
    pub fn first_ns(&self, flow: u32, ack: u32) -> Option<i64> {
        self.first_ns.get(&(flow, ack)).copied().flatten()
    }
}
