//! TCP packets that were sent in IP fragments, put together again (RFC 791 section 3.2, RFC 8200
//! section 4.5): their length is known only then.

use std::collections::VecDeque;

use crate::decode::Fragment;
use crate::packet::{ecn, FlowKey, Packet};

/// Packets that may wait for the rest of their fragments; the oldest gives way.
const MOST_WAITING: usize = 64;
/// Fragments of one packet: 64 KiB in pieces of a kilobyte. Smaller ones are an attack.
const MOST_PIECES: usize = 64;

/// Packets whose fragments are not all here yet.
#[derive(Clone, Debug, Default)]
pub struct Fragments {
    waiting: VecDeque<Partial>,
}

/// What may be told apart: `key` has no ports, since only the first fragment carries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    key: FlowKey,
    id: u32,
}

#[derive(Clone, Debug)]
struct Partial {
    identity: Identity,
    first: Option<Packet>,
    /// Ranges of the IP payload that are here.
    pieces: Vec<(u32, u32)>,
    /// End of the last fragment.
    end: Option<u32>,
    ce: bool,
    /// It cannot be put together: its fragments overlap (RFC 5722) or are too many.
    broken: bool,
    count: u64,
}

impl Fragments {
    /// Takes one fragment; the packet when this one completes it. It stands at the frame and time of this
    /// last fragment, when the receiver has it. Returns with it how many fragments were given up.
    pub fn add(&mut self, fragment: &Fragment, packet: &Packet) -> (Option<Packet>, u64) {
        let key = FlowKey { src_port: 0, dst_port: 0, ..packet.key };
        let identity = Identity { key, id: fragment.id };
        let mut given_up = 0;
        let at = self.waiting.iter().position(|w| w.identity == identity).unwrap_or_else(|| {
            if self.waiting.len() == MOST_WAITING {
                given_up = self.waiting.pop_front().map_or(0, |old| old.count);
            }
            self.waiting.push_back(Partial::new(identity));
            self.waiting.len() - 1
        });
        let partial = &mut self.waiting[at];
        partial.add(fragment, packet);
        let whole = partial.whole(packet);
        if whole.is_some() {
            self.waiting.remove(at);
        }
        (whole, given_up)
    }

    /// Fragments of packets that never came together.
    pub fn left(&self) -> u64 {
        self.waiting.iter().map(|w| w.count).sum()
    }
}

impl Partial {
    fn new(identity: Identity) -> Self {
        let (first, pieces, end) = (None, Vec::new(), None);
        Partial { identity, first, pieces, end, ce: false, broken: false, count: 0 }
    }

    fn add(&mut self, fragment: &Fragment, packet: &Packet) {
        self.count += 1;
        let piece = (fragment.offset, fragment.offset.saturating_add(fragment.len));
        if self.pieces.contains(&piece) {
            return; // the capture saw it twice
        }
        let overlaps = self.pieces.iter().any(|p| piece.0 < p.1 && p.0 < piece.1);
        if overlaps || fragment.len == 0 || self.pieces.len() == MOST_PIECES {
            self.broken = true;
            return;
        }
        self.pieces.push(piece);
        self.ce |= packet.ip_ecn == ecn::CE;
        if fragment.offset == 0 {
            self.first = Some(*packet);
        }
        if fragment.is_last {
            self.end = Some(piece.1);
        }
    }

    fn whole(&self, last: &Packet) -> Option<Packet> {
        let (first, end) = (self.first?, self.end?);
        let here: u32 = self.pieces.iter().map(|p| p.1 - p.0).sum();
        if self.broken || here != end || self.pieces.iter().any(|p| p.1 > end) {
            return None;
        }
        let of_first = self.pieces.iter().find(|p| p.0 == 0)?.1;
        Some(Packet {
            frame: last.frame,
            offset: last.offset,
            ts_ns: last.ts_ns,
            captured_len: last.captured_len,
            wire_len: last.wire_len,
            payload_len: first.payload_len + (end - of_first),
            // RFC 3168 section 5.3: one fragment with CE marks the packet.
            ip_ecn: if self.ce && first.ip_ecn != ecn::NOT_ECT { ecn::CE } else { first.ip_ecn },
            ..first
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(offset: u32, len: u32, is_last: bool) -> Fragment {
        Fragment { id: 7, offset, len, is_last }
    }

    fn of(frame: u64, ip_ecn: u8) -> Packet {
        Packet { frame, ip_ecn, payload_len: 980, seq: 5, ..Packet::default() }
    }

    /// What comes of fragments, in this order.
    fn put(parts: &[Fragment]) -> Option<Packet> {
        let mut fragments = Fragments::default();
        let mut whole = None;
        for (part, frame) in parts.iter().zip(1..) {
            whole = whole.or(fragments.add(part, &of(frame, ecn::ECT1)).0);
        }
        whole
    }

    #[test]
    fn all_fragments_make_one_packet_in_any_order() {
        let (first, middle, last) =
            (fragment(0, 1000, false), fragment(1000, 800, false), fragment(1800, 40, true));
        for order in [[first, middle, last], [last, first, middle], [middle, last, first]] {
            let whole = put(&order).expect("a packet");
            assert_eq!((whole.payload_len, whole.seq, whole.frame), (980 + 840, 5, 3));
        }
        assert_eq!(put(&[first, last]), None);
        assert_eq!(put(&[first, middle, fragment(1000, 840, true), last]), None);
        assert_eq!(put(&[first, first, middle, last]).map(|p| p.payload_len), Some(1820));
    }

    #[test]
    fn one_marked_fragment_marks_the_packet() {
        let mut fragments = Fragments::default();
        fragments.add(&fragment(0, 1000, false), &of(1, ecn::ECT1));
        let (whole, _) = fragments.add(&fragment(1000, 8, true), &of(2, ecn::CE));
        assert_eq!(whole.map(|p| p.ip_ecn), Some(ecn::CE));
    }

    #[test]
    fn few_wait_and_the_rest_is_counted() {
        let mut fragments = Fragments::default();
        let mut given_up = 0;
        for id in 0..1000 {
            let part = Fragment { id, ..fragment(0, 1000, false) };
            given_up += fragments.add(&part, &of(1, ecn::ECT1)).1;
        }
        assert_eq!(fragments.waiting.len(), MOST_WAITING);
        assert_eq!(given_up + fragments.left(), 1000);
    }
}
