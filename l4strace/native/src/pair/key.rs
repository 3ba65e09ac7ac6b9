//! What of a packet stays the same between two capture points, as a 64-bit key.

use super::plan::Leg;
use crate::digest::mix;
use crate::packet::{flag, Packet};

/// ECN is what may change; PSH and FIN move to the last segment when offloads cut a packet up.
const STABLE_FLAGS: u16 = flag::SYN | flag::RST | flag::ACK | flag::URG;

/// More segments than the largest super-packet has (BIG TCP, 512 KiB); a longer one is a lie.
const MOST_SEGMENTS: u32 = 1024;

/// A packet with what identifies it at another capture point.
pub trait Keyed {
    fn packet(&self) -> &Packet;

    /// Calls `each(segment number, key)` for the packet, or for every segment of a super-packet; `side` is that of
    /// its sender, 0 for the client.
    fn keys(&self, leg: &Leg, side: usize, each: impl FnMut(u16, u64));
}

/// One packet of TCP.
pub struct Segment<'p>(pub &'p Packet);

impl Keyed for Segment<'_> {
    fn packet(&self) -> &Packet {
        self.0
    }

    #[inline]
    fn keys(&self, leg: &Leg, side: usize, each: impl FnMut(u16, u64)) {
        keys(self.0, leg.paths[side], leg.segment_size[side], each);
    }
}

/// What the other capture must have seen too.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    pub frame: u64,
    pub ts_ns: i64,
    pub ip_id: u16,
    pub ecn: u8,
    /// `None` for a part of a super-packet: offloads set CWR in the first segment only (RFC 3168
    /// section 6.1.2), and what they merge has the bits of one of its packets.
    pub ace: Option<u8>,
    pub dscp: u8,
    /// Kind of the AccECN option and a digest of its fields.
    pub option: Option<(u8, u64)>,
}

impl Sighting {
    /// The packet, or one `segment` of it where it is longer than `segment_size`.
    pub fn new(packet: &Packet, segment: u16, segment_size: Option<u32>) -> Self {
        let whole = segment_size.is_none_or(|size| packet.payload_len <= size);
        let option = packet.accecn.map(|o| {
            let field = |f: Option<u32>| u64::from(f.map_or(0, |v| v + 1));
            (o.kind, mix(mix(field(o.e0b), field(o.ceb)), field(o.e1b)))
        });
        Sighting {
            frame: packet.frame,
            ts_ns: packet.ts_ns,
            ip_id: packet.ip_id.map_or(0, |id| if id == 0 { 0 } else { id.wrapping_add(segment) }),
            ecn: packet.ip_ecn & 3,
            ace: whole.then(|| packet.ace()),
            dscp: packet.dscp,
            option,
        }
    }
}

/// Calls `each(segment number, key)` for the packet, or for every segment of a super-packet, so that
/// a capture before segmentation offload can be matched with one after it.
#[inline]
fn keys(packet: &Packet, direction: u32, segment_size: Option<u32>, mut each: impl FnMut(u16, u64)) {
    let cut = segment_size.filter(|&size| size > 0 && packet.payload_len / size < MOST_SEGMENTS);
    let size = cut.unwrap_or(u32::MAX);
    let mut done = 0;
    let mut segment = 0u16;
    loop {
        let length = (packet.payload_len - done).min(size);
        each(segment, key(packet, direction, packet.seq.wrapping_add(done), length));
        done += length;
        segment = segment.wrapping_add(1);
        if done >= packet.payload_len {
            return;
        }
    }
}

/// Of a packet as it was captured, on whichever interface.
pub fn of_segment(packet: &Packet) -> u64 {
    key(packet, 0, packet.seq, packet.payload_len)
}

fn key(packet: &Packet, direction: u32, seq: u32, length: u32) -> u64 {
    let (tsval, tsecr) = packet.timestamps.unwrap_or_default();
    // FIN takes a sequence number, but only a packet without data shows it surely.
    let fin = if packet.payload_len == 0 { packet.flags & flag::FIN } else { 0 };
    let flags = packet.flags & STABLE_FLAGS | fin;
    let a = mix(u64::from(seq) << 32 | u64::from(packet.ack), u64::from(tsval) << 32 | u64::from(tsecr));
    mix(a, u64::from(direction) << 40 ^ u64::from(length) << 12 ^ u64::from(flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(packet: &Packet, size: Option<u32>) -> Vec<u64> {
        let mut found = Vec::new();
        keys(packet, 0, size, |_, key| found.push(key));
        found
    }

    #[test]
    fn a_super_packet_has_the_keys_of_its_segments() {
        let whole = Packet { seq: 100, payload_len: 2500, flags: flag::ACK | flag::PSH, ..Packet::default() };
        let parts = [(100, 1000), (1100, 1000), (2100, 500)];
        let parts = parts.map(|(seq, payload_len)| Packet { seq, payload_len, flags: flag::ACK, ..whole });
        let apart: Vec<u64> = parts.iter().flat_map(|p| all(p, Some(1000))).collect();
        assert_eq!(all(&whole, Some(1000)), apart);
        assert_eq!(all(&whole, None).len(), 1);
    }

    #[test]
    fn the_ace_of_a_part_is_not_known() {
        let packet = Packet { payload_len: 2500, flags: flag::ACK | flag::CWR, ..Packet::default() };
        let ace = |size| Sighting::new(&packet, 0, size).ace;
        assert_eq!((ace(None), ace(Some(2500)), ace(Some(1250))), (Some(2), Some(2), None));
    }

    #[test]
    fn marks_do_not_change_the_key_but_numbers_do() {
        let packet = Packet { flags: flag::ACK, ..Packet::default() };
        let marked = Packet { ip_ecn: 3, flags: flag::ACK | flag::AE | flag::CWR, ..packet };
        assert_eq!(all(&packet, None), all(&marked, None));
        assert_ne!(all(&packet, None), all(&Packet { ack: 1, ..packet }, None));
    }
}
