//! The datagrams that most captures are full of, read at one go: Ethernet or nothing, IPv4 without options or fragments
//! or IPv6 without extension headers, UDP that carries no known tunnel.

use super::bytes::be16;
use super::udp::{self, Payload};
use super::{ip, link, tunnel};
use crate::packet::{Address, FlowKey, Network, Packet, Sack, Tunnel};

const ETHERNET: usize = 14;
const UDP: usize = 8;
/// IANA's protocol number.
const PROTOCOL: u8 = 17;

/// Fills in `packet` as the walk down the headers would, or returns `None` where anything is out of the ordinary.
#[inline(always)]
pub(super) fn plain(link_type: u32, data: &[u8], wire: u32, packet: &mut Packet) -> Option<Payload> {
    match link_type {
        link::ETHERNET if wire >= ETHERNET as u32 => {
            let head = data.first_chunk::<ETHERNET>()?;
            let at = match be16(head, 12) {
                0x0800 => v4::<ETHERNET>(data, packet)?,
                0x86dd => v6::<ETHERNET>(data, packet)?,
                _ => return None,
            };
            packet.station.copy_from_slice(&head[6..12]);
            Some(at)
        }
        link::RAW => {
            packet.station = [0; 6];
            match data.first()? >> 4 {
                4 => v4::<0>(data, packet),
                _ => v6::<0>(data, packet),
            }
        }
        _ => None,
    }
}

/// With a header of IP that begins at `AT`.
#[inline(always)]
fn v4<const AT: usize>(data: &[u8], packet: &mut Packet) -> Option<Payload> {
    let (head, rest) = data.get(AT..)?.split_first_chunk::<20>()?;
    let whole = be16(head, 6) & 0x3fff == 0;
    if head[0] != 0x45 || head[9] != PROTOCOL || !whole {
        return None;
    }
    let length = u32::from(be16(head, 2)).checked_sub(20)?;
    let (src, dst) = (ip::mapped(head, 12), ip::mapped(head, 16));
    let payload = datagram(rest, AT + 20, length, (src, dst), packet)?;
    (packet.ip_version, packet.ttl, packet.ip_id) = (4, head[8], Some(be16(head, 4)));
    (packet.dscp, packet.ip_ecn) = (head[1] >> 2, head[1] & 3);
    Some(payload)
}

#[inline(always)]
fn v6<const AT: usize>(data: &[u8], packet: &mut Packet) -> Option<Payload> {
    let (head, rest) = data.get(AT..)?.split_first_chunk::<40>()?;
    let length = u32::from(be16(head, 4));
    if head[0] >> 4 != 6 || head[6] != PROTOCOL {
        return None;
    }
    let address = |at: usize| Address::try_from(&head[at..at + 16]).unwrap_or_default();
    let payload = datagram(rest, AT + 40, length, (address(8), address(24)), packet)?;
    (packet.ip_version, packet.ttl, packet.ip_id) = (6, head[7], None);
    (packet.dscp, packet.ip_ecn) = ((be16(head, 0) >> 6 & 0x3f) as u8, head[1] >> 4 & 3);
    Some(payload)
}

/// The header of UDP and what follows it in the frame from `at` on, of so many bytes: 0 in super-packets.
#[inline(always)]
fn datagram(
    data: &[u8],
    at: usize,
    length: u32,
    (src, dst): (Address, Address),
    packet: &mut Packet,
) -> Option<Payload> {
    let (header, rest) = data.split_first_chunk::<UDP>()?;
    let left = length.checked_sub(UDP as u32)?;
    let (src_port, dst_port) = (be16(header, 0), be16(header, 2));
    if tunnel::of_port(dst_port).is_some() {
        return None;
    }
    packet.key = FlowKey { src, dst, src_port, dst_port, network: Network::default() };
    packet.payload_len = udp::payload_len(header, left);
    without_tcp(packet);
    Some(Payload { at: at + UDP, len: rest.len().min(left.min(packet.payload_len) as usize) })
}

/// Field by field: a packet made anew would be copied.
#[inline(always)]
fn without_tcp(packet: &mut Packet) {
    (packet.outer_ecn, packet.tunnel) = (None, Tunnel::None);
    (packet.seq, packet.ack, packet.flags, packet.window) = (0, 0, 0, 0);
    (packet.mss, packet.wscale, packet.sack_permitted) = (None, None, false);
    (packet.timestamps, packet.accecn, packet.sack) = (None, None, Sack::default());
    packet.options_cut = false;
}

#[cfg(test)]
mod tests {
    use super::super::plain::tests::{another, changed, read};
    use super::super::{frame, walk, Outcome};
    use super::*;

    /// Behind the headers of Ethernet, if any, and of IPv4 or IPv6.
    fn frame_of(link_type: u32, v6: bool) -> Vec<u8> {
        let payload = [1; 60];
        let length = (UDP + payload.len()) as u16;
        let mut frame = if link_type == link::ETHERNET { vec![2; 12] } else { Vec::new() };
        if link_type == link::ETHERNET {
            frame.extend(if v6 { [0x86, 0xdd] } else { [8, 0] });
        }
        if v6 {
            frame.extend([0x6b, 0x70, 0, 9]);
            frame.extend(length.to_be_bytes());
            frame.extend([PROTOCOL, 64]);
            frame.extend(1..33);
        } else {
            frame.extend([0x45, 1]);
            frame.extend((length + 20).to_be_bytes());
            frame.extend([0, 7, 0x40, 0, 64, PROTOCOL, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        frame.extend([200, 1, 1, 187]);
        frame.extend(length.to_be_bytes());
        frame.extend([0, 0]);
        frame.extend(payload);
        frame
    }

    fn frames() -> impl Iterator<Item = (u32, Vec<u8>)> {
        let of = |n| (if n < 2 { link::ETHERNET } else { link::RAW }, n % 2 == 0);
        (0..4).map(of).map(|(link_type, v6)| (link_type, frame_of(link_type, v6)))
    }

    #[test]
    fn a_plain_datagram_needs_no_walk() {
        for (link_type, frame) in frames() {
            let (wire, mut packet) = (frame.len() as u32, another());
            let payload = plain(link_type, &frame, wire, &mut packet).expect("nothing out of the ordinary");
            assert_eq!((Outcome::Udp(payload), packet), read(link_type, &frame, wire, walk));
            assert_eq!((payload.at, payload.len, packet.payload_len), (frame.len() - 60, 60, 60));
        }
    }

    #[test]
    fn whatever_is_changed_the_walk_finds_the_same() {
        let mut read_at_once = [0; 2];
        for (link_type, whole) in frames() {
            let headers = 0..whole.len() - 60;
            for (bytes, wire) in changed((0..25_000).map(|_| whole.clone()), headers) {
                let found = read(link_type, &bytes, wire, frame);
                assert_eq!(found, read(link_type, &bytes, wire, walk), "{bytes:02x?}, {wire} on the wire");
                let plain = plain(link_type, &bytes, wire, &mut Packet::default());
                read_at_once[usize::from(plain.is_some())] += 1;
            }
        }
        assert!(read_at_once.iter().all(|&frames| frames > 1000), "{read_at_once:?}");
    }
}
