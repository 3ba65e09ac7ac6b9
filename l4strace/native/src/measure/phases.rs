//! Phases of each path: stretches in which capacity, marking and base RTT stay the same.
//!
//! Averages over a run that crosses a change describe neither part, so rules judge per phase.

use std::collections::BTreeMap;

use super::base_rtt::{base_rtt_changes, STEP_US};
use super::capacity::{estimate, plateau};
use super::changes::{capacity_changes, shown, Change, What};
use super::full::{queued, LASTING};
use super::marking_gaps::marking_changes;
use super::numbers::mean;
use super::slots::{Slot, PROBE_PACKETS};
use super::usage::{usage, Usage};
use super::FRAME_BITS;

/// The third fastest slot counts where it is this much above what busy slots show: such a path was marked
/// or slowed down at a lower rate than it carries. By eye, above the smear of slots.
const TOP: usize = 3;
const TOP_RATIO: f64 = 1.5;

/// Last slots of a path in which a fall must show its level. By eye: twice those that it lasts.
const ENDING: usize = 2 * LASTING;

/// Ratio of two capacities that are not called a change: as `full::ROSE`.
const ALIKE: f64 = 1.25;

/// Jitter (us) from which packets count as released in bursts: DualPI2's step (sch_dualpi2.c).
pub const NOTED_US: f64 = 1000.0;

/// Factor from the estimate of the jitter to what noise can add to every delay. In order, packets gather
/// behind the slowest: nearly all then travel at the far end of the range, of which a round shows half or
/// less. Measured on the captures named in `derive/noise.py`: the marks of DualPI2 move by 1.0 to 2.3 times
/// the estimate.
pub const HIDES: f64 = 2.5;

/// One row of `phases`.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    pub at: u32,
    pub phase: u32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub changed: Option<What>,
    pub capacity_bps: f64,
    pub capacity_shown: bool,
    pub rate_bps: f64,
    /// Part of the capacity that flows over UDP took.
    pub beside_bps: f64,
    pub busy_share: f64,
    pub base_rtt_us: Option<f64>,
    pub marks: u64,
    pub ce_share: Option<f64>,
    pub losses: u64,
    pub usage: Usage,
}

/// The phases of all paths; `noise_us` is what noise adds to the delays of a path.
pub fn phases(slots: &[Slot], noise_us: &BTreeMap<u32, f64>) -> Vec<Phase> {
    let in_noise = |slots: &[Slot]| {
        let mut slots = slots.to_vec();
        for slot in &mut slots {
            slot.noise_us = noise_us.get(&slot.at).copied().unwrap_or(0.0);
            slot.busy = slot.fills();
        }
        of_path(&slots)
    };
    slots.chunk_by(|a, b| a.at == b.at).flat_map(in_noise).collect()
}

fn of_path(slots: &[Slot]) -> Vec<Phase> {
    let found = ordered([capacity_changes(slots), marking_changes(slots), base_rtt_changes(slots)]);
    let rows = rows(slots, &found);
    let lasting = |(change, sides): (&Change, &[Phase])| {
        (!undone(change, &sides[0], &sides[1], slots)).then_some(*change)
    };
    let kept: Vec<Change> = found.iter().zip(rows.windows(2)).filter_map(lasting).collect();
    if kept.len() < found.len() {
        self::rows(slots, &kept)
    } else {
        rows
    }
}

/// By time; of changes at one slot the first kind counts.
fn ordered(kinds: [Vec<Change>; 3]) -> Vec<Change> {
    let mut found: BTreeMap<usize, Change> = BTreeMap::new();
    for change in kinds.into_iter().flatten() {
        found.entry(change.first).or_insert(change);
    }
    found.into_values().collect()
}

/// What is much the same in the whole of both phases did not change.
fn undone(change: &Change, before: &Phase, after: &Phase, slots: &[Slot]) -> bool {
    match change.what {
        What::Capacity => alike(before, after) || ends(before, after, slots, change.first),
        What::BaseRtt => {
            let moved = before.base_rtt_us.zip(after.base_rtt_us).map(|(a, b)| (a - b).abs());
            moved.is_some_and(|moved| moved < STEP_US)
        }
        What::Marking => false,
    }
}

fn alike(before: &Phase, after: &Phase) -> bool {
    let ratio = after.capacity_bps / before.capacity_bps.max(1.0);
    1.0 / ALIKE < ratio && ratio < ALIKE
}

/// A fall to a level that nothing shows, or with fewer flows: at the end they end one by one.
///
/// Not where a queue stood at the lower level before the first of them ended: marks alone also come to
/// flows that send less.
fn ends(before: &Phase, last: &Phase, slots: &[Slot], first: usize) -> bool {
    let (there, left) = (&slots[first.saturating_sub(LASTING)..first], &slots[first..]);
    let most = there.iter().map(|slot| slot.flows).max().unwrap_or(0);
    let fewest = left.iter().take(ENDING).map(|slot| slot.flows).min().unwrap_or(0);
    let together = left.iter().take_while(|slot| slot.flows >= most);
    let stood = together.filter(|slot| slot.busy && slot.stands()).count();
    let unseen = left.len() <= ENDING && !last.capacity_shown;
    let fewer = left.len() <= 2 * ENDING && fewest < most && stood < LASTING;
    last.capacity_bps < before.capacity_bps && (unseen || fewer)
}

/// The phases that `changes` part.
fn rows(slots: &[Slot], changes: &[Change]) -> Vec<Phase> {
    let end = Change {
        first: slots.len(),
        at_ns: slots.last().map_or(0, |slot| slot.last_ns),
        what: What::Capacity,
        shown_bps: None,
    };
    let ends = changes.iter().chain([&end]);
    let begins = [None].into_iter().chain(changes.iter().map(Some));
    let row = |(number, (begin, end)): (usize, (Option<&Change>, &Change))| {
        let own = &slots[begin.map_or(0, |change| change.first)..end.first];
        Phase {
            phase: number as u32,
            start_ns: begin.map_or(slots[0].first_ns, |change| change.at_ns),
            end_ns: end.at_ns,
            changed: begin.map(|change| change.what),
            ..measured(own, begin.and_then(|change| change.shown_bps))
        }
    };
    begins.zip(ends).enumerate().map(row).collect()
}

/// What the slots of a phase show; `known_bps` is the capacity that its first ones showed.
fn measured(slots: &[Slot], known_bps: Option<f64>) -> Phase {
    let total = |of: fn(&Slot) -> f64| slots.iter().map(of).sum::<f64>();
    let (marks, acked, count) = (total(|s| s.marks), total(|s| s.acked), slots.len() as f64);
    let (capacity_bps, shown) = capacity(slots, known_bps);
    Phase {
        at: slots[0].at,
        phase: 0,
        start_ns: slots[0].first_ns,
        end_ns: slots[0].first_ns,
        changed: None,
        capacity_bps,
        capacity_shown: shown,
        rate_bps: total(|s| s.delivered_bps) / count,
        beside_bps: beside(slots),
        busy_share: slots.iter().filter(|slot| slot.busy).count() as f64 / count,
        base_rtt_us: slots.iter().filter_map(|slot| slot.least_us).reduce(f64::min),
        marks: marks.round_ties_even() as u64,
        ce_share: (acked > 0.0).then(|| marks / acked),
        losses: total(|s| s.lost).round_ties_even() as u64,
        usage: usage(slots, capacity_bps, shown),
    }
}

/// What went over UDP in the slots that show the capacity of a phase.
fn beside(slots: &[Slot]) -> f64 {
    let busy = slots.iter().any(|slot| slot.busy);
    mean(slots.iter().filter(|slot| slot.busy || !busy).map(|slot| slot.beside_bps)).unwrap_or(0.0)
}

/// Capacity of a phase, and whether a busy path shows it.
fn capacity(slots: &[Slot], known_bps: Option<f64>) -> (f64, bool) {
    let level = shown(slots);
    let mut size = if level.is_some() { size(slots) } else { 0.0 };
    if let Some(known) = known_bps.filter(|_| !(level.is_some_and(|bps| bps > 0.0) && queued(slots))) {
        size = size.max(known);
    }
    // No slot delivers more than the path carries; one may hold bits of its neighbor.
    let mut fastest: Vec<f64> = slots.iter().map(|slot| slot.delivered_bps).collect();
    fastest.sort_unstable_by(|a, b| b.total_cmp(a));
    let most = fastest[TOP.min(fastest.len()) - 1];
    if most > TOP_RATIO * size {
        size = most.max(estimate(fastest, credible(slots, |slot| slot.train_bps)));
    }
    if level.is_none() {
        // Flows that never fill the path had a queue where they were marked: at its own rate.
        let mut probes = credible(slots, |slot| slot.probe_bps);
        probes.sort_unstable_by(f64::total_cmp);
        size = size.max(probes.get(probes.len().saturating_sub(1) / 2).copied().unwrap_or(0.0));
    }
    (size, level.is_some())
}

/// Capacity of a phase with busy slots.
fn size(slots: &[Slot]) -> f64 {
    let busy = || slots.iter().filter(|slot| slot.busy);
    let standing: Vec<f64> = busy().filter(|slot| slot.stands()).map(|slot| slot.delivered_bps).collect();
    let stood = 2 * standing.len() >= busy().count();
    let level = stood.then(|| plateau(&standing)).flatten();
    let rates = || busy().map(|slot| slot.delivered_bps).collect();
    // Trains that are faster than a queue that stands were released together behind it.
    let trains = || if stood { Vec::new() } else { credible(slots, |slot| slot.train_bps) };
    level.unwrap_or_else(|| estimate(rates(), trains()))
}

/// Rates of trains that the noise of the path does not make: they last longer than it.
fn credible(slots: &[Slot], train_bps: fn(&Slot) -> Option<f64>) -> Vec<f64> {
    let longest = f64::from(PROBE_PACKETS) * FRAME_BITS * 1e6;
    let jitter_us = slots[0].noise_us / HIDES;
    let lasts = |bps: &f64| *bps > 0.0 && (jitter_us < NOTED_US || longest / bps >= jitter_us);
    slots.iter().filter_map(train_bps).filter(lasts).collect()
}

/// The last phase of path `at` that began by then; None before the first. `phases` are in the order of
/// path and time.
pub fn at(phases: &[Phase], at: u32, ns: i64) -> Option<&Phase> {
    let after = phases.partition_point(|phase| (phase.at, phase.start_ns) <= (at, ns));
    phases[..after].last().filter(|phase| phase.at == at)
}

#[cfg(test)]
mod tests {
    use super::super::stretches::{slots, Stretch, FULL};
    use super::{at, of_path, Phase, Slot, What};

    fn changed(rows: &[Phase]) -> Vec<Option<What>> {
        rows.iter().map(|row| row.changed).collect()
    }

    fn quiet(count: usize) -> Stretch {
        FULL.times(count).with(|s| s.marks = 0.0)
    }

    /// Simulated run s8104-061: "rose from 150.5 to 150.5 ms" when the queue of a FIFO stood.
    #[test]
    fn a_base_rtt_that_returns_did_not_change() {
        let standing =
            |s: &mut Slot| (s.floor_us, s.queue_us, s.least_us) = (Some(2e4), Some(2e4), Some(3e4));
        let high = quiet(30).with(standing);
        assert_eq!(changed(&of_path(&slots(&[quiet(30), high]))), [None, Some(What::BaseRtt)]);
        assert_eq!(changed(&of_path(&slots(&[quiet(30), high, quiet(3)]))), [None]);
    }

    /// Lab run s1101-043: 5.1 Mbit/s under a queue, then less with marks alone, up to 5.8.
    #[test]
    fn what_the_first_slots_of_a_fall_carried_is_the_least_capacity() {
        let rate = |bps: f64| move |s: &mut Slot| (s.delivered_bps, s.train_bps) = (bps, Some(bps));
        let growing = quiet(30).with(rate(40e6));
        let under_queue = FULL.times(2).with(rate(20e6)).with(|s| s.queue_us = Some(30_000.0));
        let marked = FULL.times(20).with(rate(9e6)).with(|s| s.peak_us = Some(100.0));
        let rows = of_path(&slots(&[growing, under_queue, marked]));
        assert_eq!(rows.iter().map(|row| row.capacity_bps).collect::<Vec<_>>(), [40e6, 20e6]);
    }

    #[test]
    fn faster_links_have_the_same_phases() {
        let rate = |bps: f64| move |s: &mut Slot| (s.delivered_bps, s.train_bps) = (bps, Some(bps));
        let of = |times: f64| {
            let queue = FULL.with(rate(5e6 * times)).with(|s| s.peak_us = Some(90_000.0));
            let full = FULL.times(30).with(rate(50e6 * times));
            of_path(&slots(&[full, queue, FULL.times(30).with(rate(5e6 * times)), full]))
        };
        let (slow, fast) = (of(1.0), of(2.0));
        assert_eq!(changed(&slow), [None, Some(What::Capacity), Some(What::Capacity)]);
        assert_eq!(changed(&fast), changed(&slow));
        for (slow, fast) in slow.iter().zip(&fast) {
            assert_eq!(fast.capacity_bps, 2.0 * slow.capacity_bps);
            assert_eq!((fast.start_ns, fast.usage), (slow.start_ns, slow.usage));
        }
    }

    /// Simulated run s9902-034: jitter that keeps the order lets packets go at the speed of the host.
    #[test]
    fn trains_behind_a_standing_queue_show_no_capacity() {
        let stands = |n: usize| {
            let (delivered_bps, train_bps) = (40e6 + 1e6 * (n % 10) as f64, 9e9 + 1e6 * n as f64);
            FULL.with(|s| {
                (s.queue_us, s.delivered_bps, s.train_bps) = (Some(5e3), delivered_bps, Some(train_bps))
            })
        };
        let rows = of_path(&slots(&(0..60).map(stands).collect::<Vec<_>>()));
        assert_eq!(rows.iter().map(|row| row.capacity_bps).collect::<Vec<_>>(), [48e6]);
    }

    #[test]
    fn the_phase_of_a_moment_is_the_last_that_began() {
        let row = |path, phase, start_ns| {
            let made = of_path(&slots(&[FULL])).remove(0);
            Phase { at: path, phase, start_ns, ..made }
        };
        let rows = [row(1, 0, 10), row(1, 1, 20), row(3, 0, 5)];
        let found = |path, ns| at(&rows, path, ns).map(|phase| phase.phase);
        assert_eq!(
            [found(1, 9), found(1, 10), found(1, 19), found(1, 20)],
            [None, Some(0), Some(0), Some(1)]
        );
        assert_eq!([found(2, 30), found(3, 5), found(0, 30)], [None, Some(0), None]);
    }
}
