//! Packets that one capture holds twice: taken on two interfaces of a host or router (`-i any`), before
//! and after segmentation offload. They are one packet, and count once.

use super::flow::Flow;
use crate::packet::{flag, Packet};
use crate::track::sending::data::{is_recent, Data};

/// Packets without data that are remembered, by direction, once a flow is known to be seen twice.
const REMEMBERED: usize = 16;

/// What makes two packets without data the same one. ECN may change between two interfaces of a router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sight {
    seq: u32,
    ack: u32,
    stamps: (u32, u32),
    sack: (u32, u32),
    flags: u16,
    window: u16,
    ip_id: u16,
}

/// Packets without data of one direction, the oldest overwritten first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Remembered {
    sights: [(i64, Sight); REMEMBERED],
    at: usize,
}

impl Sight {
    fn of(p: &Packet) -> Self {
        Sight {
            seq: p.seq,
            ack: p.ack,
            stamps: p.timestamps.unwrap_or_default(),
            sack: p.sack.blocks[0],
            flags: p.flags,
            window: p.window,
            ip_id: p.ip_id.unwrap_or(0),
        }
    }
}

impl Remembered {
    /// The same packet came less than `patience_ns` ago; otherwise it is remembered.
    fn has(&mut self, p: &Packet, patience_ns: i64) -> bool {
        let sight = Sight::of(p);
        let same = |(ts_ns, seen): &(i64, Sight)| *seen == sight && is_recent(*ts_ns, p.ts_ns, patience_ns);
        if self.sights.iter().any(same) {
            return true;
        }
        self.sights[self.at] = (p.ts_ns, sight);
        self.at = (self.at + 1) % REMEMBERED;
        false
    }
}

impl Flow {
    /// The capture has shown this packet before.
    #[inline]
    pub(in crate::track) fn is_seen_twice(&mut self, p: &Packet, side: usize) -> bool {
        if p.payload_len > 0 {
            let dir = &self.dirs[side];
            let Some(sender) = &dir.sender else { return false };
            let start = dir.space.unwrap(p.seq);
            return start < sender.segments.max && self.is_data_seen_twice(p, side, start);
        }
        if p.flags & flag::SYN != 0 {
            return self.is_syn_seen_twice(p, side);
        }
        let patience_ns = self.patience_ns;
        self.remembered.as_mut().is_some_and(|sides| sides[side].has(p, patience_ns))
    }

    #[cold]
    fn is_data_seen_twice(&mut self, p: &Packet, side: usize, start: i64) -> bool {
        let syn = i64::from(p.flags & flag::SYN != 0);
        let data = Data {
            start: start + syn,
            end: start + syn + i64::from(p.payload_len),
            ts_ns: p.ts_ns,
            ip_id: p.ip_id.unwrap_or(0),
            weight: 1,
        };
        let patience_ns = self.patience_ns;
        self.dirs[side].sender.as_mut().is_some_and(|s| s.segments.holds_copy(&data, patience_ns))
    }

    #[cold]
    fn is_syn_seen_twice(&mut self, p: &Packet, side: usize) -> bool {
        let hand = &self.handshake;
        let last = match (side, p.has(flag::ACK)) {
            (0, false) => hand.retry.or(hand.syn),
            (1, true) => hand.synack_other.or(hand.synack),
            _ => None,
        };
        last.is_some_and(|s| s.ace == p.ace() && is_recent(s.ts_ns, p.ts_ns, self.patience_ns))
    }

    /// Counts the second sighting; from now on packets without data are compared as well.
    #[cold]
    pub(in crate::track) fn seen_twice(&mut self, side: usize) {
        self.dirs[side].totals.duplicates += 1;
        self.remembered.get_or_insert_default();
    }
}
