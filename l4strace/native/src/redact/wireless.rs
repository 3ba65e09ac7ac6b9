//! IEEE 802.11 data frames and the radiotap header, as `decode::wireless` walks them.

use super::link::{self, be16};
use super::{after, Frame};
use crate::decode::wireless::{self, SUBFRAME};

/// Where, when and how strongly a frame was received: all of it goes.
pub fn radiotap(frame: &mut Frame, data: &[u8], wire: u32) -> Option<()> {
    let header = data.first_chunk::<4>()?;
    let size = usize::from(be16(&[header[3], header[2]], 0));
    frame.put(&[header[0], 0, header[2], header[3]]);
    if header[0] != 0 || size < 8 {
        return None;
    }
    frame.blank(&data[4..], size - 4);
    let (rest, wire) = after(data, wire, size)?;
    ieee802_11(frame, rest, wire)
}

pub fn ieee802_11(frame: &mut Frame, data: &[u8], wire: u32) -> Option<()> {
    frame.enter()?;
    let control = *data.first_chunk::<2>()?;
    frame.put(&control);
    let wireless::Frame::Data(shape) = wireless::frame(control) else { return None };
    let mut header = data.get(..shape.size)?.to_vec();
    let fourth = shape.four_addresses.then_some(24);
    for at in [4, 10, 16].into_iter().chain(fourth) {
        let mapped = frame.map.mac(*header[at..].first_chunk()?);
        header[at..at + 6].copy_from_slice(&mapped);
    }
    frame.put(&header[2..]);
    let (rest, wire) = after(data, wire, shape.size)?;
    (header[22] & 0x0f == 0).then_some(())?;
    if !shape.is_aggregate(&header) {
        return link::snap(frame, rest, wire);
    }
    let inner = rest.first_chunk::<SUBFRAME>()?;
    for at in [0, 6] {
        let mapped = frame.map.mac(*inner[at..].first_chunk()?);
        frame.put(&mapped);
    }
    frame.put(&inner[12..]);
    let (rest, wire) = after(rest, wire, SUBFRAME)?;
    link::snap(frame, rest, wire.min(u32::from(be16(inner, 12))))
}
