//! Features of the directions of one path, from rounds with known answers.

use super::super::rating::Rating;
use super::super::rounds::{Codepoint, Limit};
use super::super::waits::{Directed, Round};
use super::{features, Ahead, Features, Glance};

const LENGTH_NS: i64 = 10_000_000;
const BASE_US: f64 = 10_000.0;
const RATE_BPS: f64 = 50e6;

/// A sawtooth of queue with a mark wherever it is longer than 900 us.
fn flow(of: usize, codepoint: Codepoint, scale: f64) -> Directed {
    let round = |number: i64| {
        let queue_us = (100 * (number % 12)) as f64 * scale;
        let marks = i64::from(queue_us > 900.0 * scale);
        Round {
            round: number as u32,
            start_ns: number * LENGTH_NS,
            end_ns: (number + 1) * LENGTH_NS,
            acked_packets: 40,
            acked_bytes: 40 * 1448,
            marks: Some(marks),
            limit: Limit::Cwnd,
            steady: number >= 20,
            phase: Some(0),
            queue_us: Some(queue_us).into(),
            rtt_min_us: Some(BASE_US + queue_us).into(),
            rtt_max_us: Some(BASE_US + queue_us).into(),
            top_us: Some(queue_us).into(),
            at_loss_us: Some(queue_us).into(),
            marking_us: (marks > 0).then_some(queue_us).into(),
            ..Round::default()
        }
    };
    Directed {
        of,
        codepoint,
        began: true,
        base_us: Some(BASE_US),
        floor_us: Some(BASE_US),
        rise_us: Some(0.0),
        rounds: (0..200).map(round).collect(),
        ..Directed::default()
    }
}

fn of(flows: &[Directed]) -> Vec<Features> {
    let rating = Rating { rate_bps: Some(RATE_BPS), ..Rating::default() };
    let ofs: Vec<usize> = flows.iter().map(|flow| flow.of).collect();
    let made = |of| flows.iter().find(|flow| flow.of == of).cloned().unwrap_or_default();
    let mut ahead = Ahead::default();
    for flow in flows {
        let glance = |round: &Round| Glance {
            steady: round.steady,
            start_ns: round.start_ns,
            end_ns: round.end_ns,
            acked_packets: round.acked_packets,
            marks: round.marks,
        };
        ahead.add(&flow.rounds.iter().map(glance).collect::<Vec<_>>());
    }
    features(&ofs, made, &ahead, &rating, &rating)
}

fn alone(flow: Directed) -> Features {
    of(&[flow]).remove(0)
}

#[test]
fn marks_and_delays_of_a_flow() {
    let found = alone(flow(0, Codepoint::Ect1, 1.0));
    assert_eq!((found.own.rounds, found.own.acked), (180, 7200));
    // Two of twelve rounds: 1,000 and 1,100 us.
    assert_eq!((found.own.marks, found.whole.marks, found.path.marks), (30, 32, 32));
    assert_eq!(found.own.marking_delay_us, Some(1000.0));
    assert_eq!(found.own.queue_delay_us, Some(500.0));
    assert_eq!((found.whole.queue_max_us, found.own.stepped), (Some(1100.0), Some(1.0)));
    assert_eq!((found.own.flat, found.whole.high_acked), (Some(true), 0));
}

#[test]
fn longer_queues_scale_the_delays_and_nothing_else() {
    let (one, twice) = (alone(flow(0, Codepoint::Ect1, 1.0)), alone(flow(0, Codepoint::Ect1, 2.0)));
    let delays = |found: &Features| {
        [found.own.marking_delay_us, found.own.queue_delay_us, found.own.top_us, found.path.queue_max_us]
    };
    assert_eq!(delays(&one).map(|us| us.map(|us| 2.0 * us)), delays(&twice));
    assert_eq!(one.own.marks, twice.own.marks);
}

#[test]
fn one_round_more_changes_little() {
    let whole = alone(flow(0, Codepoint::Ect1, 1.0));
    let mut shorter = flow(0, Codepoint::Ect1, 1.0);
    shorter.rounds.pop();
    let less = alone(shorter);
    assert_eq!(less.own.marking_delay_us, whole.own.marking_delay_us);
    assert!((less.own.queue_delay_us.unwrap_or(0.0) - 550.0).abs() <= 50.0);
    assert!(whole.own.acked - less.own.acked == 40);
}

#[test]
fn a_flow_with_few_steady_rounds_is_left_out() {
    let mut short = flow(0, Codepoint::Ect1, 1.0);
    short.rounds.truncate(24);
    assert!(of(&[short.clone()]).is_empty());
    short.rounds.extend(flow(0, Codepoint::Ect1, 1.0).rounds[24..25].iter());
    assert_eq!(of(&[short]).len(), 1);
}

/// Lab run s1601-005: their marked share is over that of the ECT(1) packets of the path.
#[test]
fn marks_of_ect0_packets_are_compared_with_those_of_ect1_packets() {
    let mut classic = flow(1, Codepoint::Ect0, 1.0);
    classic.rounds.iter_mut().for_each(|round| round.marks = Some(i64::from(round.round % 12 == 0)));
    let found = of(&[flow(0, Codepoint::Ect1, 1.0), classic]);
    for row in &found {
        assert_eq!(row.path.ect0_marks, 17);
        assert!((row.path.ect0_ratio.unwrap_or(0.0) - 17.0 / 32.0).abs() < 1e-12);
        assert_eq!(row.ect0_parts, Some(10));
    }
    assert_eq!(alone(flow(0, Codepoint::Ect1, 1.0)).path.ect0_ratio, None, "there are none");
}

#[test]
fn marks_of_a_slow_start_hide_no_marks_of_ect0_packets_after_it() {
    let mut scalable = flow(0, Codepoint::Ect1, 1.0);
    let marks = |round: u32| if round < 20 { 20 } else { i64::from(round.is_multiple_of(30)) };
    scalable.rounds.iter_mut().for_each(|round| round.marks = Some(marks(round.round)));
    let mut classic = flow(1, Codepoint::Ect0, 1.0);
    classic.rounds.iter_mut().for_each(|round| round.marks = Some(i64::from(round.round % 12 == 0)));
    let found = of(&[scalable, classic]);
    // 15 of 180 rounds beside 6; with the start 17 of 200 beside 406.
    assert!((found[0].path.ect0_ratio.unwrap_or(0.0) - 15.0 / 6.0).abs() < 1e-12);
}

/// Lab run s1701-154: 19 ms more of path are no queue that DualPI2 left without a mark.
#[test]
fn what_a_flow_always_waits_may_be_its_longer_path() {
    for (floor_us, count) in [(BASE_US, 200), (BASE_US + 20_000.0, 0)] {
        let mut far = flow(0, Codepoint::Ect1, 0.0);
        far.floor_us = Some(floor_us);
        far.rounds.iter_mut().for_each(|round| round.rtt_min_us = Some(BASE_US + 20_000.0).into());
        let found = alone(far);
        assert_eq!((found.far_unmarked, found.path.far_unmarked), (count, count));
        assert_eq!(found.whole.high_unmarked, 200);
    }
}

#[test]
fn losses_where_a_queue_stood_are_told_from_others() {
    let mut lossy = flow(0, Codepoint::Ect1, 20.0);
    lossy.rounds.iter_mut().for_each(|round| round.retransmits = u32::from(round.round % 6 == 5));
    let found = alone(lossy);
    // At 10,000 and 22,000 us in turns; all of them lie above five times what shows a queue.
    assert_eq!((found.path.losses.rounds, found.path.losses.queued), (30, Some(1.0)));
    assert_eq!((found.own.losses.low_us, found.own.losses.high_us), (Some(10_000.0), Some(22_000.0)));
    assert_eq!(found.own.losses.middle_us, Some(16_000.0));
    assert_eq!(alone(flow(0, Codepoint::Ect1, 1.0)).path.losses.queued, None);
}

#[test]
fn the_order_of_flows_does_not_matter() {
    let flows = [flow(0, Codepoint::Ect1, 1.0), flow(1, Codepoint::Ect0, 3.0), flow(2, Codepoint::Ect1, 2.0)];
    let mixed = [flows[2].clone(), flows[0].clone(), flows[1].clone()];
    let key = |found: &Features| (found.own.marks, found.path.ect0_ratio, found.beside.scalable.clone());
    for row in of(&flows) {
        let same = of(&mixed).into_iter().find(|found| found.of == row.of);
        assert_eq!(same.as_ref().map(key), Some(key(&row)));
    }
}
