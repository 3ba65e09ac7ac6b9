//! Both ends of conversations over UDP, against what was done to each datagram on the way.

use super::*;
use crate::pair::Path;

const MS: i64 = 1_000_000;
const UDP: u8 = 17;

/// One datagram at one capture.
#[derive(Clone, Debug)]
struct Datagram {
    to_server: bool,
    at: i64,
    ecn: u8,
    payload: Vec<u8>,
}

/// Addresses and ports of client and server as a capture sees them.
type Ends = [([u8; 4], u16); 2];
const PLAIN: Ends = [([10, 0, 0, 1], 50_000), ([10, 0, 0, 2], 4433)];
/// The client behind a NAT that gave it a port below the server's, so that it looks like the server.
const TRANSLATED: Ends = [([203, 0, 113, 9], 1024), ([10, 0, 0, 2], 4433)];

/// Numbers that look random, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn pcap(datagrams: &[Datagram], ends: Ends, clock_ns: i64, snaplen: usize) -> Input {
    let words = [0xa1b2_3c4du32, 2 | (4 << 16), 0, 0, snaplen as u32, 101];
    let mut out: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    for datagram in datagrams {
        let at = 1_000_000_000_000_000 + datagram.at + clock_ns;
        let frame = frame(datagram, ends);
        let kept = frame.len().min(snaplen);
        let words = [at / 1_000_000_000, at % 1_000_000_000, kept as i64, frame.len() as i64];
        out.extend(words.iter().flat_map(|&w| (w as u32).to_le_bytes()));
        out.extend(&frame[..kept]);
    }
    Input::Memory("made".into(), out.into())
}

fn frame(datagram: &Datagram, ends: Ends) -> Vec<u8> {
    let [from, to] = if datagram.to_server { ends } else { [ends[1], ends[0]] };
    let length = datagram.payload.len() as u16 + 8;
    let mut frame = vec![0x45, datagram.ecn];
    frame.extend((20 + length).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, UDP, 0, 0]);
    frame.extend([from.0, to.0].concat());
    frame.extend([from.1, to.1, length, 0].iter().flat_map(|word| word.to_be_bytes()));
    frame.extend(&datagram.payload);
    frame
}

/// `n` datagrams of the client and as many of the server, 1 ms apart. Every `equal`th has the same payload.
fn talk(random: &mut Random, n: u64, equal: u64) -> Vec<Datagram> {
    let datagram = |i: u64| {
        let length = 40 + random.below(60) as usize;
        let payload = if i.is_multiple_of(equal) {
            vec![7; 50]
        } else {
            (0..length).map(|_| random.below(256) as u8).collect()
        };
        Datagram { to_server: i.is_multiple_of(2), at: i as i64 * MS / 2, ecn: 1, payload }
    };
    (0..2 * n).map(datagram).collect()
}

/// The two captures as a run, and its paths to the server and to the client.
fn paths(near: Input, far: Input) -> (Run, [Path; 2]) {
    let run = run(&[near, far], Threads::most(1), &mut ()).expect("both can be read");
    let [to, from] = &run.paths[..] else { panic!("{:?}", run.paths) };
    let paths = [to.clone(), from.clone()];
    (run, paths)
}

/// What arrives 20 ms later than it was sent, or at the client that much earlier: in the order of the far capture.
fn arrived(sent: &[Datagram], mut change: impl FnMut(&Datagram) -> Vec<Datagram>) -> Vec<Datagram> {
    let way = |one: &Datagram| if one.to_server { 20 * MS } else { -20 * MS };
    let mut all: Vec<Datagram> = sent.iter().flat_map(&mut change).collect();
    all.iter_mut().for_each(|one| one.at += way(one));
    all.sort_by_key(|one| one.at);
    all
}

#[test]
fn loss_marks_and_bleaching_are_counted_whatever_the_order_of_arrival() {
    let mut random = Random(3);
    for (loss, reordered, copies) in [(0, 0, 0), (20, 0, 0), (20, 5, 0), (7, 3, 9)] {
        let sent = talk(&mut random, 3000, u64::MAX);
        let (mut lost, mut counts) = (0, [0u64; 3]);
        let one_in = |n: u64, random: &mut Random| n > 0 && random.below(n) == 0;
        let far = arrived(&sent, |one| {
            // What the server sends is captured at its own end first: nothing happens to it on the way there.
            if !one.to_server {
                return vec![one.clone()];
            }
            if one_in(loss, &mut random) && one.at < 2000 * MS {
                lost += 1;
                return Vec::new();
            }
            let ecn = [1, 3, 0][random.below(3) as usize];
            counts[[1, 3, 0].iter().position(|&e| e == ecn).expect("one of them")] += 1;
            let late = if one_in(reordered, &mut random) { random.below(9) as i64 * MS } else { 0 };
            let one = Datagram { ecn, at: one.at + late, ..one.clone() };
            let copy = one_in(copies, &mut random).then(|| Datagram { at: one.at + MS / 3, ..one.clone() });
            std::iter::once(one).chain(copy).collect()
        });
        // Clocks that differ by a day.
        let (run, [to, from]) = paths(pcap(&sent, PLAIN, 0, 96), pcap(&far, PLAIN, 86_400_000 * MS, 96));
        assert_eq!((to.near, to.far, to.matched, to.lost), (0, 1, 3000 - lost, lost));
        assert_eq!([to.codepoints[1][1], to.codepoints[1][3], to.codepoints[1][0]], counts);
        assert_eq!((from.near, from.far, from.matched, from.lost), (1, 0, 3000, 0));
        assert_eq!((to.owd_min_ns, run.captures[1].clock.ns), (Some(20 * MS), 86_400_000 * MS));
    }
}

#[test]
fn equal_payloads_are_counted_and_prove_no_change() {
    let mut random = Random(5);
    for equal in [1, 2, 3] {
        let sent = talk(&mut random, 20_000, equal);
        let mut lost = 0;
        let far = arrived(&sent, |one| {
            let gone = one.to_server && one.at < 15_000 * MS && random.below(50) == 0;
            lost += u64::from(gone);
            if gone {
                Vec::new()
            } else {
                vec![one.clone()]
            }
        });
        let (_, [to, from]) = paths(pcap(&sent, PLAIN, 0, 96), pcap(&far, PLAIN, 0, 96));
        assert_eq!((to.matched, to.appeared), (20_000 - lost, 0), "one in {equal}");
        // Of equal ones the last seem to be missing, some of them after the other capture ended.
        assert!((lost.saturating_sub(200)..=lost).contains(&to.lost), "{lost} lost, {} found", to.lost);
        assert_eq!((from.matched, from.lost, to.first_change), (20_000, 0, None));
    }
}

#[test]
fn a_nat_between_the_captures_hides_nothing() {
    let mut random = Random(9);
    let sent = talk(&mut random, 500, u64::MAX);
    let far = arrived(&sent, |one| vec![Datagram { ecn: u8::from(!one.to_server), ..one.clone() }]);
    for (near_ends, far_ends, far_clock) in [
        (PLAIN, TRANSLATED, 40_000 * MS),
        (TRANSLATED, PLAIN, 40_000 * MS),
        (PLAIN, TRANSLATED, -40_000 * MS),
    ] {
        let (run, paths) = paths(pcap(&sent, near_ends, 0, 96), pcap(&far, far_ends, far_clock, 96));
        assert_eq!(run.udp_numbers, [[0], [0]]);
        let bleached = paths.iter().find(|path| path.near == 0).expect("from the near capture");
        assert_eq!((bleached.matched, bleached.lost, bleached.codepoints[1][0]), (500, 0, 500));
        let kept = paths.iter().find(|path| path.near == 1).expect("from the far capture");
        assert_eq!((kept.matched, kept.codepoints[1][1]), (500, 500));
    }
}

#[test]
fn captures_compare_what_both_hold_of_a_payload() {
    let mut random = Random(11);
    let sent = talk(&mut random, 300, u64::MAX);
    let far = arrived(&sent, |one| vec![one.clone()]);
    for snaplen in [52, 60, 2000] {
        let (_, [to, from]) = paths(pcap(&sent, PLAIN, 0, snaplen), pcap(&far, PLAIN, 0, 48));
        assert_eq!([to.matched, to.lost, from.matched, from.lost], [300, 0, 300, 0], "{snaplen}");
    }
}

#[test]
fn a_train_that_one_capture_shows_as_one_datagram_is_known_by_its_first() {
    let mut random = Random(13);
    let train = |random: &mut Random, i: i64| {
        let payload = (0..3600).map(|_| random.below(256) as u8).collect();
        Datagram { to_server: true, at: i * MS, ecn: 1, payload }
    };
    let sent: Vec<Datagram> = (0..200).map(|i| train(&mut random, i)).collect();
    let far = arrived(&sent, |one| {
        one.payload
            .chunks(1200)
            .map(|part| Datagram { ecn: 0, payload: part.to_vec(), ..one.clone() })
            .collect()
    });
    let run = run(&[pcap(&sent, PLAIN, 0, 128), pcap(&far, PLAIN, 0, 128)], Threads::most(1), &mut ());
    let run = run.expect("both can be read");
    let to = &run.paths[0];
    assert_eq!((to.matched, to.codepoints[1][0], to.in_part), (200, 200, true));
}
