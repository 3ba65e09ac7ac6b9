//! Link-layer headers, as `decode::link` walks them.

use super::{after, ip, tunnel, wireless, Frame};
use crate::decode::link::{nflog_attribute, pktap_header, NFLOG_PAYLOAD};

/// False for a link type that is not known.
pub fn link(frame: &mut Frame, link_type: u32, data: &[u8], wire: u32) -> bool {
    // `None` ends a packet early; what was written of it stays.
    let _ = match link_type {
        1 => ethernet(frame, data, wire),
        12 | 14 | 101 | 228 | 229 => ip::any(frame, data, wire),
        0 => null(frame, data, wire, false),
        108 => null(frame, data, wire, true),
        113 => cooked(frame, data, wire, &Cooked { size: 16, kind: 14, address_length: 5, address: 6 }),
        276 => cooked(frame, data, wire, &Cooked { size: 20, kind: 0, address_length: 11, address: 12 }),
        9 | 50 => ppp(frame, data, wire),
        51 => pppoe(frame, data, wire),
        104 => cisco_hdlc(frame, data, wire),
        105 => wireless::ieee802_11(frame, data, wire),
        127 => wireless::radiotap(frame, data, wire),
        239 => nflog(frame, data, wire),
        149 | 258 => return pktap(frame, data, wire),
        204 => direction_and_ppp(frame, data, wire),
        _ => return false,
    };
    true
}

pub fn ethernet(frame: &mut Frame, data: &[u8], wire: u32) -> Option<()> {
    frame.enter()?;
    let header = data.first_chunk::<14>()?;
    for at in [0, 6] {
        let mapped = frame.map.mac(*header[at..].first_chunk()?);
        frame.put(&mapped);
    }
    frame.put(&header[12..]);
    let (rest, wire) = after(data, wire, 14)?;
    ethertype(frame, be16(header, 12), rest, wire)
}

/// By an EtherType, or an 802.3 length; what is neither IP nor around IP is left out.
pub fn ethertype(frame: &mut Frame, kind: u16, data: &[u8], wire: u32) -> Option<()> {
    frame.enter()?;
    match kind {
        0x0800 => ip::v4(frame, data, wire),
        0x86dd => ip::v6(frame, data, wire),
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
            let tag = data.first_chunk::<4>()?;
            frame.put(tag);
            let (rest, wire) = after(data, wire, 4)?;
            ethertype(frame, be16(tag, 2), rest, wire)
        }
        0x8847 | 0x8848 => mpls(frame, data, wire),
        0x8864 => pppoe(frame, data, wire),
        0x6558 => ethernet(frame, data, wire),
        0..=1500 => snap(frame, data, wire),
        _ => None,
    }
}

pub fn snap(frame: &mut Frame, data: &[u8], wire: u32) -> Option<()> {
    const START: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];
    data.starts_with(&START).then_some(())?;
    frame.put(&START);
    let kind = be16(data.first_chunk::<8>()?, 6);
    frame.put(&kind.to_be_bytes());
    let (rest, wire) = after(data, wire, 8)?;
    // A length here would be a second SNAP header in the first.
    (kind > 1500).then_some(())?;
    ethertype(frame, kind, rest, wire)
}

fn mpls(frame: &mut Frame, data: &[u8], wire: u32) -> Option<()> {
    let (mut data, mut wire) = (data, wire);
    loop {
        frame.enter()?;
        let label = data.first_chunk::<4>()?;
        frame.put(label);
        (data, wire) = after(data, wire, 4)?;
        if label[2] & 1 == 1 {
            break;
        }
    }
    if data.first()? >> 4 == 0 {
        // The control word of a pseudowire.
        frame.blank(data, 4);
        let (rest, wire) = after(data, wire, 4)?;
        return ethernet(frame, rest, wire);
    }
    ip::any(frame, data, wire)
}

fn pppoe(frame: &mut Frame, data: &[u8], wire: u32) -> Option<()> {
    let header = data.first_chunk::<6>()?;
    if header[0] != 0x11 || header[1] != 0 {
        frame.put(&[0; 6]);
        return None;
    }
    frame.put(header);
    let (rest, wire) = after(data, wire, 6)?;
    ppp(frame, rest, wire.min(u32::from(be16(header, 4))))
}

pub fn ppp(frame: &mut Frame, data: &[u8], wire: u32) -> Option<()> {
    const FRAMING: [u8; 2] = [0xff, 0x03];
    let (mut data, mut wire) = (data, wire);
    if data.starts_with(&FRAMING) {
        frame.put(&FRAMING);
        (data, wire) = after(data, wire, 2)?;
    }
    let first = *data.first()?;
    let length = if first & 1 == 1 { 1 } else { 2 };
    let protocol = data.get(..length)?;
    let number = protocol.iter().fold(0, |number, &byte| number << 8 | u16::from(byte));
    if !matches!(number, 0x0021 | 0x0057 | 0x0281 | 0x0283) {
        // Zero is no protocol: what stood there may be anything.
        frame.put(&[0; 2]);
        return None;
    }
    frame.put(protocol);
    let (rest, wire) = after(data, wire, length)?;
    match number {
        0x0021 => ip::v4(frame, rest, wire),
        0x0057 => ip::v6(frame, rest, wire),
        _ => mpls(frame, rest, wire),
    }
}

fn direction_and_ppp(frame: &mut Frame, data: &[u8], wire: u32) -> Option<()> {
    frame.put(data.get(..1)?);
    let (rest, wire) = after(data, wire, 1)?;
    ppp(frame, rest, wire)
}

fn null(frame: &mut Frame, data: &[u8], wire: u32, network_order: bool) -> Option<()> {
    let header = data.first_chunk::<4>()?;
    frame.put(header);
    let big = u32::from_be_bytes(*header);
    let family = if network_order || big < 0x1_0000 { big } else { big.swap_bytes() };
    let (rest, wire) = after(data, wire, 4)?;
    match family {
        2 => ip::v4(frame, rest, wire),
        10 | 24 | 28 | 30 => ip::v6(frame, rest, wire),
        _ => None,
    }
}

/// Where the fields of a Linux cooked header stand.
struct Cooked {
    size: usize,
    kind: usize,
    /// Low byte of the address length.
    address_length: usize,
    address: usize,
}

fn cooked(frame: &mut Frame, data: &[u8], wire: u32, fields: &Cooked) -> Option<()> {
    let mut header = data.get(..fields.size)?.to_vec();
    let is_ethernet = header[fields.address_length] == 6;
    let address = &mut header[fields.address..fields.address + 8];
    let mapped = frame.map.mac(*address.first_chunk()?);
    address.fill(0);
    if is_ethernet {
        address[..6].copy_from_slice(&mapped);
    }
    frame.put(&header);
    let kind = be16(&header, fields.kind);
    let (rest, wire) = after(data, wire, fields.size)?;
    match kind {
        4 => snap(frame, rest, wire),
        0..=1500 => None,
        _ => ethertype(frame, kind, rest, wire),
    }
}

fn cisco_hdlc(frame: &mut Frame, data: &[u8], wire: u32) -> Option<()> {
    let header = data.first_chunk::<4>()?;
    frame.put(header);
    let (rest, wire) = after(data, wire, 4)?;
    tunnel::payload(frame, be16(header, 2), rest, wire)
}

/// Of the attributes nothing is left but the packet: prefixes name rules, others hosts and users.
fn nflog(frame: &mut Frame, data: &[u8], wire: u32) -> Option<()> {
    frame.blank(data, 4);
    let (mut data, mut wire) = after(data, wire, 4)?;
    loop {
        frame.enter()?;
        let header = data.first_chunk()?;
        let (size, kind) = nflog_attribute(header);
        frame.put(header);
        if size < 4 {
            return None;
        }
        if kind == NFLOG_PAYLOAD {
            let (rest, wire) = after(data, wire, 4)?;
            return ip::any(frame, rest, wire.min(u32::from(size) - 4));
        }
        let whole = usize::from(size).next_multiple_of(4);
        frame.blank(&data[4..], whole - 4);
        (data, wire) = after(data, wire, whole)?;
    }
}

/// The rest of the header names interface and process.
fn pktap(frame: &mut Frame, data: &[u8], wire: u32) -> bool {
    let Some(header) = data.first_chunk::<12>() else { return true };
    let Some((size, inner)) = pktap_header(header) else {
        frame.put(&[0; 12]);
        return false;
    };
    frame.put(header);
    frame.blank(&data[12..], size - 12);
    after(data, wire, size).is_none_or(|(rest, wire)| link(frame, inner, rest, wire))
}

pub fn be16(data: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([data[at], data[at + 1]])
}
