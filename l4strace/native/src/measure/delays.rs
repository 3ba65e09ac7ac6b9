//! The largest delay of each round above what the packets of its direction take without a queue.
//!
//! One-way delay where two captures know it, else RTT. A single late sample is no queue: a delayed ACK
//! (RFC 1122 section 4.2.3.2: up to 500 ms, Linux 40 ms and more), an ACK that a link held, or a packet
//! that was lost and matched to its retransmission. Where the receiver answered other packets of the
//! round at once, these decide; else the other samples of the round and the rounds beside it.

use super::numbers::{least, most};
use super::rounds::{Direction, Limit, Rounds};

/// Samples at the height of the largest, as the mean of the round shows, from which it is not alone: a
/// queue that grows evenly over three samples. By eye.
const SEVERAL: f64 = 1.5;

/// Part of a single sample's height that a round beside it must reach on average: more for RTTs, as an
/// ACK may be delayed while a queue stands. By eye.
const BESIDE_RTT: f64 = 0.7;
const BESIDE_OWD: f64 = 0.5;

/// Part of the largest sample's height below which all of the rounds beside it stay where that sample is
/// alone: far below `BESIDE_OWD`. By eye.
const CALM: f64 = 0.25;

/// Samples of a round that a retransmission leaves without weight: an ACK that waited for the hole to be
/// filled shows the time of the repair. Where SACK reports each packet there are more.
const FEW: u32 = 3;

/// Slots (ns) in which base RTTs of flows are compared: some round trips of any path. By eye.
const SLOT_NS: i64 = 500_000_000;

/// What is known of a direction beside its rounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Way {
    /// Smallest RTT, and one-way delay without queue; both count where packets overtake.
    pub floor_us: Option<f64>,
    pub owd_base_us: Option<f64>,
    pub overtakes: bool,
    /// Its packets hold several segments.
    pub merged: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delay {
    pub us: Option<f64>,
    pub one_way: bool,
    /// By round trips, whatever one-way delays show.
    pub rtt_us: Option<f64>,
}

/// Rounds of a direction near the sender, without those of single packets that no full window sent: their
/// ACKs may wait.
pub fn counted<'a>(rounds: &'a Rounds<'_>, direction: &Direction) -> impl Iterator<Item = usize> + 'a {
    let rows = if direction.near { direction.rows.clone() } else { 0..0 };
    rows.filter(|row| {
        let one = rounds.sent_packets.or_zero(*row) <= 1
            && rounds.acked_packets.get(*row).is_none_or(|acked| acked <= 1);
        !one || rounds.limit(*row) == Limit::Cwnd
    })
}

/// RTT of each direction without queue: its own smallest, or less where it never saw it.
///
/// A flow that starts into a standing queue never meets an empty one; the smallest distance to what other
/// flows of the path see at the same time shows how much longer its own way is.
pub fn bases(rounds: &Rounds<'_>, directions: &[Direction], ways: &[Way]) -> Vec<Option<f64>> {
    let mut slots: Vec<Slot> = Vec::new();
    for (of, (direction, way)) in directions.iter().zip(ways).enumerate() {
        let first = slots.len();
        for row in counted(rounds, direction) {
            let slot = rounds.start_ns.or_zero(row).div_euclid(SLOT_NS);
            // Packets that overtook others skipped a part of the path.
            let us = most(rounds.rtt_min_us.get(row), way.floor_us.filter(|_| way.overtakes));
            match slots[first..].last_mut() {
                Some(last) if last.slot == slot => last.us = least(last.us, us),
                _ => slots.push(Slot { at: direction.at, slot, of, us }),
            }
        }
    }
    slots.sort_by_key(|slot| (slot.at, slot.slot, slot.of));
    slots.dedup_by(|next, last| {
        let same = (next.at, next.slot, next.of) == (last.at, last.slot, last.of);
        last.us = if same { least(last.us, next.us) } else { last.us };
        same
    });
    let mut found = vec![None; directions.len()];
    for path in slots.chunk_by(|a, b| a.at == b.at) {
        let smallest = path.iter().filter_map(|slot| slot.us).reduce(f64::min);
        for flows in path.chunk_by(|a, b| a.slot == b.slot) {
            let mut seen: Vec<f64> = flows.iter().filter_map(|flow| flow.us).collect();
            seen.sort_by(f64::total_cmp);
            for flow in flows {
                let other = |us: f64| if us > seen[0] { seen[0] } else { *seen.get(1).unwrap_or(&seen[0]) };
                let apart = flow.us.filter(|_| flows.len() > 1).map(|us| (us - other(us)).max(0.0));
                let longer = smallest.zip(apart).map(|(us, apart)| us + apart);
                found[flow.of] = least(found[flow.of], least(flow.us, longer));
            }
        }
    }
    found
}

/// The smallest RTT of a direction in a slot.
struct Slot {
    at: u32,
    slot: i64,
    of: usize,
    us: Option<f64>,
}

/// Of these rows of one direction.
pub fn delays(rounds: &Rounds<'_>, rows: &[usize], way: &Way, base_us: Option<f64>) -> Vec<Delay> {
    let mut found = vec![Delay::default(); rows.len()];
    each(
        rows,
        |row| rtt(rounds, row),
        |at, sample, beside| {
            let largest = sample.largest(beside, base_us, BESIDE_RTT);
            let largest = largest.filter(|_| !held_by_a_hole(rounds, rows, at));
            found[at].rtt_us = most(largest, sacked(rounds, rows, at, base_us, way.merged));
            found[at].us = found[at].rtt_us;
        },
    );
    if rows.iter().all(|row| rounds.owd_max_us.get(*row).is_none()) {
        return found;
    }
    let smallest = rows.iter().filter_map(|row| rounds.owd_min_us.get(*row)).reduce(f64::min);
    let base = if way.overtakes { way.owd_base_us } else { smallest };
    each(
        rows,
        |row| owd(rounds, row),
        |at, sample, beside| {
            if let Some(us) = sample.largest(beside, base, BESIDE_OWD) {
                found[at] = Delay { us: Some(us), one_way: true, ..found[at] };
            }
        },
    );
    found
}

/// Shows each round with those beside it.
fn each(rows: &[usize], made: impl Fn(usize) -> Sample, mut shown: impl FnMut(usize, &Sample, &Beside)) {
    let made = |at: usize| rows.get(at).map(|row| made(*row)).unwrap_or_default();
    let (mut before, mut sample) = (Sample::default(), made(0));
    for at in 0..rows.len() {
        let after = made(at + 1);
        shown(at, &sample, &Beside::new(&before, &after));
        (before, sample) = (sample, after);
    }
}

/// Delays of one kind in a round.
#[derive(Clone, Copy, Default)]
struct Sample {
    count: Option<f64>,
    least: Option<f64>,
    mean: Option<f64>,
    most: Option<f64>,
    /// Mean and largest with the ACK that the receiver held back.
    all_mean: Option<f64>,
    all_most: Option<f64>,
    /// The few ACKs of the round, each of one packet, may all have been held back: they show no more than
    /// the rounds beside it, and bear none out. None where that is not known.
    held: Option<bool>,
    /// The receiver answered at once.
    prompt: bool,
}

fn rtt(rounds: &Rounds<'_>, row: usize) -> Sample {
    let (mean, most) = (rounds.rtt_mean_us.get(row), rounds.rtt_max_us.get(row));
    let count = rounds.rtt_samples.get(row).map(|count| f64::from(count).max(1.0));
    let prompt = rounds.rtt_prompt_max_us.get(row);
    let few = count.map(|count| count <= f64::from(FEW));
    let acked = rounds.acked_packets.get(row);
    let single = both(few, count.zip(acked).map(|(count, acked)| f64::from(acked) <= count));
    let all = Sample {
        count,
        least: rounds.rtt_min_us.get(row),
        mean,
        most,
        all_mean: mean,
        all_most: most,
        held: both(Some(prompt.is_none()), single),
        prompt: prompt.is_some(),
    };
    match (prompt, most) {
        (Some(prompt), Some(largest)) if prompt < largest => {
            // More of them may have been held back: the prompt ones waited for less than this on average.
            let mean = least(all.without(), Some(prompt));
            Sample { count: count.map(|count| count - 1.0), mean, most: Some(prompt), ..all }
        }
        _ => all,
    }
}

fn owd(rounds: &Rounds<'_>, row: usize) -> Sample {
    let (mean, most) = (rounds.owd_mean_us.get(row), rounds.owd_max_us.get(row));
    Sample {
        count: rounds.sent_packets.get(row).map(|count| f64::from(count).max(1.0)),
        least: rounds.owd_min_us.get(row),
        mean,
        most,
        all_mean: mean,
        all_most: most,
        held: Some(false),
        prompt: true,
    }
}

impl Sample {
    /// Mean of the others than the largest.
    fn without(&self) -> Option<f64> {
        let count = self.count?;
        Some((count * self.mean? - self.most?) / (count - 1.0))
    }

    fn two(&self) -> bool {
        self.count.is_some_and(|count| (2.0..=f64::from(FEW)).contains(&count))
    }

    /// What it says about the rounds beside it.
    fn near(&self) -> Option<f64> {
        match self.held {
            Some(true) => None,
            _ if self.two() => self.without(),
            Some(false) => self.mean,
            None => None,
        }
    }

    /// Largest delay above `base`; without the largest sample where nothing bears it out.
    fn largest(&self, beside: &Beside, base: Option<f64>, share: f64) -> Option<f64> {
        let several = self.count.is_some_and(|count| count >= 2.0);
        let above = |us: Option<f64>| Some(us? - base?);
        let height = above(self.most);
        let without = above(self.without());
        // Nor does one that is alone in its round, where a packet of this round did not wait.
        let others = above(if self.two() { beside.several } else { beside.any });
        let reaches = |us: Option<f64>| us.zip(height).is_some_and(|(us, height)| us >= share * height);
        let known = self.held == Some(false) || others.is_some();
        let largest = if self.held == Some(true) {
            least(height, others)
        } else if several && self.many(beside) || reaches(others) {
            height
        } else if self.two() && self.prompt && reaches(without) {
            // Two delayed ACKs do not bear each other out: of two or three samples the largest is left
            // out, unless the receiver answered at once and the others are as high.
            height
        } else if several {
            without
        } else {
            // One sample alone is its own mean, so only the rounds beside it count.
            Some(others.unwrap_or(0.0))
        };
        largest.filter(|_| known && self.most.is_some()).map(|us| us.max(0.0))
    }

    /// Several samples are as high as the largest.
    fn many(&self, beside: &Beside) -> bool {
        let shown = || {
            let (count, least, mean, most) = (self.count?, self.least?, self.mean?, self.most?);
            let range = most - least;
            let several = |above: f64| count * (mean - above) >= SEVERAL * range;
            // Nor do small ones, however many, where the rounds beside this one have no others.
            let calm = beside.most.is_some_and(|most| most - least < CALM * range);
            let usual = beside.mean.map_or(least, |mean| mean.max(least));
            Some(several(least) && (!calm || several(usual)))
        };
        shown().unwrap_or(false)
    }
}

/// The larger values of the rounds before and after.
struct Beside {
    mean: Option<f64>,
    most: Option<f64>,
    /// What they bear out: any of them, and those of several samples.
    any: Option<f64>,
    several: Option<f64>,
}

impl Beside {
    fn new(before: &Sample, after: &Sample) -> Self {
        let several = |s: &Sample| s.near().filter(|_| s.count.is_some_and(|count| count >= 2.0));
        Beside {
            mean: most(before.all_mean, after.all_mean),
            most: most(before.all_most, after.all_most),
            any: most(before.near(), after.near()),
            several: most(several(before), several(after)),
        }
    }
}

/// Few samples behind a hole: one of a lost packet, or of one that others overtook.
fn held_by_a_hole(rounds: &Rounds<'_>, rows: &[usize], at: usize) -> bool {
    let repaired = |row: &usize| rounds.retransmits.or_zero(*row) > 0;
    let hole = rows[at..].iter().take(2).any(repaired) || rounds.sacked_rtt_max_us.get(rows[at]).is_some();
    hole && rounds.rtt_samples.get(rows[at]).is_none_or(|count| count <= FEW)
}

/// Largest RTT that SACK reports above the base: packets behind a loss have no other, and the receiver
/// reports each at once.
///
/// Of a super-packet (`merged`) one segment may be lost. SACK reports all of that packet after the repair:
/// its delay counts where a round beside it bears it out, else the smallest of the round.
fn sacked(rounds: &Rounds<'_>, rows: &[usize], at: usize, base: Option<f64>, merged: bool) -> Option<f64> {
    let largest = rounds.sacked_rtt_max_us.get(rows[at]);
    let shown = |at: usize| {
        let row = *rows.get(at)?;
        most(rounds.sacked_rtt_max_us.get(row), rounds.rtt_mean_us.get(row))
    };
    let above = |us: Option<f64>| Some(us? - base?);
    let alone = || {
        let others = above(most(at.checked_sub(1).and_then(shown), shown(at + 1)));
        others.zip(above(largest)).is_none_or(|(others, largest)| others < BESIDE_RTT * largest)
    };
    let counts = if merged && alone() { rounds.sacked_rtt_min_us.get(rows[at]) } else { largest };
    above(counts).map(|us| us.max(0.0))
}

/// Whether both are true; None where that depends on what is not known.
fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}
