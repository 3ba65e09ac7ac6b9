//! One data packet, as the parts of a sender hand it on.

/// Packets on the wire that one data packet can stand for: 14 bits, above which a segment keeps its marks.
pub const MOST_WEIGHT: u16 = (1 << 14) - 1;

/// One data packet, unwrapped.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    pub start: i64,
    pub end: i64,
    pub ts_ns: i64,
    /// 0 where there is none.
    pub ip_id: u16,
    /// Packets on the wire, at most MOST_WEIGHT: more than one for an offload super-packet.
    pub weight: u16,
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

/// A host repeats nothing within half a round trip: by then it cannot know of a loss.
pub fn is_recent(then_ns: i64, now_ns: i64, patience_ns: i64) -> bool {
    (0..patience_ns).contains(&(now_ns - then_ns))
}

/// Packets that a payload takes on the wire; mostly one, which needs no division.
#[inline]
pub fn weight(payload_len: u32, mss: u32) -> u16 {
    if payload_len <= mss {
        return 1;
    }
    payload_len.div_ceil(mss).min(u32::from(MOST_WEIGHT)) as u16
}
