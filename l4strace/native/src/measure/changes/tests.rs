//! Changes of capacity, and what only looks like one.

use super::super::stretches::{slots, Case, Stretch, FULL, WIDTH_NS};
use super::{capacity_changes, moment, shown, Slot, What};

/// The first slots of the changes that are found.
fn firsts(stretches: &[Stretch]) -> Vec<usize> {
    capacity_changes(&slots(stretches)).iter().map(|change| change.first).collect()
}

const NONE: [usize; 0] = [];

fn at(bps: f64) -> impl Fn(&mut Slot) {
    move |s| (s.delivered_bps, s.train_bps) = (bps, Some(bps))
}

fn full() -> Stretch {
    FULL.times(30)
}

fn slow() -> Stretch {
    FULL.times(30).with(at(5e6))
}

/// Just after the rate fell: the flight of the old rate leaves at the new one.
fn queue() -> Stretch {
    FULL.with(at(5e6)).with(|s| s.peak_us = Some(90_000.0))
}

#[test]
fn a_fall_and_a_rise_have_their_times() {
    let found = capacity_changes(&slots(&[full(), queue(), slow(), full()]));
    let times: Vec<_> = found.iter().map(|c| (c.first, c.at_ns, c.what)).collect();
    assert_eq!(times, [(30, 30 * WIDTH_NS, What::Capacity), (61, 61 * WIDTH_NS, What::Capacity)]);
}

/// A third of the slot at 50, two thirds at 5 Mbit/s.
#[test]
fn a_fall_inside_a_slot_is_dated_by_its_bits() {
    let mixed = queue().with(|s| (s.delivered_bps, s.train_bps) = (50e6 / 3.0 + 10e6 / 3.0, Some(50e6)));
    let found = capacity_changes(&slots(&[full(), mixed, slow()]));
    assert_eq!(found.len(), 1);
    assert!((found[0].at_ns - (30 * WIDTH_NS + WIDTH_NS / 3)).abs() < 1_000_000);
}

/// A capture of odd SACK blocks: nothing was delivered before, nor after.
#[test]
fn a_fall_to_the_same_level_begins_with_its_slot() {
    let slot = slots(&[FULL.times(2)])[1];
    assert_eq!(moment(&slot, 5e6, 5e6), slot.start_ns);
}

#[test]
fn what_is_no_fall() {
    let other: [Case; 4] = [
        ("the queue is empty: the sender backed off", |s| s.marks = 0.0),
        ("the application has less to send", |s| s.held_back = 1.0),
        ("trains are as fast as before", |s| s.train_bps = Some(50e6)),
        ("less, but not clearly", |s| s.delivered_bps = 40e6),
    ];
    for (why, change) in other {
        let stretches = [full(), queue().with(change), slow().with(change), FULL.times(12)];
        assert_eq!(firsts(&stretches), NONE, "{why}");
    }
    assert_eq!(firsts(&[full(), queue(), slow().times(3), FULL.times(12)]), NONE, "a stall");
    assert_eq!(firsts(&[full(), slow()]), NONE, "without the queue that it must leave");
}

/// Simulated run s8103-206: short flows at 10 of 18 Mbit/s, marked for their bursts.
#[test]
fn marked_packets_that_leave_as_fast_as_before_show_no_fall() {
    for (probe, count) in [(Some(50e6), 0), (Some(5e6), 1), (None, 1)] {
        let probing = |s: &mut Slot| s.probe_bps = probe;
        assert_eq!(firsts(&[full(), queue().with(probing), slow().with(probing)]).len(), count);
    }
}

/// Simulated runs s7351-035 and s4417-022 at the receiver: losses and reordering made the sender slow.
#[test]
fn a_receiver_takes_a_lower_rate_for_a_fall_where_more_is_marked() {
    let unseen = |s: &mut Slot| (s.queue_us, s.floor_us, s.peak_us, s.base_us) = (None, None, None, None);
    let before = || full().with(unseen).with(|s| s.marks = 40.0);
    let after = |marks: f64| slow().with(unseen).with(|s| (s.acked, s.marks) = (40.0, marks));
    assert_eq!(firsts(&[before(), after(8.0)]), [30], "twice the part that was marked before");
    assert_eq!(firsts(&[before(), after(4.0)]), NONE, "as large a part");
    let most = || before().with(|s| s.marks = 300.0);
    assert_eq!(firsts(&[most(), after(30.0)]), [30], "most are marked all along");
}

/// An AQM that drops keeps the queue below a quarter of what the flight leaves (90 ms).
fn short_queue(lost: f64) -> Stretch {
    queue().with(|s| (s.peak_us, s.lost) = (Some(3000.0), lost))
}

/// Slow start overran the buffer: the sender is slow because of that.
#[test]
fn losses_that_went_before_show_no_fall() {
    let overrun = FULL.times(5).with(|s| s.lost = 40.0);
    assert_eq!(firsts(&[full(), overrun, short_queue(40.0), slow()]), NONE);
}

/// 40 packets of 1514 bytes take 97 ms at 5 Mbit/s.
#[test]
fn a_fall_shows_in_what_an_aqm_drops_of_the_flight() {
    assert_eq!(firsts(&[full(), short_queue(40.0), slow()]), [30]);
    assert_eq!(firsts(&[full(), short_queue(30.0), slow()]), NONE, "a third of it is not accounted for");
    let no_train = |s: &mut Slot| s.train_bps = None;
    assert_eq!(firsts(&[full(), short_queue(40.0).with(no_train), slow().with(no_train)]), NONE, "no train");
    let empty = short_queue(40.0).with(|s| s.peak_us = Some(500.0));
    assert_eq!(firsts(&[full(), empty, slow()]), NONE, "no queue at all");
}

/// Lab run s901-024: 27.9 to 3.3 Mbit/s, no train while 60 packets were repaired.
#[test]
fn losses_hide_the_trains_for_a_while() {
    let repair = short_queue(6.0).times(6).with(|s| s.train_bps = None);
    assert_eq!(firsts(&[full(), repair, slow()])[0], 30);
    assert_eq!(firsts(&[full(), repair, slow().with(|s| s.train_bps = Some(50e6))]), NONE);
}

/// The queue runs empty once in every slot, yet packets leave at the rate of their trains.
fn gapless() -> Stretch {
    slow().with(|s| (s.marks, s.queue_us, s.peak_us) = (0.0, Some(20.0), Some(25_000.0)))
}

fn filled() -> Stretch {
    full().with(|s| (s.marks, s.queue_us) = (0.0, Some(20_000.0)))
}

/// Lab run s1001-053: 3.1, then 1.5, then 3.1 Mbit/s behind an AQM that drops.
#[test]
fn a_path_without_gaps_is_full_though_its_queue_runs_empty() {
    let quiet = |s: &mut Slot| s.marks = 0.0;
    assert_eq!(firsts(&[filled(), queue().with(quiet), gapless(), full().with(quiet)]), [30, 61]);
    let gaps: [Case; 3] = [
        ("packets leave faster than they come", |s| s.train_bps = Some(6e6)),
        ("no packet waits", |s| s.peak_us = Some(1500.0)),
        ("the application has less to send", |s| s.held_back = 1.0),
    ];
    for (why, change) in gaps {
        assert_eq!(firsts(&[filled(), queue().with(quiet), gapless().with(change)]), NONE, "{why}");
    }
}

/// A path that its flows do not fill yet, without marks or queue; then `more`.
fn growing(share: f64, more: &[Stretch]) -> Vec<Stretch> {
    let step = |n| FULL.with(|s| (s.delivered_bps, s.marks) = (share * 2e6 * f64::from(n), 0.0));
    (10..25).map(step).chain(more.iter().copied()).collect()
}

fn waiting(us: f64) -> impl Fn(&mut Slot) {
    move |s| s.queue_us = Some(us)
}

fn standing() -> Stretch {
    slow().with(waiting(20_000.0))
}

#[test]
fn a_path_that_was_not_full_falls_below_its_use() {
    assert_eq!(firsts(&growing(1.0, &[queue().with(waiting(2e4)), standing()])), [15]);
    let less = growing(0.1, &[queue().with(waiting(2e4)), standing()]);
    assert_eq!(firsts(&less), NONE, "the flows sent less than the path still carries");
    assert_eq!(firsts(&growing(1.0, &[queue(), slow()])), NONE, "marks alone: the sender backed off");
}

/// Lab run s901-013: 17.7 ms at 1 Mbit/s, where a packet takes 12.1 ms.
#[test]
fn an_aqm_that_holds_two_packets_lets_one_wait_for_more_than_one() {
    let slow = |us| full().with(at(1e6)).with(waiting(us));
    let flight = |us| slow(us).times(1).with(|s| s.peak_us = Some(200_000.0));
    assert_eq!(firsts(&growing(1.0, &[flight(17_700.0), slow(17_700.0)])), [15]);
    assert_eq!(firsts(&growing(1.0, &[flight(11_000.0), slow(11_000.0)])), NONE);
}

/// Lab run s1001-090: 219, then 158 Mbit/s with a queue. No path delivers more than it has.
#[test]
fn a_standing_queue_below_the_use_needs_no_great_fall() {
    let less = standing().with(at(33e6));
    let flight = less.times(1).with(|s| s.peak_us = Some(90_000.0));
    assert_eq!(firsts(&growing(1.0, &[flight, less])), [15]);
    let smeared = |s: &mut Slot| (s.train_bps, s.lost) = (None, 20.0);
    assert_eq!(firsts(&growing(1.0, &[flight.with(smeared), less.with(smeared)])), NONE);
}

/// Lab run s1001-106: 6 ms of jitter, 4 ms above the fastest packet of all.
#[test]
fn jitter_is_no_standing_queue() {
    let noise = |s: &mut Slot| s.noise_us = 25_000.0;
    let stretches = [queue().with(waiting(2e4)).with(noise), standing().with(noise)];
    assert_eq!(firsts(&growing(1.0, &stretches)), NONE);
}

/// Lab run s1001-029: a round of a second at 5.6 of 10 Mbit/s, smeared over its slots.
#[test]
fn what_one_long_repair_delivers_is_no_level_to_rise_from() {
    let repair = queue().times(8).with(|s| (s.train_bps, s.lost) = (None, 20.0));
    let between = FULL.with(|s| s.delivered_bps = 30e6);
    assert_eq!(firsts(&[full(), repair, between, FULL.times(20).with(at(10e6))]), [30]);
}

/// The queue of a fall, which the senders drain at once: what follows is not busy.
fn grows() -> Stretch {
    FULL.times(2).with(at(5e6)).with(waiting(30_000.0))
}

fn backed_off() -> Stretch {
    FULL.times(20).with(at(2e6)).with(|s| s.marks = 0.0)
}

/// Lab run s1201-097: 43.8 to 13 Mbit/s, with half of that used afterwards.
#[test]
fn a_queue_that_grows_while_less_is_delivered_shows_a_fall() {
    let found = capacity_changes(&slots(&[full(), grows(), backed_off()]));
    assert_eq!(found.iter().map(|c| (c.first, c.shown_bps)).collect::<Vec<_>>(), [(30, Some(5e6))]);
    let other: [Case; 6] = [
        ("the queue is empty: the sender backed off", |s| s.queue_us = Some(0.0)),
        ("a packet and a half", |s| s.queue_us = Some(4000.0)),
        ("jitter", |s| s.noise_us = 40_000.0),
        ("the application has less to send", |s| s.held_back = 1.0),
        ("a long repair, smeared over its slots (s1001-032)", |s| s.lost = 200.0),
        ("hardly less", |s| s.delivered_bps = 45e6),
    ];
    for (why, change) in other {
        assert_eq!(firsts(&[full(), grows().with(change), backed_off()]), NONE, "{why}");
    }
}

/// Lab run s1101-008: 21 ms of queue, 72 % marked; it is gone before the slot ends.
#[test]
fn a_flood_of_marks_with_slower_trains_shows_a_fall() {
    let flood = grows().with(|s| (s.queue_us, s.peak_us, s.marks) = (Some(0.0), Some(21_000.0), 300.0));
    assert_eq!(firsts(&[full(), flood, backed_off()]), [30]);
    let own: [fn(&mut Slot); 3] =
        [|s| s.train_bps = Some(50e6), |s| s.marks = 100.0, |s| s.peak_us = Some(600.0)];
    for change in own {
        assert_eq!(firsts(&[full(), flood.with(change), backed_off()]), NONE);
    }
}

/// Lab run s1201-119: two flows grow from 1.2 to 3.2 of 4.4 Mbit/s, marked for their bursts.
#[test]
fn marks_without_any_queue_show_no_capacity_to_rise_from() {
    let made =
        |count, bps, peak| FULL.times(count).with(|s| (s.delivered_bps, s.peak_us) = (bps, Some(peak)));
    assert_eq!(firsts(&[made(25, 1.5e6, 2000.0), made(10, 2.2e6, 2000.0)]), NONE);
    assert_eq!(firsts(&[made(25, 1.5e6, 8000.0), made(10, 2.2e6, 2000.0)]), [25]);
}

/// Lab run s1201-103: 0.9 to 1.4 of 1.26 Mbit/s while losses hide the trains, then 3.
#[test]
fn uneven_slots_after_a_fall_rise_again() {
    let uneven = |part: f64| queue().with(|s| (s.delivered_bps, s.train_bps) = (5e6 * part, None));
    let mut stretches = vec![full(), queue()];
    stretches.extend([1.4, 1.0, 1.2, 0.9].map(uneven).repeat(3));
    stretches.push(full());
    assert_eq!(firsts(&stretches), [30, 43]);
}

/// Lab run s1201-134: jitter of 8 ms; a sender that backs off does not show a fall.
#[test]
fn delays_within_the_noise_are_no_standing_queue() {
    let noise = |s: &mut Slot| (s.noise_us, s.peak_us) = (14_000.0, Some(40_000.0));
    // Trains are faster than what is delivered: gaps.
    let gaps = |s: &mut Slot| (s.marks, s.queue_us, s.train_bps) = (0.0, Some(5000.0), Some(8e6));
    assert_eq!(firsts(&[filled().with(noise), slow().with(noise).with(gaps)]), NONE);
}

/// Simulated run s9912-060: 34.7, then 99.5 Mbit/s through 2 ms of jitter, behind RED.
#[test]
fn marks_of_a_queue_in_jitter_show_a_capacity_to_rise_from() {
    let noisy = |s: &mut Slot| s.noise_us = 4_900.0;
    let rise = |queue_us: f64| {
        let marked = full().with(at(33e6)).with(noisy).with(|s| s.queue_us = Some(queue_us));
        firsts(&[marked, full().with(at(92e6)).with(noisy)])
    };
    assert_eq!(rise(2_400.0), [30]);
    assert_eq!(rise(1_900.0), NONE, "jitter alone gathers packets to bursts that are marked");
}

#[test]
fn slow_start_is_no_rise() {
    let step = |n| FULL.with(|s| s.delivered_bps = 50e6 * f64::from(n) / 15.0);
    let stretches: Vec<Stretch> = (1..16).map(step).chain([full()]).collect();
    assert_eq!(firsts(&stretches), NONE);
}

/// Lab run s1401-114: one flow ended in a queue of 1.5 s, and the other got its part.
#[test]
fn what_two_rounds_share_for_less_than_one_is_no_rise() {
    let deep = |s: &mut Slot| (s.queue_us, s.peak_us) = (Some(1.5e6), Some(2e6));
    let both = FULL.with(deep).with(|s| s.delivered_bps = 65e6);
    assert_eq!(firsts(&[full().with(deep), both.times(8), FULL.times(12).with(deep)]), NONE);
    assert_eq!(firsts(&[full().with(deep), both.times(20)]).len(), 1);
}

#[test]
fn growth_after_a_rise_is_one_change() {
    let step = |n: u32| FULL.with(|s| (s.delivered_bps, s.marks) = (1e6 * f64::from(n), 0.0));
    let mut stretches = vec![full(), queue(), slow()];
    stretches.extend((7..50).step_by(3).map(step));
    stretches.push(full());
    assert_eq!(firsts(&stretches), [30, 61]);
}

#[test]
fn capacity_is_shown_by_busy_slots_that_agree() {
    assert_eq!(shown(&slots(&[full()])), Some(50e6));
    assert_eq!(shown(&slots(&[full().with(|s| s.marks = 0.0)])), None);
    let ramp: Vec<Stretch> = (1..30).map(|n| FULL.with(|s| s.delivered_bps = 1e6 * f64::from(n))).collect();
    assert_eq!(shown(&slots(&ramp)), None);
}

fn long_below() -> Stretch {
    FULL.times(25).with(|s| (s.delivered_bps, s.train_bps) = (5e6, Some(6e6)))
}

/// Just after the fall: most of the flight of a path that was not full is dropped.
fn burst(lost: f64) -> Stretch {
    long_below().times(1).with(|s| (s.peak_us, s.lost) = (Some(37_000.0), lost))
}

/// Lab run s2001-027: 9.3 of 13.7 Mbit/s, then 2.8 Mbit/s with 37 ms of queue and losses.
#[test]
fn marks_in_every_slot_far_below_the_use_and_a_lost_flight_show_a_fall() {
    assert_eq!(firsts(&growing(1.0, &[burst(100.0), long_below()])), [15]);
    let after = |change: fn(&mut Slot), count| {
        let again = FULL.with(|s| s.delivered_bps = 48e6);
        let below = long_below().with(change).times(count);
        firsts(&growing(1.0, &[burst(100.0).with(change), below, again]))
    };
    assert_eq!(after(|s| s.train_bps = Some(45e6), 25), NONE, "trains are as fast as before");
    assert_eq!(after(|s| s.marks = 0.0, 25), NONE, "the sender backed off, and nothing marks it");
    assert_eq!(after(|_| (), 7), NONE, "it does not last");
}

/// Lab run s2101-045: 5 Mbit/s, then 1 Mbit/s; the AQM dropped what the fall left in flight.
#[test]
fn a_queue_that_stands_for_long_far_below_the_use_shows_a_fall() {
    let before = FULL.times(15).with(|s| (s.marks, s.lost) = (0.0, 50.0));
    let slow = |s: &mut Slot| (s.delivered_bps, s.train_bps, s.marks, s.lost) = (5e6, None, 0.0, 10.0);
    let slow = FULL.times(25).with(slow);
    let queue = slow.with(waiting(17_000.0));
    let trains = |s: &mut Slot| s.train_bps = Some(4e6);
    assert_eq!(firsts(&[before, queue.times(1), queue.with(trains)]), [15]);
    assert_eq!(firsts(&[before, slow.with(trains)]), NONE);
}

/// Simulated run s8104-007: 24.6 to 5.3 Mbit/s, and the receive window held one of two flows.
#[test]
fn a_queue_that_stands_in_a_full_window_fills_the_path() {
    let held = |s: &mut Slot| {
        (s.held_back, s.marks, s.queue_us, s.floor_us) = (0.5, 0.0, Some(208_000.0), Some(207_700.0));
    };
    let late = slow().times(6).with(held).with(|s| (s.train_bps, s.peak_us) = (Some(50e6), Some(570e3)));
    assert_eq!(firsts(&[full().with(held), late, slow().with(held), full().with(held)]), [34, 66]);
    assert!(!slots(&[FULL.with(held).with(|s| s.floor_us = Some(0.0))])[0].busy);
}

/// Simulated run s8105-135: a sender that hears of losses sends less meanwhile.
#[test]
fn a_flight_that_was_dropped_but_for_a_part_shows_a_fall() {
    for (lost, found) in [(40.0, vec![15]), (30.0, vec![15]), (20.0, vec![])] {
        assert_eq!(firsts(&growing(1.0, &[burst(lost), long_below()])), found);
    }
}

/// Simulated run s8105-123: 86 to 20.7 Mbit/s and back, which nothing but repairs showed.
#[test]
fn a_fall_that_losses_hide_is_left_by_a_rise() {
    let hidden = |part: f64| queue().with(|s| (s.delivered_bps, s.train_bps) = (5e6 * part, None));
    let uneven = |part: f64| FULL.with(at(5e6)).with(|s| (s.delivered_bps, s.marks) = (5e6 * part, 0.0));
    let mut stretches = vec![full(), queue()];
    stretches.extend([0.5, 1.3, 0.6, 1.2].map(hidden));
    stretches.extend([0.6, 1.6, 0.7].map(uneven).repeat(4));
    stretches.push(full());
    assert_eq!(firsts(&stretches), [30, 47]);
}
