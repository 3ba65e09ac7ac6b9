//! Link-layer headers, by LINKTYPE_ value (https://www.tcpdump.org/linktypes.html).

use super::bytes::{after, be16, be32, head};
use super::{ip, wireless, Decoded, Layers};
use crate::stats::Loss;

pub const ETHERNET: u32 = 1;
/// A packet of IP and nothing before it (LINKTYPE_RAW).
pub const RAW: u32 = 101;

/// Names as libpcap gives them, for the `sources` table.
pub fn name(link_type: u32) -> String {
    let known = match link_type {
        0 => "NULL",
        1 => "EN10MB",
        9 => "PPP",
        12 | 14 | RAW => "RAW",
        50 => "PPP_SERIAL",
        51 => "PPP_ETHER",
        104 => "C_HDLC",
        105 => "IEEE802_11",
        108 => "LOOP",
        113 => "LINUX_SLL",
        127 => "IEEE802_11_RADIO",
        204 => "PPP_PPPD",
        228 => "IPV4",
        229 => "IPV6",
        239 => "NFLOG",
        149 | 258 => "PKTAP",
        276 => "LINUX_SLL2",
        other => return format!("LINKTYPE {other}"),
    };
    known.to_owned()
}

#[inline]
pub(super) fn link(layers: &mut Layers, link_type: u32, data: &[u8], wire: u32) -> Decoded {
    match link_type {
        ETHERNET => ethernet(layers, data, wire),
        12 | 14 | RAW | 228 | 229 => ip::any(layers, data, wire),
        0 => null(layers, data, wire, false),
        108 => null(layers, data, wire, true),
        113 => linux_cooked(layers, data, wire),
        276 => linux_cooked_v2(layers, data, wire),
        9 | 50 => ppp(layers, data, wire),
        51 => pppoe(layers, data, wire),
        104 => cisco_hdlc(layers, data, wire),
        105 => wireless::ieee802_11(layers, data, wire),
        127 => wireless::radiotap(layers, data, wire),
        239 => nflog(layers, data, wire),
        149 | 258 => pktap(layers, data, wire),
        204 => {
            let (rest, wire) = after(data, wire, 1)?;
            ppp(layers, rest, wire)
        }
        _ => Err(Loss::UnknownLinkType),
    }
}

#[inline]
pub(super) fn ethernet(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    let header = head::<14>(data)?;
    layers.station.copy_from_slice(&header[6..12]);
    let kind = be16(header, 12);
    let (rest, wire) = after(data, wire, 14)?;
    ethertype(layers, kind, rest, wire)
}

/// Dispatches on an EtherType, or on an 802.3 length (IEEE 802.3 clause 3.2.6).
#[inline]
pub(super) fn ethertype(layers: &mut Layers, kind: u16, data: &[u8], wire: u32) -> Decoded {
    match kind {
        0x0800 => ip::v4(layers, data, wire),
        0x86dd => ip::v6(layers, data, wire),
        _ => {
            layers.step()?;
            wrapped(layers, kind, data, wire)
        }
    }
}

fn wrapped(layers: &mut Layers, kind: u16, data: &[u8], wire: u32) -> Decoded {
    match kind {
        // C-VLAN, S-VLAN (QinQ) and the two that came before 802.1ad.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
            let tag = head::<4>(data)?;
            let inner = be16(tag, 2);
            let key = &mut layers.packet.key;
            key.network = key.network.in_vlan(be16(tag, 0));
            let (rest, wire) = after(data, wire, 4)?;
            ethertype(layers, inner, rest, wire)
        }
        0x8847 | 0x8848 => mpls(layers, data, wire),
        0x8864 => pppoe(layers, data, wire),
        0x6558 => ethernet(layers, data, wire),
        0..=1500 => snap(layers, data, wire),
        0x88e5 => Err(Loss::Opaque),
        _ => Err(Loss::NotIp),
    }
}

/// IEEE 802.2 SNAP with the EtherType organisation code (RFC 1042).
pub(super) fn snap(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    if !data.starts_with(&[0xaa, 0xaa, 0x03, 0, 0, 0]) {
        return Err(Loss::NotIp);
    }
    let kind = be16(head::<8>(data)?, 6);
    let (rest, wire) = after(data, wire, 8)?;
    // A length here would be a second SNAP header in the first.
    if kind <= 1500 {
        return Err(Loss::NotIp);
    }
    ethertype(layers, kind, rest, wire)
}

/// Label stack (RFC 3032); its first nibble identifies what follows, as in routers (RFC 4928).
pub(super) fn mpls(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    let (mut data, mut wire) = (data, wire);
    loop {
        layers.step()?;
        let bottom = head::<4>(data)?[2] & 1 == 1;
        (data, wire) = after(data, wire, 4)?;
        if bottom {
            break;
        }
    }
    match head::<1>(data)?[0] >> 4 {
        // Pseudowire control word (RFC 4448 section 4.6).
        0 => {
            let (data, wire) = after(data, wire, 4)?;
            ethernet(layers, data, wire)
        }
        _ => ip::any(layers, data, wire),
    }
}

/// PPPoE session header (RFC 2516 section 4).
fn pppoe(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    let header = head::<6>(data)?;
    if header[0] != 0x11 || header[1] != 0 {
        return Err(Loss::NotIp);
    }
    let length = u32::from(be16(header, 4));
    let (rest, wire) = after(data, wire, 6)?;
    ppp(layers, rest, wire.min(length))
}

/// PPP with or without address and control bytes and with compressed protocol (RFC 1661, 1662).
pub(super) fn ppp(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    let (data, wire) = if data.starts_with(&[0xff, 0x03]) { after(data, wire, 2)? } else { (data, wire) };
    let first = head::<1>(data)?[0];
    let (protocol, length) =
        if first & 1 == 1 { (u16::from(first), 1) } else { (be16(head::<2>(data)?, 0), 2) };
    let (rest, wire) = after(data, wire, length)?;
    match protocol {
        0x0021 => ip::v4(layers, rest, wire),
        0x0057 => ip::v6(layers, rest, wire),
        0x0281 | 0x0283 => mpls(layers, rest, wire),
        _ => Err(Loss::NotIp),
    }
}

/// BSD loopback: an address family in the byte order of the capturing host, or big-endian (LOOP).
fn null(layers: &mut Layers, data: &[u8], wire: u32, network_order: bool) -> Decoded {
    let big = be32(head::<4>(data)?, 0);
    let family = if network_order || big < 0x1_0000 { big } else { big.swap_bytes() };
    let (rest, wire) = after(data, wire, 4)?;
    match family {
        2 => ip::v4(layers, rest, wire),
        // AF_INET6 of Linux, NetBSD, FreeBSD and Darwin.
        10 | 24 | 28 | 30 => ip::v6(layers, rest, wire),
        _ => Err(Loss::NotIp),
    }
}

fn linux_cooked(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    let header = head::<16>(data)?;
    if header[5] == 6 {
        layers.station.copy_from_slice(&header[6..12]);
    }
    let kind = be16(header, 14);
    let (rest, wire) = after(data, wire, 16)?;
    cooked_payload(layers, kind, rest, wire)
}

fn linux_cooked_v2(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    let header = head::<20>(data)?;
    let kind = be16(header, 0);
    layers.packet.interface = layers.packet.interface.with_index(be32(header, 4));
    if header[11] == 6 {
        layers.station.copy_from_slice(&header[12..18]);
    }
    let (rest, wire) = after(data, wire, 20)?;
    cooked_payload(layers, kind, rest, wire)
}

/// Values below 1501 are Linux's own: 4 means 802.2 follows.
fn cooked_payload(layers: &mut Layers, kind: u16, data: &[u8], wire: u32) -> Decoded {
    match kind {
        4 => snap(layers, data, wire),
        0..=1500 => Err(Loss::NotIp),
        _ => ethertype(layers, kind, data, wire),
    }
}

fn cisco_hdlc(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    let kind = be16(head::<4>(data)?, 2);
    let (rest, wire) = after(data, wire, 4)?;
    if kind <= 1500 {
        return Err(Loss::NotIp);
    }
    ethertype(layers, kind, rest, wire)
}

/// Type of the attribute that is the packet (NFULA_PAYLOAD).
pub const NFLOG_PAYLOAD: u16 = 9;

/// Netfilter's log: attributes in the byte order of the host, of which one is the IP packet.
fn nflog(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    head::<4>(data)?;
    let (mut data, mut wire) = after(data, wire, 4)?;
    loop {
        layers.step()?;
        let (size, kind) = nflog_attribute(head::<4>(data)?);
        if size < 4 {
            return Err(Loss::BadLengths);
        }
        if kind == NFLOG_PAYLOAD {
            let (rest, wire) = after(data, wire, 4)?;
            return ip::any(layers, rest, wire.min(u32::from(size) - 4));
        }
        (data, wire) = after(data, wire, usize::from(size).next_multiple_of(4))?;
    }
}

/// Length and type. A type is below 256, by which a big-endian host is known.
pub fn nflog_attribute(header: &[u8; 4]) -> (u16, u16) {
    let kind = u16::from_le_bytes([header[2], header[3]]);
    if kind > 0xff {
        return (be16(header, 0), kind.swap_bytes());
    }
    (u16::from_le_bytes([header[0], header[1]]), kind)
}

/// Length of the header of macOS, which states itself, and the link type inside; that it is a packet.
pub fn pktap_header(header: &[u8; 12]) -> Option<(usize, u32)> {
    let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (size, kind, inner) = (word(0) as usize, word(4), word(8));
    // No header inside the header.
    (PKTAP.contains(&size) && kind == 1 && !matches!(inner, 149 | 258)).then_some((size, inner))
}

/// Bytes of every version so far, and of what may come.
const PKTAP: std::ops::RangeInclusive<usize> = 108..=1024;

/// Darwin's bsd/net/pktap.h.
fn pktap(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    let Some((size, inner)) = pktap_header(head(data)?) else { return Err(Loss::UnknownLinkType) };
    let (rest, wire) = after(data, wire, size)?;
    link(layers, inner, rest, wire)
}
