//! IPv4, IPv6 and its extension headers: addresses mapped, options blanked, checksums right.

use std::borrow::Cow;

use super::link::be16;
use super::{after, checksum, icmp, tcp, tunnel, Frame};

/// No version of IP: what stood there is not shown.
const NO_IP: u8 = 0xf0;

/// By the version nibble.
pub fn any(frame: &mut Frame, data: &[u8], wire: u32) -> Option<()> {
    match data.first()? >> 4 {
        4 => v4(frame, data, wire),
        6 => v6(frame, data, wire),
        _ => {
            frame.put(&[NO_IP]);
            None
        }
    }
}

pub fn v4(frame: &mut Frame, data: &[u8], wire: u32) -> Option<()> {
    frame.enter()?;
    let mut header = *data.first_chunk::<20>()?;
    let size = usize::from(header[0] & 15) * 4;
    if header[0] >> 4 != 4 || size < 20 {
        // No header length: what stood there is no IPv4, and may be anything.
        frame.put(&[0x40]);
        frame.put(&[0; 19]);
        return None;
    }
    for at in [12, 16] {
        let mapped = frame.map.v4(*header[at..].first_chunk()?);
        header[at..at + 4].copy_from_slice(&mapped);
    }
    header[10..12].fill(0);
    // Options (routes, times) become ends of options: they add nothing to the sum.
    let sum = checksum::finish(checksum::sum(0, &header));
    header[10..12].copy_from_slice(&sum);
    frame.pseudo = checksum::sum(0, &header[12..]);
    frame.put(&header);
    frame.blank(&data[20..], size - 20);
    let stated = u32::from(be16(&header, 2));
    let length = if stated == 0 { wire } else { stated };
    let (rest, length) = after(data, length, size)?;
    (be16(&header, 6) & 0x1fff == 0).then_some(())?;
    payload(frame, header[9], &without_padding(rest, length), length)
}

pub fn v6(frame: &mut Frame, data: &[u8], wire: u32) -> Option<()> {
    frame.enter()?;
    let mut header = *data.first_chunk::<40>()?;
    if header[0] >> 4 != 6 {
        frame.put(&[0; 40]);
        return None;
    }
    for at in [8, 24] {
        let mapped = frame.map.v6(*header[at..].first_chunk()?);
        header[at..at + 16].copy_from_slice(&mapped);
    }
    // The flow label, a hash of addresses and ports in most stacks.
    header[1] &= 0xf0;
    header[2..4].fill(0);
    frame.pseudo = checksum::sum(0, &header[8..]);
    frame.put(&header);
    let stated = u32::from(be16(&header, 4));
    let length = if stated == 0 { wire } else { stated + 40 };
    let (rest, length) = after(data, length, 40)?;
    payload(frame, header[6], &without_padding(rest, length), length)
}

/// What the link layer adds behind a short packet may be anything, and headers that do not fit would show it.
fn without_padding(data: &[u8], length: u32) -> Cow<'_, [u8]> {
    let Some(padding) = data.get(length as usize..).filter(|padding| !padding.is_empty()) else {
        return Cow::Borrowed(data);
    };
    let mut bytes = data.to_vec();
    let end = data.len() - padding.len();
    bytes[end..].fill(0);
    Cow::Owned(bytes)
}

fn payload(frame: &mut Frame, protocol: u8, data: &[u8], length: u32) -> Option<()> {
    match protocol {
        6 => tcp::tcp(frame, data, length),
        17 => tunnel::udp(frame, data, length),
        4 => v4(frame, data, length),
        41 => v6(frame, data, length),
        47 => tunnel::gre(frame, data, length),
        0 | 43 | 44 | 51 | 60 | 135 | 139 | 140 => extension(frame, protocol, data, length),
        1 => icmp::v4(frame, data, length),
        58 => icmp::v6(frame, data, length),
        // ESP, SCTP and all others: they may hold anything.
        _ => None,
    }
}

/// Next header and length stay, and where a fragment belongs; options become padding (Pad1).
fn extension(frame: &mut Frame, protocol: u8, data: &[u8], length: u32) -> Option<()> {
    frame.enter()?;
    let header = data.first_chunk::<8>()?;
    let size = match protocol {
        44 => 8,
        51 => (usize::from(header[1]) + 2) * 4,
        _ => (usize::from(header[1]) + 1) * 8,
    };
    if protocol == 44 {
        frame.put(&[header[0], 0]);
        frame.put(&header[2..]);
        (be16(header, 2) & 0xfff8 == 0).then_some(())?;
    } else {
        frame.put(&header[..2]);
        // `decode` wants the first eight bytes even of a shorter AH.
        frame.blank(&data[2..], size.max(8) - 2);
        if size < 8 {
            return None;
        }
    }
    let (rest, length) = after(data, length, size)?;
    payload(frame, header[0], rest, length)
}
