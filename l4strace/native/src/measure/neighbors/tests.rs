//! What flows of one path see of each other.

use super::super::rating::Rating;
use super::super::rounds::{Codepoint, Limit};
use super::super::slot_width;
use super::super::waits::{Directed, Round};
use super::{Beside, Neighbors, Slots};

const LENGTH_NS: i64 = 20_000_000;
const BASE_US: f64 = 10_000.0;

/// Rounds of 20 ms for 2 s, whose packets wait from `low_us` to 2 ms longer.
fn flow(of: usize, low_us: f64, packets: u32) -> Directed {
    let round = |number: i64| Round {
        round: number as u32,
        start_ns: number * LENGTH_NS,
        end_ns: (number + 1) * LENGTH_NS,
        acked_packets: packets,
        acked_bytes: u64::from(packets) * 1448,
        marks: Some(0),
        limit: Limit::Cwnd,
        steady: true,
        phase: Some(0),
        queue_us: Some(low_us + 1000.0).into(),
        rtt_min_us: Some(BASE_US + low_us).into(),
        rtt_max_us: Some(BASE_US + low_us + 2000.0).into(),
        ..Round::default()
    };
    Directed {
        of,
        codepoint: Codepoint::Ect1,
        base_us: Some(BASE_US),
        floor_us: Some(BASE_US + low_us),
        rounds: (0..100).map(round).collect(),
        ..Directed::default()
    }
}

fn with(mut flow: Directed, change: impl Fn(&mut Round)) -> Directed {
    flow.rounds.iter_mut().for_each(change);
    flow
}

fn beside(flows: &[&Directed], rate_bps: f64) -> Vec<Beside> {
    let rating = Rating { rate_bps: Some(rate_bps), ..Rating::default() };
    let width = |flow: &&Directed| slot_width(flow.steady().iter().map(|round| round.length_ns() as f64));
    let width = flows.iter().map(width).fold(0.0, f64::max);
    let mut slots = Slots::default();
    flows.iter().for_each(|flow| slots.add(flow, &rating, width));
    slots.neighbors()
}

/// What each of two ECT(1) flows sees of the other.
fn both(one: &Directed, other: &Directed, rate_bps: f64) -> [Neighbors; 2] {
    let found = beside(&[one, other], rate_bps);
    [0, 1].map(|of| found[of].scalable.clone().unwrap_or_default())
}

fn near(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() < 1e-9)
}

#[test]
fn waits_that_do_not_meet_at_the_same_time() {
    let cases = [
        (3000.0, 50e6, 0.0), // 3 to 5 ms beside 4 to 6 ms
        (8000.0, 50e6, 1.0),
        (6800.0, 50e6, 0.0), // within a step of DualPI2
        (8000.0, 8e6, 0.0),  // two packets of a slow link
    ];
    for (lowest, rate_bps, apart) in cases {
        let found = both(&flow(0, 4000.0, 20), &flow(1, lowest, 20), rate_bps);
        assert_eq!([found[0].apart, found[1].apart], [Some(apart); 2], "{lowest} us at {rate_bps}");
    }
}

#[test]
fn rates_and_rtts_are_compared_where_both_always_wait() {
    for found in both(&flow(0, 4000.0, 20), &flow(1, 9000.0, 40), 50e6) {
        assert_eq!(found.waiting, 20);
        assert!(near(found.uneven, 2f64.ln()) && near(found.unlike, (20f64 / 15.0).ln()));
    }
}

/// At 50 Mbit/s two packets take 0.48 ms.
#[test]
fn a_flow_that_finds_the_queue_empty_at_times_is_not_compared() {
    let found = both(&flow(0, 4000.0, 20), &flow(1, 400.0, 20), 50e6);
    assert_eq!([found[0].waiting, found[1].waiting], [0, 0]);
}

#[test]
fn packets_that_cannot_be_marked_are_no_ect0() {
    for (codepoint, markable) in [(Codepoint::Ect0, true), (Codepoint::NotEct, false)] {
        let other = Directed { codepoint, ..flow(1, 9000.0, 20) };
        let found = beside(&[&flow(0, 9000.0, 20), &other], 50e6);
        let classic = found[0].classic.clone().unwrap_or_default();
        assert_eq!(classic.ect0, if markable { classic.slots } else { 0 });
        assert!(found[0].scalable.is_none() && found[1].scalable.is_some());
    }
}

#[test]
fn the_least_that_others_waited_is_that_of_their_smallest_rtt() {
    let found = both(&flow(0, 400.0, 20), &flow(1, 6500.0, 20), 50e6);
    assert_eq!([found[0].least_us, found[1].least_us], [Some(6500.0), Some(400.0)]);
}

#[test]
fn the_order_of_flows_does_not_matter() {
    let flows = [flow(0, 400.0, 20), flow(1, 6500.0, 30), with(flow(2, 3000.0, 10), |r| r.marks = Some(1))];
    let [a, b, c] = [0, 1, 2].map(|of| &flows[of]);
    let (one, other) = (beside(&[a, b, c], 50e6), beside(&[c, a, b], 50e6));
    for found in &one {
        let same = other.iter().find(|same| same.of == found.of);
        assert_eq!(same.map(|same| &same.scalable), Some(&found.scalable));
    }
}
