//! The UDP header (RFC 768), and where its payload lies.

use super::bytes::{after, be16, head};
use super::{tunnel, Decoded, Layers};

/// The captured part of a payload within its frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    pub at: usize,
    pub len: usize,
}

/// The captured part of a payload, by where it ends: headers lie one behind the other in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Datagram {
    /// Address of the first byte, compared with that of the frame only.
    start: usize,
    len: usize,
}

impl Datagram {
    pub fn payload(self, frame: &[u8]) -> Payload {
        Payload { at: self.start.saturating_sub(frame.as_ptr() as usize), len: self.len }
    }
}

/// A tunnel is known by its destination port; all else is a datagram of two applications.
#[inline]
pub(super) fn udp(layers: &mut Layers, data: &[u8], length: u32) -> Decoded {
    let header = head::<8>(data)?;
    let (rest, left) = after(data, length, 8)?;
    if let Some(read) = tunnel::of_port(be16(header, 2)) {
        return read(layers, rest, left);
    }
    let packet = &mut *layers.packet;
    packet.key.src_port = be16(header, 0);
    packet.key.dst_port = be16(header, 2);
    packet.payload_len = payload_len(header, left);
    let len = rest.len().min(left.min(packet.payload_len) as usize);
    layers.datagram = Some(Datagram { start: rest.as_ptr() as usize, len });
    Ok(())
}

/// Of a header that so many bytes follow: it states 0 in a jumbogram (RFC 2675 section 4), and the first of several
/// fragments the length of all.
#[inline]
pub(super) fn payload_len(header: &[u8; 8], left: u32) -> u32 {
    match u32::from(be16(header, 4)) {
        0..8 => left,
        stated => stated - 8,
    }
}
