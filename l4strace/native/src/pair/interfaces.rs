//! Two interfaces of one capture: how far apart their clocks are, from packets that both show.
//!
//! A packet cannot leave one interface before it came to the other, and what travels the other way cannot either:
//! between the two lies the offset. Of a capture with several interfaces a sample of packets is kept, the same on each
//! interface, so that neither the distance of the clocks nor the order in the file matters.

use std::collections::{BTreeMap, HashMap};

use super::key::of_segment;
use crate::digest::{digest, mix};
use crate::packet::{FlowKey, Interface, Packet};

/// Packets of the sample: those of the smallest keys.
const MOST_PACKETS: usize = 1 << 12;
/// Interfaces that show one packet: those of a bridge and of what is bridged are four.
const MOST_SIGHTS: usize = 4;
/// Bytes of a datagram's payload that are compared.
const DIGEST_BYTES: usize = 64;
/// Clocks drift apart: bounds hold for a stretch of packets, which on average has at least so many.
const LEAST_STRETCH: usize = 8;

/// What the clocks of two interfaces differ by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apart {
    /// The interface whose clock is behind.
    pub behind: Interface,
    pub ahead: Interface,
    /// At least and at most, over all of the capture.
    pub least_ns: i64,
    pub most_ns: i64,
    /// Packets of the sample that both show.
    pub packets: u64,
}

/// Where and when the capture showed one packet.
#[derive(Clone, Debug)]
struct Sights {
    ends: FlowKey,
    /// From the first of the two ends to the second.
    onward: bool,
    seen: Vec<(Interface, i64)>,
    /// One interface showed it twice: it may be another packet.
    repeated: bool,
}

/// One packet on two interfaces.
#[derive(Clone, Copy, Debug)]
struct Match {
    onward: bool,
    first_ns: i64,
    /// From the sight on the first interface to that on the second.
    later_ns: i64,
}

/// The packets of one capture.
#[derive(Debug, Default)]
pub struct Interfaces {
    sample: BTreeMap<u64, Sights>,
}

impl Match {
    /// Least and most that the second clock is ahead, where packets of the way `outward` come to the second interface
    /// last: their delay, which is not negative, is in the difference.
    fn bound(&self, outward: bool) -> (i64, i64) {
        if self.onward == outward {
            (i64::MIN, self.later_ns)
        } else {
            (self.later_ns, i64::MAX)
        }
    }
}

impl Interfaces {
    /// Takes note of one packet of TCP.
    #[inline]
    pub fn segment(&mut self, packet: &Packet) {
        if packet.interface.is_one_of_several() {
            self.see(packet, of_segment(packet));
        }
    }

    /// Takes note of one datagram.
    #[inline]
    pub fn datagram(&mut self, packet: &Packet, payload: &[u8]) {
        if packet.interface.is_one_of_several() {
            let start = &payload[..payload.len().min(DIGEST_BYTES)];
            self.see(packet, digest(start, packet.payload_len));
        }
    }

    fn see(&mut self, packet: &Packet, content: u64) {
        let ends = packet.key.ends();
        let onward = (packet.key.src, packet.key.src_port) == (ends.src, ends.src_port);
        let key =
            mix(mix(content, of_ends(&ends)), u64::from(packet.ip_id.unwrap_or(0)) << 1 | u64::from(onward));
        if self.sample.len() >= MOST_PACKETS
            && self.sample.last_key_value().is_some_and(|(last, _)| key > *last)
        {
            return;
        }
        let sights = self.sample.entry(key).or_insert_with(|| Sights::new(ends, onward));
        sights.add(packet.interface, packet.ts_ns);
        if self.sample.len() > MOST_PACKETS {
            self.sample.pop_last();
        }
    }

    /// The clocks that differ by more than `resolution_ns`, if any do: the two interfaces that share most packets.
    pub fn apart(&self, resolution_ns: i64) -> Option<Apart> {
        let mut shared: HashMap<(Interface, Interface, FlowKey), Vec<Match>> = HashMap::new();
        for sights in self.sample.values().filter(|sights| !sights.repeated) {
            for (pair, found) in sights.matches() {
                shared.entry((pair.0, pair.1, sights.ends)).or_default().push(found);
            }
        }
        let differ = |(&(first, second, _), matches): (&(Interface, Interface, FlowKey), &mut Vec<Match>)| {
            matches.sort_unstable_by_key(|found| found.first_ns);
            let (least_ns, most_ns) = possible(matches)?;
            let packets = matches.len() as u64;
            if least_ns > resolution_ns {
                Some(Apart { behind: first, ahead: second, least_ns, most_ns, packets })
            } else if most_ns < -resolution_ns {
                Some(Apart { behind: second, ahead: first, least_ns: -most_ns, most_ns: -least_ns, packets })
            } else {
                None
            }
        };
        let found = shared.iter_mut().filter_map(differ);
        // The same whatever the order of the map.
        found.max_by_key(|apart| (apart.packets, apart.least_ns, apart.behind, apart.ahead))
    }
}

impl Sights {
    fn new(ends: FlowKey, onward: bool) -> Self {
        Sights { ends, onward, seen: Vec::new(), repeated: false }
    }

    fn add(&mut self, interface: Interface, ts_ns: i64) {
        self.repeated |= self.seen.iter().any(|(seen, _)| *seen == interface);
        if self.seen.len() < MOST_SIGHTS && !self.repeated {
            self.seen.push((interface, ts_ns));
        }
    }

    /// Each two interfaces that show it, the lower first.
    fn matches(&self) -> Vec<((Interface, Interface), Match)> {
        let mut seen = self.seen.clone();
        seen.sort_unstable();
        let pairs = seen.iter().enumerate().flat_map(|(at, a)| seen[at + 1..].iter().map(move |b| (a, b)));
        let matched = |(a, b): (&(Interface, i64), &(Interface, i64))| {
            let later_ns = b.1.saturating_sub(a.1);
            ((a.0, b.0), Match { onward: self.onward, first_ns: a.1, later_ns })
        };
        pairs.map(matched).collect()
    }
}

/// Least and most that the second clock is ahead, from packets by time. Which way leads to the second interface is not
/// known, but the wrong one contradicts itself.
fn possible(matches: &[Match]) -> Option<(i64, i64)> {
    let stretches = |outward: bool| stretches(matches.iter().map(|found| found.bound(outward)));
    let (onward, backward) = (stretches(true), stretches(false));
    if onward == backward || onward.min(backward) * LEAST_STRETCH > matches.len() {
        return None;
    }
    let bounds = || matches.iter().map(|found| found.bound(onward < backward));
    let least = || bounds().map(|bound| bound.0).filter(|&ns| ns > i64::MIN);
    let most = || bounds().map(|bound| bound.1).filter(|&ns| ns < i64::MAX);
    if onward.min(backward) == 1 {
        Some((least().max()?, most().min()?))
    } else {
        // The clocks drift: what one packet bounds is true at its time only.
        Some((least().min()?, most().max()?))
    }
}

/// In how many stretches of successive packets one offset explains all.
fn stretches(bounds: impl Iterator<Item = (i64, i64)>) -> usize {
    let (mut count, mut now) = (1, (i64::MIN, i64::MAX));
    for one in bounds {
        now = (now.0.max(one.0), now.1.min(one.1));
        if now.0 > now.1 {
            count += 1;
            now = one;
        }
    }
    count
}

fn of_ends(ends: &FlowKey) -> u64 {
    let ports = u32::from(ends.src_port) << 16 | u32::from(ends.dst_port);
    mix(digest(&ends.src, ports), digest(&ends.dst, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn packet(onward: bool, number: u32, interface: u32, ts_ns: i64) -> Packet {
        let key =
            FlowKey { src: [1; 16], dst: [2; 16], src_port: 40_000, dst_port: 443, ..FlowKey::default() };
        Packet {
            key: if onward { key } else { key.reversed() },
            seq: number,
            interface: Interface::numbered(interface),
            ts_ns,
            ..Packet::default()
        }
    }

    /// Onward packets pass interface 0 first and need 2 ms to interface 1, those backward 1 ms to interface 0; the
    /// clock of interface 1 is ahead by `offset_ns` of the number.
    fn capture(offset_ns: impl Fn(i64) -> i64) -> Interfaces {
        let mut interfaces = Interfaces::default();
        for number in 0..400 {
            let at = number * MS;
            let (onward, late) = (number % 2 == 0, if number % 2 == 0 { 2 * MS } else { -MS });
            interfaces.segment(&packet(onward, number as u32, 0, at));
            interfaces.segment(&packet(onward, number as u32, 1, at + late + offset_ns(number)));
        }
        interfaces
    }

    fn bounds(offset_ns: impl Fn(i64) -> i64) -> Option<(i64, i64, String)> {
        let apart = capture(offset_ns).apart(1)?;
        Some((apart.least_ns, apart.most_ns, apart.behind.name()))
    }

    #[test]
    fn clocks_that_may_agree_are_not_apart() {
        for offset_ns in [0, MS, -2 * MS] {
            assert_eq!(bounds(|_| offset_ns), None);
        }
    }

    #[test]
    fn packets_of_both_ways_bound_the_offset() {
        assert_eq!(bounds(|_| 50 * MS), Some((49 * MS, 52 * MS, "interface 0".into())));
        assert_eq!(bounds(|_| -5 * MS), Some((3 * MS, 6 * MS, "interface 1".into())));
        assert_eq!(bounds(|_| 3_600_000 * MS).map(|b| b.0), Some(3_599_999 * MS));
    }

    #[test]
    fn clocks_that_drift_are_bounded_by_stretches() {
        let (least, most, behind) = bounds(|number| 50 * MS + number * MS / 25).unwrap();
        assert!(
            (49 * MS..=50 * MS).contains(&least) && (66 * MS..=68 * MS).contains(&most),
            "{least} {most}"
        );
        assert_eq!(behind, "interface 0");
    }

    #[test]
    fn one_way_and_one_interface_bound_nothing() {
        let mut interfaces = Interfaces::default();
        for number in 0..400u32 {
            interfaces.segment(&packet(true, number, 0, i64::from(number)));
            interfaces.segment(&packet(true, number, 1, i64::from(number) + 50 * MS));
        }
        assert_eq!(interfaces.apart(1), None);
        let mut interfaces = Interfaces::default();
        let alone =
            |number| Packet { interface: Interface::default(), ..packet(number % 2 == 0, number, 0, 0) };
        (0..400).for_each(|number| interfaces.segment(&alone(number)));
        assert!(interfaces.sample.is_empty());
    }

    #[test]
    fn what_one_interface_shows_twice_is_no_match() {
        let mut interfaces = capture(|_| 50 * MS);
        for number in 0..400u32 {
            interfaces.segment(&packet(number % 2 == 0, number, 0, 0));
        }
        assert_eq!(interfaces.apart(1), None);
    }

    #[test]
    fn the_sample_is_bounded_and_the_same_on_each_interface() {
        let mut interfaces = Interfaces::default();
        interfaces.segment(&packet(true, 0, 9, 0));
        for interface in 0..2 {
            for number in 0..3 * MOST_PACKETS as u32 {
                let back = number % 2 == 1 && interface == 1;
                let at = i64::from(number) * MS + i64::from(interface) * 90 * MS;
                interfaces.segment(&packet(
                    number % 2 == 0,
                    number,
                    interface,
                    at - if back { MS } else { 0 },
                ));
            }
        }
        assert_eq!(interfaces.sample.len(), MOST_PACKETS);
        let apart = interfaces.apart(1).unwrap();
        assert_eq!((apart.least_ns, apart.most_ns), (89 * MS, 90 * MS));
        assert_eq!(apart.packets, MOST_PACKETS as u64);
    }
}
