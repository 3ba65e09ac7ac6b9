//! When a path stopped to mark although its queue stood or overflowed.
//!
//! A gap between marks means nothing by itself: an empty queue is not marked. It is a change when it lasts
//! five times longer than nearly all others, and packets are lost as they were not before, or the queue
//! stands twice as high as where marks used to come.

use super::capacity::quantile;
use super::changes::{Change, What};
use super::full::QUEUE_US;
use super::slots::Slot;

/// Slots with marks from which their absence has a meaning. By eye.
const MIN_MARKED: usize = 5;

/// Length of a gap: two of the longest cycles that marks come in at 200 ms of RTT, and five times what
/// nine of ten gaps of the path last. By eye.
const MIN_GAP_NS: i64 = 2_000_000_000;
const GAP_RATIO: f64 = 5.0;

/// Losses of a gap, and their rate against that outside it: random loss goes on as before. By eye.
const MIN_LOST: f64 = 3.0;
const LOST_RATIO: f64 = 3.0;

/// Queue of a gap against that of marked slots. By eye.
const QUEUE_RATIO: f64 = 2.0;

/// Starts and ends of the gaps in which the path should have marked.
pub fn marking_changes(slots: &[Slot]) -> Vec<Change> {
    let marked: Vec<usize> = (0..slots.len()).filter(|i| slots[*i].marks > 0.0).collect();
    if marked.len() < MIN_MARKED {
        return Vec::new();
    }
    // From the slot after a mark to the next mark.
    let begins = [0].into_iter().chain(marked.iter().map(|i| i + 1));
    let gaps: Vec<(usize, usize)> = begins.zip(marked.iter().copied().chain([slots.len()])).collect();
    let usual = quantile(gaps.iter().map(|(begin, end)| (end + 1 - begin) as f64).collect(), 0.9);
    let changed =
        |at: usize| Change { first: at, at_ns: slots[at].start_ns, what: What::Marking, shown_bps: None };
    let mut found = Vec::new();
    for (begin, end) in gaps {
        if begin < end && (end - begin) as f64 >= GAP_RATIO * usual && silent(slots, begin, end) {
            found.extend((begin > 0).then(|| changed(begin)));
            found.extend((end < slots.len()).then(|| changed(end)));
        }
    }
    found
}

/// From `begin` to `end` the path lost packets, or held a queue, where it used to mark.
fn silent(slots: &[Slot], begin: usize, end: usize) -> bool {
    let inside = &slots[begin..end];
    if inside[inside.len() - 1].end_ns - inside[0].start_ns < MIN_GAP_NS {
        return false;
    }
    let outside = || slots[..begin].iter().chain(&slots[end..]);
    let (lost, acked) = (sum(inside.iter(), |s| s.lost), sum(inside.iter(), |s| s.acked));
    let (lost_out, acked_out) = (sum(outside(), |s| s.lost), sum(outside(), |s| s.acked));
    if lost >= MIN_LOST && lost * acked_out > LOST_RATIO * lost_out * acked {
        return true;
    }
    let stood = quantile(inside.iter().filter_map(|slot| slot.queue_us).collect(), 0.5);
    let marked: Vec<f64> =
        outside().filter(|slot| slot.marks > 0.0).filter_map(|slot| slot.queue_us).collect();
    !marked.is_empty() && stood >= QUEUE_US.max(QUEUE_RATIO * quantile(marked, 0.8))
}

fn sum<'a>(slots: impl Iterator<Item = &'a Slot>, of: fn(&Slot) -> f64) -> f64 {
    slots.map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::super::stretches::{slots, Stretch, FULL, WIDTH_NS};
    use super::{marking_changes, Slot};

    const MARKED: Stretch = FULL.times(50);

    /// 19 s without a mark, in which 47 packets were lost.
    fn gap() -> Stretch {
        FULL.times(190).with(|s| (s.marks, s.lost) = (0.0, 0.25))
    }

    fn changes(stretches: &[Stretch]) -> Vec<usize> {
        marking_changes(&slots(stretches)).iter().map(|change| change.first).collect()
    }

    #[test]
    fn a_gap_with_losses_is_a_change_with_its_end() {
        let found = marking_changes(&slots(&[MARKED, gap(), MARKED]));
        let times: Vec<_> = found.iter().map(|c| (c.first, c.at_ns)).collect();
        assert_eq!(times, [(50, 50 * WIDTH_NS), (240, 240 * WIDTH_NS)]);
    }

    #[test]
    fn a_gap_with_a_standing_queue_is_a_change() {
        let stood = gap().with(|s| (s.lost, s.queue_us) = (0.0, Some(20_000.0)));
        assert_eq!(changes(&[MARKED, stood, MARKED]), [50, 240]);
    }

    #[test]
    fn what_is_no_change_of_marking() {
        assert_eq!(changes(&[MARKED, gap().with(|s| s.lost = 0.0), MARKED]), [0; 0], "an empty queue");
        let lossy = MARKED.with(|s| s.lost = 0.25);
        assert_eq!(changes(&[lossy, gap(), lossy]), [0; 0], "random loss");
        assert_eq!(changes(&[MARKED, gap().times(15).with(|s| s.lost = 3.0), MARKED]), [0; 0], "short");
        assert_eq!(changes(&[FULL.times(3), gap()]), [0; 0], "hardly ever a mark");
    }

    #[test]
    fn rare_marks_have_long_gaps() {
        let rare = [FULL.times(40).with(|s: &mut Slot| (s.marks, s.lost) = (0.0, 0.1)), FULL];
        assert_eq!(changes(&rare.repeat(10)), [0; 0]);
    }
}
