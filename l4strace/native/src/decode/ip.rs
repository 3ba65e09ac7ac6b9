//! IPv4 (RFC 791), IPv6 (RFC 8200) and its extension headers, and what they carry.

use super::bytes::{after, be16, be32, head};
use super::{tcp, tunnel, udp, Decoded, Fragment, Layers};
use crate::packet::{Address, Tunnel};
use crate::stats::Loss;

/// IANA's protocol number.
const TCP: u8 = 6;

/// By the version nibble.
pub(super) fn any(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    match head::<1>(data)?[0] >> 4 {
        4 => v4(layers, data, wire),
        6 => v6(layers, data, wire),
        _ => Err(Loss::NotIp),
    }
}

#[inline]
pub(super) fn v4(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    let ip = head::<20>(data)?;
    let header_len = usize::from(ip[0] & 15) * 4;
    if ip[0] >> 4 != 4 || header_len < 20 {
        return Err(Loss::BadLengths);
    }
    let length = bounded(layers, u32::from(be16(ip, 2)), wire);
    enter(layers, ip[1])?;
    let packet = &mut *layers.packet;
    packet.ip_version = 4;
    packet.ttl = ip[8];
    packet.ip_id = Some(be16(ip, 4));
    packet.key.src = mapped(ip, 12);
    packet.key.dst = mapped(ip, 16);
    let (rest, length) = after(data, length, header_len)?;
    // More fragments follow, or this is not the first.
    if be16(ip, 6) & 0x3fff != 0 {
        let (id, place) = (u32::from(be16(ip, 4)), be16(ip, 6));
        let is_last = place & 0x2000 == 0;
        return fragment(
            layers,
            ip[9],
            rest,
            Fragment { id, offset: u32::from(place & 0x1fff) * 8, len: length, is_last },
        );
    }
    payload(layers, ip[9], rest, length)
}

#[inline]
pub(super) fn v6(layers: &mut Layers, data: &[u8], wire: u32) -> Decoded {
    let ip = head::<40>(data)?;
    if ip[0] >> 4 != 6 {
        return Err(Loss::BadLengths);
    }
    // A jumbogram (RFC 2675) has 0 too, and the wire length is right for it as it is for BIG TCP.
    let stated = match be16(ip, 4) {
        0 => 0,
        n => u32::from(n) + 40,
    };
    let length = bounded(layers, stated, wire);
    enter(layers, (ip[0] << 4) | (ip[1] >> 4))?;
    let packet = &mut *layers.packet;
    packet.ip_version = 6;
    packet.ttl = ip[7];
    packet.ip_id = None;
    packet.key.src = Address::try_from(&ip[8..24]).unwrap_or_default();
    packet.key.dst = Address::try_from(&ip[24..40]).unwrap_or_default();
    let (rest, length) = after(data, length, 40)?;
    payload(layers, ip[6], rest, length)
}

/// The IP length; a length of 0 is a segmentation super-packet, which is as long as on the wire.
#[inline]
fn bounded(layers: &mut Layers, stated: u32, wire: u32) -> u32 {
    if stated == 0 {
        return wire;
    }
    // Inside a fragmented tunnel packet this is normal; at the outermost header it is not.
    if stated > wire && layers.ip_headers == 0 {
        layers.odd = Some(Loss::OddLengths);
    }
    stated
}

/// Notes the traffic class; the outermost codepoint is kept when a second IP header follows.
#[inline]
fn enter(layers: &mut Layers, traffic_class: u8) -> Decoded {
    layers.step()?;
    if layers.ip_headers == 1 {
        layers.packet.outer_ecn = Some(layers.packet.ip_ecn);
    }
    layers.ip_headers += 1;
    layers.fragment = None;
    layers.packet.dscp = traffic_class >> 2;
    layers.packet.ip_ecn = traffic_class & 3;
    Ok(())
}

#[inline(always)]
pub(super) fn mapped<const N: usize>(ip: &[u8; N], at: usize) -> Address {
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ip[at], ip[at + 1], ip[at + 2], ip[at + 3]]
}

/// Protocol numbers of IANA's registry.
#[inline]
fn payload(layers: &mut Layers, protocol: u8, data: &[u8], length: u32) -> Decoded {
    match protocol {
        TCP => tcp::tcp(layers, data, length),
        17 => udp::udp(layers, data, length),
        4 => inside(layers, Tunnel::IpInIp, |l| v4(l, data, length)),
        41 => inside(layers, Tunnel::IpInIp, |l| v6(l, data, length)),
        47 => inside(layers, Tunnel::Gre, |l| tunnel::gre(l, data, length)),
        _ => extension(layers, protocol, data, length),
    }
}

/// One fragment of several. What a tunnel carries is read from the first one alone: its inner header states
/// the length.
#[cold]
fn fragment(layers: &mut Layers, protocol: u8, data: &[u8], fragment: Fragment) -> Decoded {
    layers.fragment = (protocol == TCP).then_some(fragment);
    if fragment.offset > 0 {
        return Err(Loss::IpFragments);
    }
    payload(layers, protocol, data, fragment.len)
}

/// Only the outermost tunnel is named.
pub(super) fn inside(
    layers: &mut Layers,
    tunnel: Tunnel,
    decode: impl FnOnce(&mut Layers) -> Decoded,
) -> Decoded {
    if layers.packet.tunnel == Tunnel::None {
        layers.packet.tunnel = tunnel;
    }
    decode(layers)
}

/// IPv6 extension headers (RFC 8200 section 4), and AH (RFC 4302), which IPv4 may carry too.
fn extension(layers: &mut Layers, protocol: u8, data: &[u8], length: u32) -> Decoded {
    layers.step()?;
    let header = match protocol {
        0 | 43 | 44 | 51 | 60 | 135 | 139 | 140 => head::<8>(data)?,
        50 => return Err(Loss::Opaque),
        _ => return Err(Loss::NotTcp),
    };
    let size = match protocol {
        44 => 8,
        51 => (usize::from(header[1]) + 2) * 4,
        _ => (usize::from(header[1]) + 1) * 8,
    };
    if protocol == 44 {
        layers.packet.ip_id = Some(be16(header, 6));
        let (rest, len) = after(data, length, size)?;
        let (id, place) = (be32(header, 4), be16(header, 2));
        // Neither offset nor more to come: an atomic fragment (RFC 6946) is a whole packet.
        if place & 0xfff9 != 0 {
            let is_last = place & 1 == 0;
            let part = Fragment { id, offset: u32::from(place & 0xfff8), len, is_last };
            return fragment(layers, header[0], rest, part);
        }
    }
    let (rest, length) = after(data, length, size)?;
    payload(layers, header[0], rest, length)
}
