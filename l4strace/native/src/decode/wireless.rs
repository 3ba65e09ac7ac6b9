//! IEEE 802.11 data frames, with or without the radiotap header in front.

use super::bytes::{after, be16, head};
use super::{link, Decoded, Layers};
use crate::stats::Loss;

/// Length of the header, which it states itself.
pub(super) fn radiotap(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    let header = head::<4>(data)?;
    let size = usize::from(u16::from_le_bytes([header[2], header[3]]));
    if header[0] != 0 || size < 8 {
        return Err(Loss::BadLengths);
    }
    let (rest, wire) = after(data, wire, size)?;
    ieee802_11(layers, rest, wire)
}

/// What the frame control says about the rest (IEEE 802.11-2020 section 9.2.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Management, control, or data without any.
    Other,
    /// Only the station and the access point can read it.
    Protected,
    Data(Data),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Bytes of the header.
    pub size: usize,
    /// A relayed frame has a fourth address behind the sequence number.
    pub four_addresses: bool,
    /// Where the control field of QoS stands.
    pub qos: Option<usize>,
}

impl Data {
    /// Several Ethernet frames in one, each with a header of its own (A-MSDU).
    pub fn is_aggregate(&self, header: &[u8]) -> bool {
        self.qos.is_some_and(|at| header[at] & 0x80 != 0)
    }
}

pub fn frame(control: [u8; 2]) -> Frame {
    let subtype = control[0] >> 4;
    if control[0] & 0x0f != 0x08 || subtype & 4 != 0 {
        return Frame::Other;
    }
    if control[1] & 0x40 != 0 {
        return Frame::Protected;
    }
    let four_addresses = control[1] & 3 == 3;
    let base = if four_addresses { 30 } else { 24 };
    let qos = (subtype & 8 != 0).then_some(base);
    // With QoS the order bit stands for the HT control field.
    let more = if qos.is_none() { 0 } else { 2 + usize::from(control[1] & 0x80 != 0) * 4 };
    Frame::Data(Data { size: base + more, four_addresses, qos })
}

/// Bytes of the header of each frame in an aggregate: two addresses and a length.
pub const SUBFRAME: usize = 14;

/// Of an aggregate the first frame is read.
pub(super) fn ieee802_11(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    let frame = match frame(*head::<2>(data)?) {
        Frame::Other => return Err(Loss::NotIp),
        Frame::Protected => return Err(Loss::Opaque),
        Frame::Data(frame) => frame,
    };
    let (rest, wire) = after(data, wire, frame.size)?;
    // What goes on in another frame begins in the first.
    if data[22] & 0x0f != 0 {
        return Err(Loss::NotIp);
    }
    if !frame.is_aggregate(data) {
        return link::snap(layers, rest, wire);
    }
    let length = u32::from(be16(head::<SUBFRAME>(rest)?, 12));
    let (rest, wire) = after(rest, wire, SUBFRAME)?;
    link::snap(layers, rest, wire.min(length))
}
