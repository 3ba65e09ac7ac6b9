//! The same on any number of threads, in order, and never stuck.

use std::panic::{catch_unwind, AssertUnwindSafe};

use super::lanes::LANES;
use super::*;
use crate::packet::flag;
use crate::track::rounds::thin::LANE_ROWS;
use crate::track::testing::{packet, A, B};

const MS: i64 = 1_000_000;

fn on(most: usize) -> Threads {
    Threads { most, after: 0 }
}

/// Packet `n` of the conversation on a port: a handshake, then data and its ACK in turns. Every third
/// conversation has its ports again, without a SYN, for another one.
fn turn(n: u32, port: u16, frame: u64) -> Packet {
    let (syn, ack) = (flag::SYN, flag::ACK);
    let again = if port.is_multiple_of(3) && n > 30 { 1_000_000_000 } else { 0 };
    let p = Packet { frame, ts_ns: frame as i64 * MS / 50, ..Packet::default() };
    let sent = 1001 + 1000 * (n / 2) + again;
    let (from, p) = match n {
        0 => (A, Packet { flags: syn, seq: 1000, ..p }),
        1 => (B, Packet { flags: syn | ack, seq: 5000, ack: 1001, ..p }),
        n if n % 2 == 0 => (A, Packet { flags: ack, seq: sent, ack: 5001 + again, payload_len: 1000, ..p }),
        _ => (B, Packet { flags: ack, seq: 5001 + again, ack: sent + 1000, ..p }),
    };
    let mut key = packet(from).key;
    *(if from == A { &mut key.src_port } else { &mut key.dst_port }) = port;
    Packet { key, ..p }
}

fn conversations(ports: u16) -> Vec<Packet> {
    let each = (0..60).flat_map(|n| (0..ports).map(move |port| (n, 1000 + port)));
    each.zip(1..).map(|((n, port), frame)| turn(n, port, frame)).collect()
}

fn tracked(threads: Threads, packets: &[Packet], at_once: usize) -> Tracker {
    let feed = |crew: &mut Crew<'_, '_, Tracker>| {
        packets.chunks(at_once).for_each(|packets| crew.packets(packets));
        Ok::<_, ()>(())
    };
    follow(threads, feed).unwrap()
}

#[test]
fn threads_and_pieces_change_nothing() {
    // Few conversations are followed at once; many wait for each other.
    for ports in [3, 300] {
        let packets = conversations(ports);
        let alone = tracked(on(1), &packets, 32);
        assert_eq!(alone.flows.len(), usize::from(ports) + usize::from(ports).div_ceil(3));
        assert!(alone.flows.windows(2).all(|two| two[0].first_frame < two[1].first_frame));
        for (most, at_once) in [(2, 32), (3, 1), (16, 1000), (1, 7)] {
            let several = tracked(on(most), &packets, at_once);
            assert!(alone.rounds == several.rounds, "{most} threads, {at_once} packets at once");
            assert_eq!(alone.starts(), several.starts());
            let totals = |tracker: &Tracker| {
                let flows = tracker.flows.iter();
                flows.map(|flow| format!("{:?} {:?}", tracker.table.key(flow.id), flow)).collect::<Vec<_>>()
            };
            assert_eq!(totals(&alone), totals(&several));
        }
    }
}

#[test]
fn a_full_lane_is_thinned_alike() {
    // Conversations of one lane, each of which has fewer rows than a direction may have.
    let of = |port: u16| lane(&turn(0, port, 1).key);
    let ports: Vec<u16> = (2001..).filter(|&port| of(port) == of(2001) && port % 3 != 0).take(9).collect();
    let each = (0..30_000).flat_map(|n| ports.iter().map(move |&port| (n, port)));
    let packets: Vec<Packet> = each.zip(1..).map(|((n, port), frame)| turn(n, port, frame)).collect();
    let alone = tracked(on(1), &packets, 32);
    assert!(alone.rounds.len() < LANE_ROWS, "{}", alone.rounds.len());
    let rounds: u32 = alone.rounds.iter().map(|row| row.round_trips).sum();
    assert_eq!(rounds, 9 * 14_999);
    for (most, at_once) in [(2, 32), (1, 7)] {
        assert!(alone.rounds == tracked(on(most), &packets, at_once).rounds, "{most} threads, {at_once}");
    }
}

#[test]
fn lanes_find_what_one_tracker_finds() {
    let packets = conversations(40);
    let mut whole = Tracker::default();
    whole.packets(&packets);
    whole.finish();
    let lanes = tracked(on(1), &packets, 32);
    let rows = |tracker: &Tracker| {
        let first = |flow: u32| tracker.flows[flow as usize].first_frame;
        let mut rows: Vec<_> = tracker.rounds.iter().map(|row| (first(row.flow), row.clone())).collect();
        rows.iter_mut().for_each(|(_, row)| row.flow = 0);
        rows.sort_by_key(|(first, row)| (*first, row.forward, row.round));
        rows
    };
    assert!(rows(&whole) == rows(&lanes));
}

#[test]
fn both_directions_of_all_networks_share_a_lane() {
    let mut seen = [0; LANES];
    for port in 0..4000 {
        let key = crate::packet::FlowKey { src_port: port, ..packet(A).key };
        let network = key.network.in_vlan(7);
        assert_eq!(lane(&key), lane(&key.reversed()));
        assert_eq!(lane(&key), lane(&crate::packet::FlowKey { network, ..key }));
        seen[lane(&key)] += 1;
    }
    assert!(seen.iter().all(|&flows| flows > 4000 / LANES / 2), "{seen:?}");
}

/// Notes the frames that it gets, and may panic at one.
#[derive(Default)]
struct Notes {
    frames: Vec<u64>,
    fatal: Option<u64>,
    finished: u32,
}

impl Follow for Notes {
    fn packets(&mut self, packets: &[Packet]) {
        for p in packets {
            assert_ne!(Some(p.frame), self.fatal, "a bug");
            self.frames.push(p.frame);
        }
    }

    fn gathers(&self) -> bool {
        false
    }

    fn finish(&mut self) {
        self.finished += 1;
    }
}

fn notes(fatal: Option<u64>) -> Vec<Notes> {
    (0..LANES).map(|_| Notes { fatal, ..Notes::default() }).collect()
}

/// Several times what the queues hold, for one lane or for all of them.
fn flood(ports: u16) -> impl Iterator<Item = Packet> {
    let frames = 1..=4 * (Pace::default().most_queued * BATCH) as u64;
    frames.map(move |frame| {
        let key = crate::packet::FlowKey { src_port: (frame % u64::from(ports)) as u16, ..packet(A).key };
        Packet { frame, key, ..Packet::default() }
    })
}

#[test]
fn every_packet_arrives_once_and_in_order() {
    for (most, ports) in [(1, 50), (2, 1), (2, 50), (5, 1), (5, 50)] {
        let feed = |crew: &mut Crew<'_, '_, Notes>| {
            flood(ports).for_each(|p| crew.packets(&[p]));
            Ok::<_, ()>(())
        };
        let lanes = with_crew(on(most), notes(None), feed).unwrap();
        assert_eq!(lanes.len(), LANES);
        assert!(lanes.iter().all(|lane| lane.frames.is_sorted() && lane.finished == 1));
        let frames: usize = lanes.iter().map(|lane| lane.frames.len()).sum();
        assert_eq!(frames, 4 * Pace::default().most_queued * BATCH);
    }
}

#[test]
fn a_bug_on_any_thread_ends_the_work() {
    for fatal in [1, 1000, 4 * (Pace::default().most_queued * BATCH) as u64] {
        let feed = |crew: &mut Crew<'_, '_, Notes>| {
            flood(50).for_each(|p| crew.packets(&[p]));
            Ok::<_, ()>(())
        };
        let work = || with_crew(on(3), notes(Some(fatal)), feed).map(|lanes| lanes.len());
        let payload = catch_unwind(AssertUnwindSafe(work)).expect_err("a panic");
        assert!(payload.downcast_ref::<String>().is_some_and(|text| text.contains("a bug")));
    }
}

#[test]
fn a_file_that_cannot_be_read_further_ends_the_work() {
    let feed = |crew: &mut Crew<'_, '_, Notes>| {
        flood(50).for_each(|p| crew.packets(&[p]));
        Err("a disk that fails")
    };
    assert_eq!(with_crew(on(3), notes(None), feed).err(), Some("a disk that fails"));
}
