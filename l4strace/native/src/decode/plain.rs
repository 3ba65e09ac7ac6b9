//! The frames that most captures are full of, read at one go: Ethernet, IPv4 without options or fragments or IPv6
//! without extension headers, TCP.

use super::bytes::{be16, be32};
use super::{ip, options};
use crate::packet::{Address, Network, Packet, Sack, Tunnel};

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const IPV6: usize = 40;
const TCP: usize = 20;
/// IANA's protocol number.
const PROTOCOL: u8 = 6;

/// Fills in `packet` as the walk down the headers would, or returns false where anything is out of the ordinary.
#[inline(always)]
pub(super) fn plain(data: &[u8], wire: u32, packet: &mut Packet) -> bool {
    match data.first_chunk() {
        Some(head) if be16(head, 12) == 0x0800 => v4(data, head, wire, packet),
        Some(head) if be16(head, 12) == 0x86dd => v6(data, wire, packet),
        _ => false,
    }
}

const V4: usize = ETHERNET + IPV4;
const V6: usize = ETHERNET + IPV6;

#[inline(always)]
fn v4(data: &[u8], head: &[u8; V4 + TCP], wire: u32, packet: &mut Packet) -> bool {
    let whole = be16(head, 20) & 0x3fff == 0;
    if head[14] != 0x45 || head[23] != PROTOCOL || !whole {
        return false;
    }
    // The length of IP is 0 in super-packets.
    let Some(header) = header::<V4>(data, u32::from(be16(head, 16)), wire) else { return false };
    packet.key.src = ip::mapped(head, 26);
    packet.key.dst = ip::mapped(head, 30);
    packet.ip_version = 4;
    packet.ttl = head[22];
    packet.dscp = head[15] >> 2;
    packet.ip_ecn = head[15] & 3;
    packet.ip_id = Some(be16(head, 18));
    tcp(&header, packet)
}

#[inline(never)]
fn v6(data: &[u8], wire: u32, packet: &mut Packet) -> bool {
    let Some(head) = data.first_chunk::<{ V6 + TCP }>() else { return false };
    let length = u32::from(be16(head, 18));
    if head[14] >> 4 != 6 || head[20] != PROTOCOL || length == 0 {
        return false;
    }
    let Some(header) = header::<V6>(data, length + IPV6 as u32, wire) else { return false };
    packet.key.src = Address::try_from(&head[22..38]).unwrap_or_default();
    packet.key.dst = Address::try_from(&head[38..54]).unwrap_or_default();
    packet.ip_version = 6;
    packet.ttl = head[21];
    packet.dscp = (be16(head, 14) >> 6 & 0x3f) as u8;
    packet.ip_ecn = head[15] >> 4 & 3;
    packet.ip_id = None;
    tcp(&header, packet)
}

/// The header of TCP, and what follows it.
struct Header<'a> {
    fixed: &'a [u8; TCP],
    options: &'a [u8],
    payload_len: u32,
}

/// That which begins at `AT`, in a packet of IP of so many bytes; none where lengths contradict each other.
#[inline(always)]
fn header<const AT: usize>(data: &[u8], length: u32, wire: u32) -> Option<Header<'_>> {
    let fixed = data.get(AT..)?.first_chunk::<TCP>()?;
    let size = usize::from(fixed[12] >> 4) * 4;
    let options = data.get(AT + TCP..AT + size)?;
    let payload_len = length.checked_sub((AT - ETHERNET + size) as u32)?;
    (length + ETHERNET as u32 <= wire).then_some(Header { fixed, options, payload_len })
}

/// Fills in the rest. Field by field, in the order in which they are read: that keeps all in registers.
#[inline(always)]
fn tcp(header: &Header<'_>, packet: &mut Packet) -> bool {
    let tcp = header.fixed;
    packet.key.src_port = be16(tcp, 0);
    packet.key.dst_port = be16(tcp, 2);
    packet.key.network = Network::default();
    packet.seq = be32(tcp, 4);
    packet.ack = be32(tcp, 8);
    packet.flags = be16(tcp, 12) & 0x0fff;
    packet.window = be16(tcp, 14);
    packet.payload_len = header.payload_len;
    packet.station = [0; 6];
    packet.outer_ecn = None;
    packet.tunnel = Tunnel::None;
    packet.mss = None;
    packet.wscale = None;
    packet.sack_permitted = false;
    packet.timestamps = None;
    packet.accecn = None;
    packet.sack = Sack::default();
    packet.options_cut = false;
    options::options(packet, header.options)
}

#[cfg(test)]
pub(super) mod tests {
    use std::ops::Range;

    use super::super::{frame, link, walk, Outcome};
    use super::*;
    use crate::packet::{AccEcnOption, FlowKey};

    /// Timestamps, an AccECN option, SACK with one block.
    const OPTIONS: [u8; 36] = [
        1, 1, 8, 10, 0, 0, 1, 0, 0, 0, 2, 0, 172, 11, 0, 0, 1, 0, 0, 2, 0, 0, 3, 1, 1, 1, 5, 10, 0, 0, 0, 9,
        0, 0, 0, 99,
    ];
    const PAYLOAD: usize = 100;

    /// Behind the header of IPv4, or of IPv6.
    fn segment(v6: bool) -> Vec<u8> {
        let length = (TCP + OPTIONS.len() + PAYLOAD) as u16;
        let header = ((TCP + OPTIONS.len()) << 2) as u8;
        let mut frame = vec![0; 12];
        if v6 {
            frame.extend([0x86, 0xdd, 0x6b, 0x70, 0, 9]);
            frame.extend(length.to_be_bytes());
            frame.extend([6, 64]);
            frame.extend(1..33);
        } else {
            frame.extend([8, 0, 0x45, 1]);
            frame.extend((length + IPV4 as u16).to_be_bytes());
            frame.extend([0, 7, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        frame.extend([0, 80, 200, 1, 0, 0, 0, 9, 0, 0, 0, 5, header, 0x50, 1, 0, 0, 0, 0, 0]);
        frame.extend(OPTIONS);
        frame.resize(frame.len() + PAYLOAD, 0);
        frame
    }

    /// What an earlier frame may have left in the place of a packet.
    pub fn another() -> Packet {
        Packet {
            station: [1; 6],
            key: FlowKey { network: Network::virtual_network(7), ..FlowKey::default() },
            outer_ecn: Some(1),
            tunnel: Tunnel::Gre,
            ip_id: Some(1),
            mss: Some(1),
            wscale: Some(1),
            sack_permitted: true,
            timestamps: Some((1, 1)),
            accecn: Some(AccEcnOption::default()),
            sack: Sack { count: 1, blocks: [(1, 2); 4] },
            options_cut: true,
            ..Packet::default()
        }
    }

    /// What `read` makes of a frame; the packet where it is one.
    pub fn read(
        link_type: u32,
        frame: &[u8],
        wire: u32,
        read: fn(u32, &[u8], u32, &mut Packet) -> Outcome,
    ) -> (Outcome, Packet) {
        let mut packet = another();
        match read(link_type, frame, wire, &mut packet) {
            outcome @ Outcome::Not(_) => (outcome, Packet::default()),
            outcome => (outcome, packet),
        }
    }

    /// Frames with bytes of `headers` changed, some cut off, and how many the wire carried.
    pub fn changed(
        frames: impl Iterator<Item = Vec<u8>>,
        headers: Range<usize>,
    ) -> impl Iterator<Item = (Vec<u8>, u32)> {
        let mut random = 1u64;
        let mut next = move |most: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % most
        };
        frames.map(move |mut bytes| {
            for _ in 0..next(4) {
                let at = headers.start + next(headers.len());
                bytes[at] = if next(2) == 0 { bytes[at] ^ 1 << next(8) } else { next(256) as u8 };
            }
            let wire = (bytes.len() + next(3) * next(9)).saturating_sub(next(3) * next(60)) as u32;
            if next(4) == 0 {
                bytes.truncate(next(bytes.len()));
            }
            (bytes, wire)
        })
    }

    #[test]
    fn a_plain_segment_needs_no_walk() {
        for v6 in [false, true] {
            let (frame, mut packet) = (segment(v6), another());
            assert!(plain(&frame, frame.len() as u32, &mut packet));
            assert_eq!(packet, read(link::ETHERNET, &frame, frame.len() as u32, walk).1);
            assert_eq!((packet.payload_len, packet.sack.count), (PAYLOAD as u32, 1));
            assert!(packet.accecn.is_some() && packet.timestamps.is_some());
        }
    }

    #[test]
    fn whatever_is_changed_the_walk_finds_the_same() {
        let mut kinds = [0; 5];
        for v6 in [false, true] {
            let whole = segment(v6);
            let headers = 12..whole.len() - PAYLOAD;
            for (bytes, wire) in changed((0..50_000).map(|_| whole.clone()), headers) {
                let found = read(link::ETHERNET, &bytes, wire, frame);
                assert_eq!(
                    found,
                    read(link::ETHERNET, &bytes, wire, walk),
                    "{bytes:02x?}, {wire} on the wire"
                );
                kinds[match found.0 {
                    Outcome::Tcp => 0,
                    Outcome::OddTcp(_) => 1,
                    Outcome::Part(_) => 2,
                    Outcome::Not(_) => 3,
                    Outcome::Udp(_) => 4,
                }] += 1;
            }
        }
        assert!(kinds[..4].iter().all(|&frames| frames > 100) && kinds[4] > 0, "{kinds:?}");
    }
}
