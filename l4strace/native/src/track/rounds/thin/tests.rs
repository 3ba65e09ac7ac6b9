//! Fewer rows: what stays, and what the others become.

use super::*;
use crate::track::rounds::round::Controlled;
use crate::track::testing::turn;

const MOST: u32 = 4096;

fn row(round: u32) -> RoundRow {
    let ns = i64::from(round) * 1000;
    let rtts = RttSummary { min_us: 10.0, mean_us: 11.0, max_us: 12.0, mdev_us: 0.5 };
    let controlled = Some(Controlled { window: round, ..Controlled::default() });
    RoundRow {
        round,
        round_trips: 1,
        start_ns: ns,
        end_ns: ns + 1000,
        ecn: [0, 10, 0, 0],
        acked_packets: 9,
        acked_bytes: 9000,
        rtts,
        rtt_samples: 5,
        cwnd_packets: Some(f64::from(round)).into(),
        marked: Marked { ce: CeRange { lo: 0, hi: 2, best: 1 }, ..Marked::default() },
        rare: Some(Box::new(Rare { controlled, ..Rare::default() })),
        ..RoundRow::default()
    }
}

/// Rows as they are after `rounds` rounds of one direction, thinned as often as they had to be.
fn followed(rounds: u32, make: impl Fn(u32) -> RoundRow) -> Vec<RoundRow> {
    let mut rows = Rows::default();
    let mut kept = 0;
    for round in 0..rounds {
        rows.push(make(round));
        kept += 1;
        if kept == MOST {
            kept = rows.thin(0, false, MOST);
            assert!(kept <= MOST - MOST / 8, "{kept} rows are left");
        }
    }
    assert_eq!(rows.len(), kept as usize);
    let mut found: Vec<RoundRow> = rows.iter().cloned().collect();
    found.sort_by_key(|row| row.round);
    found
}

#[test]
fn rows_stay_few_and_cover_every_round_once() {
    let found = followed(100 * MOST, row);
    assert!(found.len() < MOST as usize);
    let mut next = 0;
    for row in &found {
        assert_eq!(row.round, next);
        assert_eq!(
            (row.start_ns, row.end_ns),
            (i64::from(next) * 1000, i64::from(next + row.round_trips) * 1000)
        );
        assert_eq!(row.sent_packets(), 10 * row.round_trips);
        assert_eq!(row.acked_bytes, 9000 * u64::from(row.round_trips));
        assert_eq!(row.marked.ce, CeRange { lo: 0, hi: 2 * row.round_trips, best: row.round_trips });
        assert_eq!(row.rtt().map(|rtt| rtt.mean_us), Some(11.0));
        assert_eq!(row.goodput_bps().map_or(72e9, f64::round), 72e9);
        next += row.round_trips;
        assert_eq!(row.cwnd_packets.get(), Some(f64::from(next - 1)));
        assert_eq!(row.rare().controlled.map(|last| last.window), Some(next - 1));
    }
    assert_eq!(next, 100 * MOST);
}

#[test]
fn counts_that_somebody_made_up_wrap_nothing() {
    let most = CeRange { lo: u32::MAX, hi: u32::MAX, best: u32::MAX };
    let found = followed(2 * MOST, |round| RoundRow {
        acked_packets: u32::MAX,
        retransmits: u32::MAX,
        marked: Marked { ce: most, ..Marked::default() },
        ..row(round)
    });
    assert!(found.iter().all(|row| (row.acked_packets, row.marked.ce) == (u32::MAX, most)));
}

#[test]
fn stretches_of_single_rounds_stay_whole() {
    let found = followed(20 * MOST, row);
    let single: Vec<bool> = found.iter().map(|row| row.round_trips == 1).collect();
    let runs: Vec<usize> = single.split(|single| !single).map(<[bool]>::len).filter(|&n| n > 1).collect();
    assert!(runs.len() > 2, "{runs:?}");
    let short = runs.iter().filter(|&&n| n < STRETCH as usize).count();
    assert!(short <= 1, "only the newest may be short: {runs:?}");
    assert_eq!(found[..STRETCH as usize].iter().map(|row| row.round_trips).max(), Some(1));
}

#[test]
fn rounds_around_an_event_stay() {
    let lost = 3 * MOST / 2 + 77;
    let found = followed(9 * MOST, |round| RoundRow { retransmits: u32::from(round == lost), ..row(round) });
    for round in lost - 2..=lost + 2 {
        let row = found.iter().find(|row| row.round == round).expect("a row of its own");
        assert_eq!((row.round_trips, row.retransmits), (1, u32::from(round == lost)));
    }
}

#[test]
fn where_every_round_is_an_event_rows_are_thinned_all_the_same() {
    let found = followed(20 * MOST, |round| RoundRow { retransmits: 1, ..row(round) });
    assert!(found.len() < MOST as usize);
    assert_eq!(found.iter().map(|row| row.retransmits).sum::<u32>(), 20 * MOST);
}

#[test]
fn rows_end_at_pauses_unless_all_do() {
    let pausing = |every: u32| {
        followed(20 * MOST, move |round| {
            let later = i64::from(round / every) * 2 * PAUSE_NS;
            let row = row(round);
            RoundRow { start_ns: row.start_ns + later, end_ns: row.end_ns + later, ..row }
        })
    };
    let longest = |rows: &[RoundRow]| rows.iter().map(|row| row.end_ns - row.start_ns).max().unwrap_or(0);
    assert!(longest(&pausing(1000)) < PAUSE_NS);
    assert!(longest(&pausing(1)) > PAUSE_NS);
}

#[test]
fn rows_of_other_directions_are_left_alone() {
    let mut rows = Rows::default();
    for round in 0..MOST {
        rows.push(row(round));
        rows.push(RoundRow { forward: true, ..row(round) });
    }
    rows.thin(0, false, MOST);
    assert_eq!(rows.iter().filter(|row| row.forward).count(), MOST as usize);
    assert!(rows.iter().filter(|row| row.forward).all(|row| row.round_trips == 1));
}

/// So many directions, each of so many rounds.
fn directions(many: u32, rounds: u32) -> Rows {
    let mut rows = Rows::default();
    for round in 0..rounds {
        for flow in 0..many {
            rows.push(RoundRow { flow, ..row(round) });
        }
    }
    rows
}

#[test]
fn long_directions_make_room_for_all() {
    let mut rows = directions(20, 3000);
    for round in 0..400 {
        rows.push(RoundRow { flow: 20, ..row(round) });
    }
    let left = rows.fit(20_000);
    assert_eq!(left.len(), 20, "not the short one");
    assert!(rows.len() <= 20_000, "{}", rows.len());
    assert_eq!(rows.iter().count(), rows.len());
    let by_direction = rows.by_direction();
    assert_eq!(by_direction[&(20, false)].len(), 400);
    for (of, left) in left {
        let places = &by_direction[&of];
        assert_eq!(places.len(), left as usize);
        assert_eq!(places.iter().map(|&place| rows.row(place).round_trips).sum::<u32>(), 3000);
        assert_eq!(places.iter().map(|&place| rows.row(place).sent_packets()).sum::<u32>(), 30_000);
    }
}

#[test]
fn directions_of_few_rows_stay_however_many_there_are() {
    let mut rows = directions(500, 100);
    assert_eq!(rows.fit(1000), []);
    assert_eq!(rows.len(), 50_000);
}

#[test]
fn shorter_stretches_lie_within_longer_ones() {
    let single = |rows: &Rows| -> Vec<u32> {
        rows.iter().filter(|row| row.round_trips == 1).map(|row| row.round).collect()
    };
    let mut rows = directions(1, 30_000);
    for most in [16384, 4096, 1024, 512] {
        let before = single(&rows);
        rows.thin(0, false, most);
        let after = single(&rows);
        assert!(after.len() < before.len());
        assert!(after.iter().all(|round| before.contains(round)), "{most}");
        let stretch = stretch(most);
        assert!((0..stretch).all(|round| after.contains(&round)), "{most}");
    }
}

/// Three conversations of 3,000 rounds, thinned in the middle where `most` says so.
fn tracked(most: Option<usize>) -> Tracker {
    let mut tracker = Tracker::default();
    let each = (0..6002).flat_map(|n| [1, 2, 4].map(|port| (n, port)));
    for ((n, port), frame) in each.zip(1..) {
        tracker.packets(&[turn(n, port, frame)]);
        if let Some(most) = most.filter(|_| n == 4000 && port == 4) {
            tracker.thin_to(most);
        }
    }
    tracker.finish();
    tracker
}

#[test]
fn a_capture_is_thinned_while_it_is_followed() {
    let (whole, thinned) = (tracked(None), tracked(Some(4096)));
    assert!(thinned.rounds.len() < whole.rounds.len());
    let rounds = |tracker: &Tracker| tracker.rounds.iter().map(|row| row.round_trips).sum::<u32>();
    assert_eq!(rounds(&thinned), rounds(&whole));
    for flow in &thinned.flows {
        let rows = thinned.rounds.iter().filter(|row| row.flow == flow.id).count();
        assert_eq!(flow.dirs[0].sender.as_ref().map(|sender| sender.rows as usize), Some(rows));
    }
}
