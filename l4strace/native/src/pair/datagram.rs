//! What of a datagram stays the same between two capture points, as a 64-bit key: its length and the first bytes of
//! its payload. Addresses and ports do not count, which a NAT changes.

use super::key::Keyed;
use super::plan::Leg;
use crate::digest::{digest, mix};
use crate::packet::Packet;

/// A datagram, and what the capture holds of its payload.
pub struct Datagram<'p>(pub &'p Packet, pub &'p [u8]);

impl Keyed for Datagram<'_> {
    fn packet(&self) -> &Packet {
        self.0
    }

    #[inline]
    fn keys(&self, leg: &Leg, side: usize, mut each: impl FnMut(u16, u64)) {
        let Datagram(packet, payload) = self;
        let start = &payload[..payload.len().min(usize::from(leg.digest_bytes[side]))];
        // Of a train that one capture shows as one datagram, the first is known, whatever its length.
        let length = if leg.segment_size[side].is_some() { 0 } else { packet.payload_len };
        each(0, mix(digest(start, length), u64::from(leg.paths[side])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(payload: &[u8], payload_len: u32, leg: &Leg) -> u64 {
        let packet = Packet { payload_len, ..Packet::default() };
        let mut found = 0;
        Datagram(&packet, payload).keys(leg, 0, |_, key| found = key);
        found
    }

    #[test]
    fn length_and_first_bytes_tell_datagrams_apart() {
        let leg = Leg { digest_bytes: [8; 2], ..Leg::default() };
        assert_eq!(key(b"12345678", 9, &leg), key(b"123456789", 9, &leg));
        assert_ne!(key(b"12345678", 9, &leg), key(b"12345678", 8, &leg));
        assert_ne!(key(b"12345678", 9, &leg), key(b"12345679", 9, &leg));
        assert_ne!(key(b"12345678", 9, &leg), key(b"12345678", 9, &Leg { paths: [1, 0], ..leg }));
    }

    #[test]
    fn the_first_of_a_train_is_known_whatever_its_length() {
        let leg = Leg { digest_bytes: [8; 2], segment_size: [Some(0); 2], ..Leg::default() };
        assert_eq!(key(b"12345678", 12_000, &leg), key(b"12345678", 1200, &leg));
    }
}
