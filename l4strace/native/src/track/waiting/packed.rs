//! Packets that wait, each in one cache line: what following their conversations asks of them.

use crate::packet::{AccEcnOption, Interface, Packet, Tunnel};
use crate::track::prefetch::prefetch;

/// Part of the packets (a quarter) that may carry more than a line holds.
const MORE: usize = 4;

/// Interfaces that lines name; packets of others stay whole.
const MOST_INTERFACES: usize = 1 << 8;

/// Packets in the order in which they came.
#[derive(Default)]
pub struct Packets {
    lines: Vec<Packed>,
    /// By the number that lines have for them.
    interfaces: Vec<Interface>,
    /// That of the last packet.
    interface: u8,
    /// What those are that carry more.
    whole: Vec<Packet>,
}

/// What most packets carry. The conversation's key is left out, and what stands in the table of packets alone.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Packed {
    frame: u64,
    ts_ns: i64,
    seq: u32,
    ack: u32,
    payload_len: u32,
    stamps: (u32, u32),
    /// E0B, CEB, E1B.
    counters: [u32; 3],
    window: u16,
    ip_id: u16,
    flags: u16,
    exid: u16,
    /// Of these only what is set is there.
    has: u16,
    ip_ecn: u8,
    outer_ecn: u8,
    kind: u8,
    length: u8,
    tunnel: Tunnel,
    /// Its number.
    interface: u8,
}

const _: () = assert!(size_of::<Packed>() == 64);

/// Bits of `has`.
const IP_ID: u16 = 1;
const OUTER_ECN: u16 = 1 << 1;
const CUT: u16 = 1 << 2;
const STAMPS: u16 = 1 << 3;
const OPTION: u16 = 1 << 4;
const EXID: u16 = 1 << 5;
/// E0B, and CEB and E1B above it.
const COUNTERS: u16 = 1 << 6;
/// It carries more and stands elsewhere, at the place in `seq`.
const ELSEWHERE: u16 = 1 << 15;

impl Packets {
    #[inline]
    pub fn add(&mut self, p: &Packet) {
        let packed = self.number(p.interface).and_then(|interface| Packed::of(p, interface));
        let line = packed.unwrap_or_else(|| {
            self.whole.push(*p);
            Packed::elsewhere(self.whole.len() as u32 - 1)
        });
        self.lines.push(line);
    }

    #[inline]
    fn number(&mut self, interface: Interface) -> Option<u8> {
        if self.interfaces.get(usize::from(self.interface)) != Some(&interface) {
            self.interface = self.another(interface)?;
        }
        Some(self.interface)
    }

    #[cold]
    fn another(&mut self, interface: Interface) -> Option<u8> {
        let known = self.interfaces.iter().position(|known| *known == interface);
        let at = known.unwrap_or(self.interfaces.len());
        if at == MOST_INTERFACES {
            return None;
        }
        if known.is_none() {
            self.interfaces.push(interface);
        }
        Some(at as u8)
    }

    /// The packet of this number, without its key where a line holds it.
    #[inline]
    pub fn get(&self, number: usize) -> Packet {
        let line = &self.lines[number];
        line.place().map_or_else(
            || Packet { interface: self.interfaces[usize::from(line.interface)], ..line.packet() },
            |place| self.whole[place],
        )
    }

    /// Asks for the line of a packet.
    #[inline]
    pub fn prefetch(&self, number: usize) {
        prefetch(&self.lines[number]);
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// So many are there at `most`.
    #[inline]
    pub fn are(&self, most: usize) -> bool {
        self.lines.len() >= most || self.whole.len() * MORE >= most
    }

    pub fn clear(&mut self) {
        self.lines.clear();
        self.whole.clear();
    }
}

impl Packed {
    /// `None` where it carries more: options of a SYN, or SACK blocks.
    #[inline]
    fn of(p: &Packet, interface: u8) -> Option<Self> {
        if p.mss.is_some() || p.wscale.is_some() || p.sack_permitted || p.sack.count > 0 {
            return None;
        }
        let bit = |is: bool, bit: u16| if is { bit } else { 0 };
        let mut packed = Packed {
            frame: p.frame,
            ts_ns: p.ts_ns,
            seq: p.seq,
            ack: p.ack,
            payload_len: p.payload_len,
            stamps: p.timestamps.unwrap_or_default(),
            counters: [0; 3],
            window: p.window,
            ip_id: p.ip_id.unwrap_or_default(),
            flags: p.flags,
            exid: 0,
            has: bit(p.ip_id.is_some(), IP_ID)
                | bit(p.outer_ecn.is_some(), OUTER_ECN)
                | bit(p.options_cut, CUT)
                | bit(p.timestamps.is_some(), STAMPS),
            ip_ecn: p.ip_ecn,
            outer_ecn: p.outer_ecn.unwrap_or_default(),
            kind: 0,
            length: 0,
            tunnel: p.tunnel,
            interface,
        };
        if let Some(option) = &p.accecn {
            packed.option(option);
        }
        Some(packed)
    }

    /// In the place of a packet that carries more: where that is.
    #[cold]
    fn elsewhere(place: u32) -> Self {
        Packed { seq: place, has: ELSEWHERE, ..Packed::default() }
    }

    /// Where the packet is that this stands for.
    #[inline]
    fn place(&self) -> Option<usize> {
        (self.has & ELSEWHERE != 0).then_some(self.seq as usize)
    }

    #[inline]
    fn option(&mut self, option: &AccEcnOption) {
        (self.kind, self.length) = (option.kind, option.length);
        self.exid = option.exid.unwrap_or_default();
        self.has |= OPTION | if option.exid.is_some() { EXID } else { 0 };
        for (i, counter) in [option.e0b, option.ceb, option.e1b].into_iter().enumerate() {
            self.counters[i] = counter.unwrap_or_default();
            self.has |= if counter.is_some() { COUNTERS << i } else { 0 };
        }
    }

    /// The packet, without its key, its interface and what tables of packets show.
    #[inline]
    fn packet(&self) -> Packet {
        let has = |bit: u16| self.has & bit != 0;
        let counter = |i: usize| has(COUNTERS << i).then_some(self.counters[i]);
        let option = || AccEcnOption {
            kind: self.kind,
            exid: has(EXID).then_some(self.exid),
            length: self.length,
            e0b: counter(0),
            ceb: counter(1),
            e1b: counter(2),
        };
        Packet {
            frame: self.frame,
            ts_ns: self.ts_ns,
            ip_ecn: self.ip_ecn,
            outer_ecn: has(OUTER_ECN).then_some(self.outer_ecn),
            tunnel: self.tunnel,
            ip_id: has(IP_ID).then_some(self.ip_id),
            flags: self.flags,
            seq: self.seq,
            ack: self.ack,
            window: self.window,
            payload_len: self.payload_len,
            timestamps: has(STAMPS).then_some(self.stamps),
            accecn: has(OPTION).then(option),
            options_cut: has(CUT),
            ..Packet::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowKey, Sack};

    /// Bits from a seed.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u32 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) as u32
        }

        fn maybe<T>(&mut self, value: impl Fn(&mut Self) -> T) -> Option<T> {
            self.next().is_multiple_of(2).then(|| value(self))
        }
    }

    /// Everything that following a conversation may ask of a packet, apart from SACK and options of a SYN.
    fn any(r: &mut Random) -> Packet {
        let option = |r: &mut Random| AccEcnOption {
            kind: [172, 174, 254][r.next() as usize % 3],
            exid: r.maybe(|r| 0xacc0 + (r.next() % 2) as u16),
            length: r.next() as u8,
            e0b: r.maybe(Random::next),
            ceb: r.maybe(Random::next),
            e1b: r.maybe(Random::next),
        };
        Packet {
            frame: u64::from(r.next()) << 8,
            ts_ns: i64::from(r.next()) << 20,
            ip_ecn: (r.next() & 3) as u8,
            outer_ecn: r.maybe(|r| (r.next() & 3) as u8),
            tunnel: [Tunnel::None, Tunnel::Vxlan, Tunnel::Gtp][r.next() as usize % 3],
            ip_id: r.maybe(|r| r.next() as u16),
            flags: (r.next() & 0xfff) as u16,
            seq: r.next(),
            ack: r.next(),
            window: r.next() as u16,
            payload_len: r.next(),
            timestamps: r.maybe(|r| (r.next(), r.next())),
            accecn: r.maybe(option),
            options_cut: r.next().is_multiple_of(2),
            ..Packet::default()
        }
    }

    #[test]
    fn nothing_that_is_asked_for_is_lost() {
        let mut random = Random(1);
        for _ in 0..10_000 {
            let packet = any(&mut random);
            assert_eq!(Packed::of(&packet, 0).expect("no more than a line").packet(), packet);
            let key = FlowKey { src_port: 80, ..FlowKey::default() };
            let of_table = Packet { key, offset: 9, captured_len: 9, wire_len: 9, ttl: 9, ..packet };
            assert_eq!(Packed::of(&of_table, 0).expect("the same").packet(), packet);
        }
    }

    #[test]
    fn what_carries_more_stays_whole() {
        let carries = [
            Packet { mss: Some(0), ..Packet::default() },
            Packet { wscale: Some(0), ..Packet::default() },
            Packet { sack_permitted: true, ..Packet::default() },
            Packet { sack: Sack { count: 1, ..Sack::default() }, ..Packet::default() },
        ];
        assert!(carries.iter().all(|packet| Packed::of(packet, 0).is_none()));
        assert_eq!(Packed::elsewhere(7).place(), Some(7));
        assert_eq!(Packed::of(&Packet { seq: 7, ..Packet::default() }, 0).expect("a line").place(), None);
    }

    #[test]
    fn each_packet_keeps_its_interface() {
        let mut packets = Packets::default();
        let of = |number: u32| Packet { interface: Interface::numbered(number % 300), ..Packet::default() };
        (0..900).for_each(|number| packets.add(&of(number)));
        assert!((0..900).all(|number| packets.get(number) == of(number as u32)));
        assert!(packets.whole.len() < 900 / 2);
    }
}
