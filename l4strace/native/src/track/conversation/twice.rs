//! Packets that one capture holds twice: taken on two interfaces of a host or router that the file does not name
//! (`several` has those that it does), before and after segmentation offload. They are one packet, and count once.

use super::flow::Flow;
use crate::packet::{flag, AccEcnOption, Packet};
use crate::track::sending::data::{Data, Patience};

/// Packets without data that are remembered, by direction, once a flow is known to be seen twice.
const REMEMBERED: usize = 16;

/// A host repeats a SYN after a second at the earliest (RFC 6298 section 2.1): half of it separates the two.
const SYN_PATIENCE_NS: i64 = 500_000_000;

/// No sender times out before (TCP_RTO_MIN of Linux; RFC 6298 section 2.4 wants a second).
const TIMEOUT_NS: i64 = 200_000_000;

/// What makes two packets without data the same one. ECN may change between two interfaces of a router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sight {
    seq: u32,
    ack: u32,
    stamps: (u32, u32),
    sack: (u32, u32),
    /// Counts each packet where one tick of the timestamps holds several ACKs.
    accecn: Option<AccEcnOption>,
    flags: u16,
    window: u16,
    ip_id: u16,
}

/// Packets without data of one direction, the oldest overwritten first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Remembered {
    sights: [(i64, Sight); REMEMBERED],
    at: usize,
    /// Between the last two sightings of one packet.
    apart_ns: i64,
    /// Data: where the copies go on, and the bytes that have one.
    next: i64,
    bytes: i64,
}

impl Sight {
    pub(super) fn of(p: &Packet) -> Self {
        Sight {
            seq: p.seq,
            ack: p.ack,
            stamps: p.timestamps.unwrap_or_default(),
            sack: p.sack.blocks[0],
            accecn: p.accecn,
            flags: p.flags,
            window: p.window,
            ip_id: p.ip_id.unwrap_or(0),
        }
    }
}

impl Remembered {
    /// When the same packet came so lately that it is no other one; otherwise it is remembered.
    fn has(&mut self, p: &Packet, patience_ns: i64) -> Option<i64> {
        let sight = Sight::of(p);
        let patience = Patience { ns: patience_ns, apart_ns: self.apart_ns };
        let same = |(ts_ns, seen): &&(i64, Sight)| *seen == sight && patience.covers(*ts_ns, p.ts_ns);
        if let Some((ts_ns, _)) = self.sights.iter().find(same) {
            return Some(*ts_ns);
        }
        self.sights[self.at] = (p.ts_ns, sight);
        self.at = (self.at + 1) % REMEMBERED;
        None
    }

    /// Most of what was acknowledged has its copy, and this is the next one: a queue between the interfaces keeps the
    /// order, while a retransmission comes behind copies that later packets have, or after a timeout.
    fn go_on(&self, data: &Data, acked: i64) -> bool {
        acked > 0 && 2 * self.bytes >= acked && data.start >= self.next && self.apart_ns >= 0
    }

    fn copied(&mut self, data: &Data) {
        self.next = self.next.max(data.end);
        self.bytes += data.end - data.start;
    }
}

impl Flow {
    /// When the capture showed this packet before.
    #[inline]
    pub(in crate::track) fn seen_before(&mut self, p: &Packet, side: usize) -> Option<i64> {
        if self.several.as_ref().is_some_and(|several| several.knows(p.interface, side)) {
            return None;
        }
        if p.payload_len > 0 {
            let dir = &self.dirs[side];
            let start = dir.space.unwrap(p.seq);
            return if start < dir.sender.as_ref()?.segments.max {
                self.data_before(p, side, start)
            } else {
                None
            };
        }
        if p.flags & flag::SYN != 0 {
            return self.syn_before(p, side);
        }
        let patience_ns = self.patience_ns;
        self.remembered.as_mut()?[side].has(p, patience_ns)
    }

    #[cold]
    fn data_before(&mut self, p: &Packet, side: usize, start: i64) -> Option<i64> {
        let syn = i64::from(p.flags & flag::SYN != 0);
        let data = Data::of(p, start + syn, self.mss[side]);
        let acked = self.dirs[side].acked;
        let copies = self.remembered.as_ref().map(|sides| &sides[side]);
        let apart_ns = copies.map_or(0, |copies| copies.apart_ns);
        let goes_on = copies.is_some_and(|copies| copies.go_on(&data, acked));
        let longest_ns = if goes_on { TIMEOUT_NS } else { apart_ns };
        let patience = Patience { ns: self.patience_ns, apart_ns: longest_ns };
        let newest = self.dirs[side].echoes.last();
        let segments = &mut self.dirs[side].sender.as_mut()?.segments;
        // Sent anew it would carry the timestamp, or the id, that follows those of later packets.
        let is_old = |tsval: u32| newest.is_some_and(|last| (last.wrapping_sub(tsval) as i32) > 0);
        let stale = p.timestamps.is_some_and(|(tsval, _)| is_old(tsval));
        if stale && apart_ns != 0 && data.end <= segments.una {
            // The acknowledgement overtook the copy.
            return Some(p.ts_ns.wrapping_sub(apart_ns));
        }
        let id_moved = data.ip_id != 0 && segments.newest_id != 0 && data.ip_id != segments.newest_id;
        let before_ns = segments.copy_of(&data, patience, stale || id_moved)?;
        self.remembered.get_or_insert_default()[side].copied(&data);
        Some(before_ns)
    }

    #[cold]
    fn syn_before(&mut self, p: &Packet, side: usize) -> Option<i64> {
        let hand = &self.handshake;
        let last = match (side, p.has(flag::ACK)) {
            (0, false) => hand.retry.or(hand.syn),
            (1, true) => hand.synack_other.or(hand.synack),
            _ => None,
        };
        let patience = Patience { ns: SYN_PATIENCE_NS, apart_ns: 0 };
        last.filter(|s| s.ace == p.ace() && patience.covers(s.ts_ns, p.ts_ns)).map(|s| s.ts_ns)
    }

    /// Counts the second sighting; from now on packets without data are compared as well.
    #[cold]
    pub(in crate::track) fn seen_twice(&mut self, side: usize, apart_ns: i64) {
        self.dirs[side].totals.duplicates += 1;
        self.remembered.get_or_insert_default()[side].apart_ns = apart_ns;
    }
}
