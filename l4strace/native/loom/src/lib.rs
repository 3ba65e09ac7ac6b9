//! How threads share lanes (`track/crew/shared.rs`), in every order of the caller and one helper: `make test-system`.
//!
//! The file is the product's own; around it stand loom's locks and a packet that is a number.
#![cfg(test)]

mod packet {
    pub type Packet = u32;
}

mod sync {
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
}

#[path = "../../src/track/crew/shared.rs"]
#[allow(dead_code)] // what only the caller asks of lanes
mod shared;

use std::panic::{catch_unwind, AssertUnwindSafe};

use loom::sync::Arc;
use loom::thread;

use packet::Packet;
use shared::{Follow, Pace, Shared};

/// Little room, so that the caller has to wait, and a helper for every batch.
const PACE: Pace = Pace { most_queued: 2, worth_waking: 1 };

/// Notes what it gets, and may panic at one.
#[derive(Default)]
struct Notes {
    packets: Vec<Packet>,
    fatal: Option<Packet>,
}

impl Follow for Notes {
    fn packets(&mut self, packets: &[Packet]) {
        for &packet in packets {
            if self.fatal == Some(packet) {
                std::panic::resume_unwind(Box::new("a bug"));
            }
            self.packets.push(packet);
        }
    }

    fn gathers(&self) -> bool {
        false
    }

    fn finish(&mut self) {}
}

/// Hands over packets (lane, number) beside so many helpers; what the lanes noted.
fn followed(helpers: usize, lanes: Vec<Notes>, packets: &[(usize, Packet)]) -> Vec<Vec<Packet>> {
    let shared = Arc::new(Shared::new(PACE));
    shared.begin(lanes);
    let help = |_| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || shared.help())
    };
    let crew: Vec<_> = (0..helpers).map(help).collect();
    let lanes = catch_unwind(AssertUnwindSafe(|| {
        packets.iter().for_each(|&(lane, packet)| shared.hand_over(lane, &mut vec![packet]));
        shared.finish()
    }));
    shared.end();
    crew.into_iter().for_each(|helper| helper.join().expect("helpers do not panic"));
    let lanes = lanes.unwrap_or_else(|why| std::panic::resume_unwind(why));
    lanes.into_iter().map(|lane| lane.packets).collect()
}

fn lanes(many: usize) -> Vec<Notes> {
    (0..many).map(|_| Notes::default()).collect()
}

#[test]
fn every_lane_gets_its_packets_in_order() {
    loom::model(|| {
        let found = followed(1, lanes(2), &[(0, 1), (1, 2), (0, 3), (0, 4)]);
        assert_eq!(found, [vec![1, 3, 4], vec![2]]);
    });
}

/// All orders of three threads take hours: those in which each is interrupted three times at most.
#[test]
fn two_helpers_do_no_harm() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let found = followed(2, lanes(2), &[(0, 1), (1, 2), (0, 3)]);
        assert_eq!(found, [vec![1, 3], vec![2]]);
    });
}

#[test]
fn nobody_waits_for_packets_that_never_come() {
    loom::model(|| {
        assert_eq!(followed(2, lanes(1), &[]), [vec![]]);
    });
}

#[test]
fn a_panic_reaches_the_caller() {
    loom::model(|| {
        let lane = Notes { fatal: Some(2), ..Notes::default() };
        let run = || followed(1, vec![lane], &[(0, 1), (0, 2), (0, 3)]);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    });
}
