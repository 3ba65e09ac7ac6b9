//! Tunnels that carry IP: GRE, and VXLAN, Geneve and GTP-U over UDP. Copies of packets: ERSPAN and TZSP.

use super::bytes::{after, be16, be24, head};
use super::ip::inside;
use super::{ip, link, wireless, Decoded, Layers};
use crate::packet::{Network, Tunnel};
use crate::stats::Loss;

/// IANA's port and the one that Linux used before it was assigned.
const VXLAN_PORTS: [u16; 2] = [4789, 8472];
const GENEVE_PORT: u16 = 6081;
const GTP_U_PORT: u16 = 2152;
const TZSP_PORT: u16 = 37008;

/// Reads what is behind a header, of so many bytes on the wire.
pub(super) type Read = fn(&mut Layers, &[u8], u32) -> Decoded;

/// What a UDP header to this port leads to, where that is a tunnel's.
#[inline]
pub(super) fn of_port(port: u16) -> Option<Read> {
    match port {
        GENEVE_PORT => Some(|l, rest, length| inside(l, Tunnel::Geneve, |l| geneve(l, rest, length))),
        GTP_U_PORT => Some(|l, rest, length| inside(l, Tunnel::Gtp, |l| gtp_u(l, rest, length))),
        TZSP_PORT => Some(tzsp),
        _ if VXLAN_PORTS.contains(&port) => {
            Some(|l, rest, length| inside(l, Tunnel::Vxlan, |l| vxlan(l, rest, length)))
        }
        _ => None,
    }
}

/// RFC 7348 section 5: only the I flag may be set.
fn vxlan(layers: &mut Layers, data: &[u8], length: u32) -> Decoded {
    let header = head::<8>(data)?;
    if header[0] & 0x08 == 0 {
        return Err(Loss::Opaque);
    }
    layers.packet.key.network = Network::virtual_network(be24(header, 4));
    let (rest, length) = after(data, length, 8)?;
    link::ethernet(layers, rest, length)
}

/// RFC 8926 section 3.4: options of 4 bytes each, then the protocol that the header names.
fn geneve(layers: &mut Layers, data: &[u8], length: u32) -> Decoded {
    let header = head::<8>(data)?;
    if header[0] >> 6 != 0 {
        return Err(Loss::Opaque);
    }
    let size = 8 + usize::from(header[0] & 0x3f) * 4;
    let kind = be16(header, 2);
    layers.packet.key.network = Network::virtual_network(be24(header, 4));
    let (rest, length) = after(data, length, size)?;
    payload(layers, kind, rest, length)
}

/// 3GPP TS 29.281 section 5: G-PDU messages, with their extension headers.
fn gtp_u(layers: &mut Layers, data: &[u8], length: u32) -> Decoded {
    let header = head::<8>(data)?;
    let (flags, message) = (header[0], header[1]);
    if flags >> 5 != 1 || flags & 0x10 == 0 || message != 255 {
        return Err(Loss::NotTcp);
    }
    let (mut data, mut length) = after(data, length, 8)?;
    if flags & 0x07 != 0 {
        let mut next = head::<4>(data)?[3] * u8::from(flags & 0x04 != 0);
        (data, length) = after(data, length, 4)?;
        while next != 0 {
            layers.step()?;
            let size = usize::from(head::<1>(data)?[0]) * 4;
            if size == 0 {
                return Err(Loss::BadLengths);
            }
            next = *data.get(size - 1).ok_or(Loss::HeadersCut)?;
            (data, length) = after(data, length, size)?;
        }
    }
    ip::any(layers, data, length)
}

/// RFC 2784 and 2890; version 1 is PPTP's (RFC 2637 section 4.1).
pub(super) fn gre(layers: &mut Layers, data: &[u8], length: u32) -> Decoded {
    let header = head::<4>(data)?;
    let (flags, kind) = (be16(header, 0), be16(header, 2));
    let present = |bit: u16| usize::from(flags & bit != 0) * 4;
    let (key, sequence) = (present(0x2000), present(0x1000));
    match flags & 7 {
        // A checksum or the long-gone source route both bring the checksum word.
        0 if flags & 0x4000 == 0 => {
            let (rest, length) = after(data, length, 4 + present(0x8000) + key + sequence)?;
            match kind {
                ERSPAN => erspan(layers, if sequence > 0 { 8 } else { 0 }, rest, length),
                ERSPAN_3 => erspan_3(layers, rest, length),
                _ => payload(layers, kind, rest, length),
            }
        }
        1 if kind == 0x880b => {
            let (rest, length) = after(data, length, 4 + key + sequence + present(0x0080))?;
            link::ppp(layers, rest, length)
        }
        _ => Err(Loss::Opaque),
    }
}

/// Type I has no header and no sequence number, type II has both (draft-foschiano-erspan).
pub const ERSPAN: u16 = 0x88be;
pub const ERSPAN_3: u16 = 0x22eb;

fn erspan(layers: &mut Layers, size: usize, data: &[u8], length: u32) -> Decoded {
    layers.step()?;
    layers.mirrored();
    let (rest, length) = after(data, length, size)?;
    link::ethernet(layers, rest, length)
}

fn erspan_3(layers: &mut Layers, data: &[u8], length: u32) -> Decoded {
    let (size, kind) = erspan_3_header(head(data)?);
    match kind {
        0 => erspan(layers, size, data, length),
        2 => {
            layers.step()?;
            layers.mirrored();
            let (rest, length) = after(data, length, size)?;
            ip::any(layers, rest, length)
        }
        _ => Err(Loss::NotIp),
    }
}

/// Bytes of the header, and the kind of frame behind it: 0 Ethernet, 2 IP.
pub fn erspan_3_header(header: &[u8; 12]) -> (usize, u16) {
    let flags = be16(header, 10);
    (if flags & 1 == 0 { 12 } else { 20 }, flags >> 10 & 0x1f)
}

/// What follows the header of TZSP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tagged {
    Padding,
    End,
    /// A tag of so many bytes, its own two among them.
    Other(usize),
}

pub fn tzsp_tag(data: &[u8]) -> Option<Tagged> {
    Some(match data.first()? {
        0 => Tagged::Padding,
        1 => Tagged::End,
        _ => Tagged::Other(2 + usize::from(*data.get(1)?)),
    })
}

/// Whether a header of TZSP precedes a packet: version 1, received or to be sent.
pub fn is_tzsp(header: &[u8; 4]) -> bool {
    header[0] == 1 && header[1] < 2
}

/// TaZmen Sniffer Protocol, as MikroTik's routers and access points send it.
fn tzsp(layers: &mut Layers, data: &[u8], length: u32) -> Decoded {
    let header = head::<4>(data)?;
    if !is_tzsp(header) {
        return Err(Loss::NotTcp);
    }
    let (mut data, mut length) = after(data, length, 4)?;
    loop {
        let tag = tzsp_tag(data).ok_or(Loss::HeadersCut)?;
        let size = if let Tagged::Other(size) = tag { size } else { 1 };
        (data, length) = after(data, length, size).map_err(|_| Loss::HeadersCut)?;
        if tag == Tagged::End {
            break;
        }
    }
    layers.step()?;
    layers.mirrored();
    match be16(header, 2) {
        1 => link::ethernet(layers, data, length),
        18 => wireless::ieee802_11(layers, data, length),
        _ => Err(Loss::NotIp),
    }
}

/// What is not IP inside a tunnel is indistinguishable from garbage: it counts as not IP.
fn payload(layers: &mut Layers, kind: u16, data: &[u8], length: u32) -> Decoded {
    if kind <= 1500 {
        return Err(Loss::NotIp);
    }
    link::ethertype(layers, kind, data, length)
}
