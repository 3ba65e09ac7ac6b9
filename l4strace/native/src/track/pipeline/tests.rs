//! The same on any number of threads, in order, and never stuck.

use std::panic::{catch_unwind, AssertUnwindSafe};

use super::*;
use crate::track::testing::turn;

fn on(most: usize) -> Threads {
    Threads { most, after: 1000 }
}

fn conversations(ports: u16) -> Vec<Packet> {
    let each = (0..60).flat_map(|n| (0..ports).map(move |port| (n, 1000 + port)));
    each.zip(1..).map(|((n, port), frame)| turn(n, port, frame)).collect()
}

fn tracked(threads: Threads, packets: &[Packet], at_once: usize) -> Tracker {
    let feed = |pipeline: &mut Pipeline<'_, '_>| {
        packets.chunks(at_once).for_each(|packets| pipeline.packets(packets));
        Ok::<_, ()>(())
    };
    follow(threads, feed).unwrap()
}

#[test]
fn threads_and_pieces_change_nothing() {
    // Few conversations are followed at once; many wait for each other.
    for ports in [30, 300] {
        let packets = conversations(ports);
        let alone = tracked(on(1), &packets, 32);
        assert_eq!(alone.flows.len(), usize::from(ports) + usize::from(ports).div_ceil(3));
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

    fn finish(&mut self) {
        self.finished += 1;
    }
}

fn noted(frames: u64, fatal: Option<u64>) -> Notes {
    thread::scope(|scope| {
        let mut notes = Notes { fatal, ..Notes::default() };
        let mut beside = Beside::start(scope, &mut notes).expect("a thread");
        (1..=frames).for_each(|frame| beside.add(&[Packet { frame, ..Packet::default() }]));
        beside.end()
    })
}

#[test]
fn every_packet_arrives_once_and_in_order() {
    for frames in [0, 1, BATCH as u64, 4 * (BATCHES * BATCH) as u64 + 1] {
        let notes = noted(frames, None);
        assert!(notes.frames.into_iter().eq(1..=frames));
        assert_eq!(notes.finished, 1);
    }
}

#[test]
fn a_bug_on_the_thread_is_the_callers() {
    let frames = 4 * (BATCHES * BATCH) as u64;
    for fatal in [1, 1000, frames] {
        let payload =
            catch_unwind(AssertUnwindSafe(|| noted(frames, Some(fatal)).finished)).expect_err("a panic");
        assert!(payload.downcast_ref::<String>().is_some_and(|text| text.contains("a bug")));
    }
}

#[test]
fn a_file_that_cannot_be_read_further_ends_the_work() {
    let packets = conversations(30);
    for most in [1, 2] {
        let feed = |pipeline: &mut Pipeline<'_, '_>| {
            pipeline.packets(&packets);
            pipeline.packets(&packets);
            Err("a disk that fails")
        };
        assert_eq!(follow(on(most), feed).err(), Some("a disk that fails"));
    }
}
