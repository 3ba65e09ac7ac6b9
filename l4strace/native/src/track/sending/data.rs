//! One data packet, as the parts of a sender hand it on.

use super::segments::Segments;
use crate::packet::Packet;
use crate::track::table::keys::fold;

/// Packets on the wire that one data packet can stand for: 13 bits, above which a segment keeps its marks.
pub const MOST_WEIGHT: u16 = (1 << 13) - 1;

/// One data packet, unwrapped.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    pub start: i64,
    pub end: i64,
    pub ts_ns: i64,
    /// 0 where there is none.
    pub ip_id: u16,
    /// Of its header fields that a second sighting shares; another transmission has others as a rule.
    pub print: u16,
    /// Packets on the wire, at most MOST_WEIGHT: more than one for an offload super-packet.
    pub weight: u16,
}

impl Data {
    /// The payload of a packet that begins at `start`; `mss` is what one packet carries on the wire.
    #[inline(always)]
    pub fn of(p: &Packet, start: i64, mss: u32) -> Self {
        Data {
            start,
            end: start + i64::from(p.payload_len),
            ts_ns: p.ts_ns,
            ip_id: p.ip_id.unwrap_or(0),
            print: print_of(p),
            weight: weight(p.payload_len, mss),
        }
    }

    /// A keep-alive repeats the last byte (RFC 9293 section 3.8.4) and is no retransmission.
    pub fn is_probe(&self, sent: &Segments) -> bool {
        self.end - self.start == 1 && self.end == sent.max && sent.una == self.end
    }
}

/// Segments of the first flight (RFC 6928), of which a later one may come first.
const INITIAL_WINDOW: i64 = 10;

/// Where a direction whose SYN was seen at 0 begins, when data from `start` on comes first.
pub fn first_byte(start: i64, acked: i64, mss: u32) -> i64 {
    let at = acked.max(1).min(start);
    let flight = INITIAL_WINDOW * i64::from(mss);
    if start - at < flight {
        at
    } else {
        start
    }
}

/// A host repeats nothing within half a round trip: by then it cannot know of a loss. Where the queue lies
/// between two interfaces, the round trip is longer by what separates the copies, and what has no copy yet
/// may wait that long for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Patience {
    pub ns: i64,
    /// Time between the last two sightings of one packet, or the longest there can be; negative where the
    /// second clock is behind.
    pub apart_ns: i64,
}

impl Patience {
    pub fn covers(self, then_ns: i64, now_ns: i64) -> bool {
        let least = self.apart_ns.saturating_mul(2).min(0);
        (least..self.ns.saturating_add(self.apart_ns.max(0))).contains(&now_ns.saturating_sub(then_ns))
    }

    /// The same of a packet that has its copy.
    pub fn without_queue(self) -> Self {
        Patience { apart_ns: self.apart_ns.min(0), ..self }
    }
}

/// Prints of two packets differ where one of these does, but for one pair in 65,536.
#[inline(always)]
fn print_of(p: &Packet) -> u16 {
    let (tsval, tsecr) = p.timestamps.unwrap_or_default();
    let id = p.ip_id.unwrap_or(0);
    let stamps = u64::from(tsval) << 32 | u64::from(tsecr);
    let others = u64::from(p.ack) << 32 | u64::from(p.window) << 16 | u64::from(id);
    // Without these constants all packets without timestamps would have the same.
    (fold(stamps ^ 0x9e37_79b9_7f4a_7c15, others ^ 0xc2b2_ae3d_27d4_eb4f) >> 48) as u16
}

/// Packets that a payload takes on the wire; mostly one, which needs no division.
#[inline(always)]
fn weight(payload_len: u32, mss: u32) -> u16 {
    if payload_len <= mss {
        return 1;
    }
    payload_len.div_ceil(mss).min(u32::from(MOST_WEIGHT)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_of_a_print_makes_another() {
        let plain = Packet { ip_id: Some(7), ack: 5, window: 9, ..Packet::default() };
        let stamped = Packet { timestamps: Some((3, 4)), ..plain };
        for p in [plain, stamped] {
            let others = [
                Packet { ip_id: Some(8), ..p },
                Packet { ack: 6, ..p },
                Packet { window: 10, ..p },
                Packet { timestamps: Some((3, 5)), ..p },
                Packet { timestamps: Some((2, 4)), ..p },
            ];
            assert!(others.iter().all(|other| print_of(other) != print_of(&p)));
        }
    }
}
