use super::*;
use crate::decode::{self, Outcome, Payload};
use crate::packet::Packet;

fn map() -> Map {
    Map::new(&[7; KEY])
}

fn redacted(link_type: u32, data: &[u8], wire: u32) -> Vec<u8> {
    let mut out = Vec::new();
    frame(&map(), link_type, data, wire, &mut out);
    out
}

fn decoded(link_type: u32, data: &[u8], wire: u32) -> (Outcome, Packet) {
    let mut packet = Packet::default();
    match decode::frame(link_type, data, wire, &mut packet) {
        outcome @ Outcome::Not(_) => (outcome, Packet::default()),
        // What applications send is not shared.
        Outcome::Udp(payload) => (Outcome::Udp(Payload { len: 0, ..payload }), packet),
        outcome => (outcome, packet),
    }
}

/// What `decode` makes of the copy is what it makes of the original, with mapped addresses.
fn same(link_type: u32, data: &[u8], wire: u32) {
    let (outcome, mut packet) = decoded(link_type, data, wire);
    if packet != Packet::default() {
        packet.key.src = map().v6(packet.key.src);
        packet.key.dst = map().v6(packet.key.dst);
        packet.station = map().mac(packet.station);
    }
    let copy = redacted(link_type, data, wire);
    assert!(copy.len() <= data.len(), "{data:02x?}");
    assert_eq!(decoded(link_type, &copy, wire), (outcome, packet), "{link_type} {data:02x?}\n{copy:02x?}");
}

/// Xorshift: the same hostile frames in every run.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below
    }

    fn pick(&mut self, from: &[u8]) -> u8 {
        from[self.next(from.len())]
    }
}

fn tcp(random: &mut Random) -> Vec<u8> {
    let mut options = Vec::new();
    while options.len() < 40 && random.next(4) > 0 {
        let kind = random.pick(&[0, 1, 2, 3, 4, 5, 8, 19, 29, 30, 34, 172, 174, 253, 254, 254]);
        let length = random.pick(&[0, 1, 2, 3, 4, 5, 8, 10, 11, 14, 18, 40]);
        options.extend([kind, length, 0xac, random.pick(&[0xc0, 0xc1, 0xce, 0xee]), 5, 6, 7, 8, 9, 10]);
        options.truncate(40 / 4 * 4);
    }
    options.resize(options.len() & !3, 1);
    let mut out: Vec<u8> = (0..20).map(|_| random.next(256) as u8).collect();
    out[12] = ((options.len() / 4 + 5) as u8) << 4 | random.next(2) as u8;
    out.extend(options);
    out.extend(b"payload of nobody's business");
    out
}

fn v4(protocol: u8, payload: &[u8], random: &mut Random) -> Vec<u8> {
    let options = random.pick(&[0, 0, 0, 4]);
    let mut out = vec![0x45 + options / 4, random.next(256) as u8];
    out.extend(((20 + usize::from(options) + payload.len()) as u16).to_be_bytes());
    out.extend([1, 2, random.pick(&[0, 0, 0x40, 0x20]), random.pick(&[0, 0, 0, 9]), 64, protocol, 0, 0]);
    out.extend([10, 0, 1, 2, 10, 0, 3, 4]);
    out.resize(20 + usize::from(options), 0x44);
    out.extend(payload);
    out
}

fn v6(protocol: u8, payload: &[u8], random: &mut Random) -> Vec<u8> {
    let mut body = payload.to_vec();
    let mut next = protocol;
    while random.next(3) == 0 {
        let kind = random.pick(&[0, 43, 44, 51, 60, 135]);
        let mut extension = vec![next, u8::from(kind == 51), 0, 0, 9, 9, 9, 9];
        extension.resize(if kind == 51 { 12 } else { 8 }, 9);
        extension.extend(body);
        (body, next) = (extension, kind);
    }
    let mut out = vec![0x60, 0x12, 0x34, 0x56];
    out.extend((body.len() as u16).to_be_bytes());
    out.extend([next, 64, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    out.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1]);
    out.extend(body);
    out
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0x12, 0x34];
    out.extend(port.to_be_bytes());
    out.extend([0, 0, 0xab, 0xcd]);
    out.extend(payload);
    out
}

fn ethernet(random: &mut Random, depth: usize) -> Vec<u8> {
    let mut out = vec![2, 1, 2, 3, 4, 5, 2, 6, 7, 8, 9, 10];
    let six = random.next(2) == 1;
    match random.next(8) {
        0 => out.extend([0x81, 0, 0x30, 7]),
        1 => out.extend([0x88, 0xa8, 0, 9, 0x81, 0, 0, 8]),
        2 => out.extend([0x88, 0x47, 0, 1, 0x11, 64]),
        3 => {
            out.extend([0x88, 0x64, 0x11, 0, 0, 1, 0x05, 0, 0, if six { 0x57 } else { 0x21 }]);
        }
        4 => out.extend([0, 200, 0xaa, 0xaa, 3, 0, 0, 0]),
        _ => {}
    }
    if !out.ends_with(&[64]) && !out.ends_with(&[0x57]) && !out.ends_with(&[0x21]) {
        out.extend(if six { [0x86, 0xdd] } else { [0x08, 0] });
    }
    out.extend(ip(random, six, depth));
    out
}

/// An error or an echo, quoting a packet of any kind whole or cut.
fn icmp(random: &mut Random, six: bool, depth: usize) -> (u8, Vec<u8>) {
    let mut out: Vec<u8> = (0..8).map(|_| random.next(256) as u8).collect();
    out[0] = random.pick(&[1, 2, 3, 4, 8, 11, 12, 128]);
    out[1] = random.pick(&[0, 4]);
    out.extend(ip(random, six, depth - 1));
    out.truncate(8 + random.next(out.len()));
    (if six { 58 } else { 1 }, out)
}

/// GRE around a mirrored frame: types I, II and III.
fn erspan(random: &mut Random, depth: usize) -> Vec<u8> {
    match random.next(4) {
        0 => [&[0, 0, 0x88, 0xbe][..], &ethernet(random, depth)].concat(),
        1 => [&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 5, 0, 9, 0, 0, 0, 3], &ethernet(random, depth)[..]]
            .concat(),
        2 => {
            let more = random.next(2);
            let mut out =
                vec![0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 5, 0, 9, 2, 1, 2, 3, 4, 5, 0, more as u8];
            out.resize(out.len() + more * 8, 9);
            out.extend(ethernet(random, depth));
            out
        }
        _ => {
            let six = random.next(2) == 1;
            let mut out = vec![0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 5, 0, 9, 2, 1, 2, 3, 4, 5, 8, 0];
            out.extend(ip(random, six, depth));
            out
        }
    }
}

/// An 802.11 frame.
fn wireless(random: &mut Random, depth: usize) -> Vec<u8> {
    let control = [random.pick(&[0x08, 0x88, 0x88, 0x48, 0x80]), random.pick(&[1, 2, 3, 0x42, 0x82])];
    let mut out = control.to_vec();
    out.extend([9, 9]);
    out.extend([2, 1, 2, 3, 4, 5].repeat(3));
    out.extend([random.pick(&[0, 0, 0, 1]), 7]);
    out.extend([2, 1, 2, 3, 4, 5].repeat(usize::from(control[1] & 3 == 3)));
    if control[0] & 0x80 != 0 {
        let aggregate = random.pick(&[0, 0, 0x80]);
        out.extend([aggregate, 0]);
        out.extend([5; 4].iter().filter(|_| control[1] & 0x80 != 0));
        out.extend([2, 1, 2, 3, 4, 5, 2, 1, 2, 3, 4, 5, 0, 200].iter().filter(|_| aggregate != 0));
    }
    out.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
    out.extend(ip(random, false, depth));
    out
}

/// Netfilter's log of a little-endian or big-endian host.
fn nflog(random: &mut Random) -> Vec<u8> {
    let packet = ip(random, false, 2);
    let big = random.next(2) == 1;
    let number = |value: usize| if big { (value as u16).to_be_bytes() } else { (value as u16).to_le_bytes() };
    let mut out = vec![2, 0, 0, 5];
    out.extend([number(11), number(10)].concat());
    out.extend(b"nobody\0\0");
    out.extend([number(packet.len() + 4), number(9)].concat());
    out.extend(packet);
    out
}

fn pktap(random: &mut Random) -> Vec<u8> {
    let mut out =
        vec![108, 0, 0, 0, random.pick(&[1, 1, 1, 2]), 0, 0, 0, random.pick(&[1, 1, 77, 149]), 0, 0, 0];
    out.extend(b"nobody's interface");
    out.resize(108, 7);
    out.extend(ethernet(random, 2));
    out
}

fn ip(random: &mut Random, six: bool, depth: usize) -> Vec<u8> {
    let inner_six = random.next(2) == 1;
    let kind: u16 = if inner_six { 0x86dd } else { 0x0800 };
    let (protocol, body) = match if depth == 0 { 0 } else { random.next(12) } {
        1 => (if inner_six { 41 } else { 4 }, ip(random, inner_six, depth - 1)),
        2 => {
            let mut gre = vec![random.pick(&[0, 0x80, 0x20, 0xb0, 0x40]), 0];
            gre.extend(kind.to_be_bytes());
            let flags = gre[0];
            gre.resize(4 + [0x80, 0x20, 0x10].iter().filter(|&bit| flags & bit != 0).count() * 4, 3);
            gre.extend(ip(random, inner_six, depth - 1));
            (47, gre)
        }
        3 => {
            let mut vxlan = vec![random.pick(&[8, 8, 0]), 1, 2, 3, 4, 5, 6, 7];
            vxlan.extend(ethernet(random, depth - 1));
            (17, udp(4789, &vxlan))
        }
        4 => {
            let mut geneve = vec![1, 0x40];
            geneve.extend(kind.to_be_bytes());
            geneve.extend([0, 0, 7, 0, 1, 2, 3, 4]);
            geneve.extend(ip(random, inner_six, depth - 1));
            (17, udp(6081, &geneve))
        }
        5 => {
            let mut gtp = vec![random.pick(&[0x30, 0x34]), 255, 0, 9, 1, 2, 3, 4];
            if gtp[0] & 4 != 0 {
                gtp.extend([9, 9, 9, 0x85, 1, 7, 7, 0]);
            }
            gtp.extend(ip(random, inner_six, depth - 1));
            (17, udp(2152, &gtp))
        }
        9 => (47, erspan(random, depth - 1)),
        10 => {
            let encapsulated = random.pick(&[1, 1, 18, 119]);
            let mut tzsp = vec![random.pick(&[1, 1, 2]), random.pick(&[0, 1, 4]), 0, encapsulated];
            tzsp.extend([0, 60, 6, 2, 1, 2, 3, 4, 5, 0, 1]);
            tzsp.extend(if encapsulated == 18 {
                wireless(random, depth - 1)
            } else {
                ethernet(random, depth - 1)
            });
            (17, udp(37008, &tzsp))
        }
        6 => (random.pick(&[1, 50, 58, 132]), b"quotes 10.0.1.2 of nobody's business".to_vec()),
        7 => (17, udp(53, b"www.example.org of nobody's business")),
        8 => icmp(random, inner_six, depth),
        _ => (6, tcp(random)),
    };
    if six {
        v6(protocol, &body, random)
    } else {
        v4(protocol, &body, random)
    }
}

/// Frames of every kind, whole and cut and with damage.
fn frames(count: usize, mut check: impl FnMut(u32, &[u8], u32)) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..count {
        let (link_type, mut data) = match random.next(14) {
            0 => (101, {
                let six = random.next(2) == 1;
                ip(&mut random, six, 2)
            }),
            1 => (113, {
                let mut cooked = vec![0, 0, 0, 1, 0, 6, 2, 1, 2, 3, 4, 5, 0xee, 0xee, 8, 0];
                cooked.extend(ip(&mut random, false, 2));
                cooked
            }),
            2 => (276, {
                let mut cooked = vec![0x86, 0xdd, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 1, 2, 3, 4, 5, 0xee, 0xee];
                cooked.extend(ip(&mut random, true, 2));
                cooked
            }),
            3 => (0, {
                let mut null = vec![2, 0, 0, 0];
                null.extend(ip(&mut random, false, 2));
                null
            }),
            4 => (105, wireless(&mut random, 2)),
            5 => (127, [&[0, 0, 12, 0, 2, 1, 2, 3, 4, 5, 0, 0][..], &wireless(&mut random, 2)].concat()),
            6 => (239, nflog(&mut random)),
            7 => (258, pktap(&mut random)),
            _ => (1, ethernet(&mut random, 3)),
        };
        let wire = data.len() as u32;
        match random.next(4) {
            0 => data.truncate(random.next(data.len()) + 1),
            1 => {
                let at = random.next(data.len());
                data[at] = random.next(256) as u8;
            }
            _ => {}
        }
        check(link_type, &data, wire);
    }
}

#[test]
fn a_copy_decodes_as_its_original() {
    frames(10_000, same);
}

#[test]
fn no_payload_is_left() {
    frames(2_000, |link_type, data, wire| {
        let copy = redacted(link_type, data, wire);
        for secret in
            [&b"nobody"[..], b"10.0.1.2", b"example", &[10, 0, 1, 2], &[10, 0, 3, 4], &[2, 1, 2, 3, 4, 5]]
        {
            // A changed byte may make an address of something else; a whole secret never stays.
            assert!(!copy.windows(secret.len()).any(|window| window == secret), "{data:02x?}\n{copy:02x?}");
        }
    });
}

#[test]
fn checksums_are_right() {
    let mut random = Random(1);
    let mut tcp = tcp(&mut random);
    tcp.resize(20, 0);
    tcp[12] = 0x50;
    let data = v4(6, &tcp, &mut Random(2));
    let copy = redacted(101, &data, data.len() as u32);
    let size = usize::from(copy[0] & 15) * 4;
    assert_eq!(checksum::finish(checksum::sum(0, &copy[..size])), [0, 0]);
    let pseudo = checksum::sum(6 + 20, &copy[12..20]);
    assert_eq!(checksum::finish(checksum::sum(pseudo, &copy[size..])), [0, 0]);
}

/// The ICMP message in a copy and whether its checksum is right.
fn message(copy: &[u8], header: usize, pseudo: u32) -> (&[u8], bool) {
    let icmp = &copy[header..];
    (icmp, checksum::finish(checksum::sum(pseudo, icmp)) == [0, 0])
}

#[test]
fn fragmentation_needed_keeps_its_mtu_and_the_ports_it_is_about() {
    let quoted = v4(6, &[0x9c, 0x41, 0x14, 0x51, 1, 2, 3, 4], &mut Random(2));
    let size = usize::from(quoted[0] & 15) * 4;
    let icmp = [&[3, 4, 9, 9, 9, 9, 0x05, 0x14], &quoted[..size + 8]].concat();
    let data = v4(1, &icmp, &mut Random(2));
    let copy = redacted(101, &data, data.len() as u32);
    let (kept, right) = message(&copy, usize::from(copy[0] & 15) * 4, 0);
    assert!(right);
    assert_eq!((kept[..2].to_vec(), &kept[4..8]), (vec![3, 4], &[0, 0, 0x05, 0x14][..]));
    // The quoted packet comes as a copy of that packet does.
    assert_eq!(kept[8..], redacted(101, &quoted[..size + 8], 1500));
    assert_eq!(kept[8 + size..], [0x9c, 0x41, 0x14, 0x51, 1, 2, 3, 4]);
    assert_eq!(kept[20..24], map().v4([10, 0, 1, 2]));
}

#[test]
fn packet_too_big_keeps_its_mtu_and_the_headers_it_quotes() {
    let mut random = Random(1);
    let mut header = tcp(&mut random);
    header.truncate(20);
    header[12] = 0x50;
    let mut quoted = vec![0x60, 0, 0, 0, 0, 60, 6, 64];
    quoted.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1].repeat(2));
    quoted.extend(&header);
    let mut data = vec![0x60, 0, 0, 0, 0, 8 + 40 + 20 + 16, 58, 64];
    data.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2].repeat(2));
    data.extend([2, 0, 9, 9, 0, 0, 5, 0]);
    data.extend([&quoted[..], b"nobody's payload"].concat());
    let copy = redacted(101, &data, data.len() as u32);
    let (kept, right) = message(&copy, 40, checksum::sum(58 + 84, &copy[8..40]));
    assert!(right);
    assert_eq!((kept[..2].to_vec(), &kept[4..8]), (vec![2, 0], &[0, 0, 5, 0][..]));
    assert_eq!(kept[8..], redacted(101, &quoted, 100));
    assert_eq!(kept.len(), 8 + 60);
}

#[test]
fn of_an_echo_nothing_is_left() {
    let data = v4(1, b"\x08\0sumidsqabcdefghi of nobody's business", &mut Random(2));
    let copy = redacted(101, &data, data.len() as u32);
    assert_eq!(copy.len(), usize::from(copy[0] & 15) * 4);
}

#[test]
fn an_unknown_link_type_leaves_nothing() {
    let mut out = Vec::new();
    assert!(!frame(&map(), 147, &[1; 100], 100, &mut out));
    assert!(out.is_empty());
}
