//! The largest delay of each round, and what is no delay of the path: see `l4strace/derive/delays.py`.

use std::ops::Range;

use super::column::{runs, Column};
use super::numbers::{least, most};

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

/// Rounds in the order of their direction and of `round`.
pub struct Rounds<'a> {
    pub of: Column<'a, u32>,
    pub acked_packets: Column<'a, u32>,
    pub sent_packets: Column<'a, u32>,
    pub retransmits: Column<'a, u32>,
    pub rtt_samples: Column<'a, u32>,
    pub rtt_min_us: Column<'a, f64>,
    pub rtt_mean_us: Column<'a, f64>,
    pub rtt_max_us: Column<'a, f64>,
    pub rtt_prompt_max_us: Column<'a, f64>,
    pub sacked_rtt_min_us: Column<'a, f64>,
    pub sacked_rtt_max_us: Column<'a, f64>,
    pub owd_min_us: Column<'a, f64>,
    pub owd_mean_us: Column<'a, f64>,
    pub owd_max_us: Column<'a, f64>,
    /// RTT and one-way delay of the direction without queue; the latter counts where packets overtake.
    pub base_us: Column<'a, f64>,
    pub owd_base_us: Column<'a, f64>,
    pub overtakes: Vec<bool>,
    /// Packets of the direction hold several segments.
    pub merged: Vec<bool>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delay {
    pub us: Option<f64>,
    pub one_way: bool,
}

pub fn delays(rounds: &Rounds<'_>) -> Vec<Delay> {
    let mut found = vec![Delay::default(); rounds.of.len()];
    for (_, rows) in runs(rounds.of) {
        of_direction(rounds, rows.clone(), &mut found[rows]);
    }
    found
}

fn of_direction(rounds: &Rounds<'_>, rows: Range<usize>, found: &mut [Delay]) {
    let base = |row| rounds.base_us.get(row);
    let rtts: Vec<Sample> = rows.clone().map(|row| rtt(rounds, row)).collect();
    for (at, row) in rows.clone().enumerate() {
        let largest = rtts[at].largest(&Beside::new(&rtts, at), base(row), BESIDE_RTT);
        let largest = largest.filter(|_| !held_by_a_hole(rounds, &rows, row));
        found[at].us = most(largest, sacked(rounds, &rows, row));
    }
    if rows.clone().all(|row| rounds.owd_max_us.get(row).is_none()) {
        return;
    }
    let smallest = rows.clone().fold(None, |smallest, row| least(smallest, rounds.owd_min_us.get(row)));
    let owds: Vec<Sample> = rows.clone().map(|row| owd(rounds, row)).collect();
    for (at, row) in rows.enumerate() {
        let base = if rounds.overtakes[row] { rounds.owd_base_us.get(row) } else { smallest };
        if let Some(us) = owds[at].largest(&Beside::new(&owds, at), base, BESIDE_OWD) {
            found[at] = Delay { us: Some(us), one_way: true };
        }
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
    /// The only ACK of the round, and of one packet, may have been held back: it shows no more than the
    /// rounds beside it, and bears none out. None where that is not known.
    lone: Option<bool>,
    /// The receiver answered at once.
    prompt: bool,
}

fn rtt(rounds: &Rounds<'_>, row: usize) -> Sample {
    let (mean, most) = (rounds.rtt_mean_us.get(row), rounds.rtt_max_us.get(row));
    let count = rounds.rtt_samples.get(row).map(|count| f64::from(count).max(1.0));
    let prompt = rounds.rtt_prompt_max_us.get(row);
    let single = both(count.map(|count| count <= 1.0), rounds.acked_packets.get(row).map(|acked| acked <= 1));
    let all = Sample {
        count,
        least: rounds.rtt_min_us.get(row),
        mean,
        most,
        all_mean: mean,
        all_most: most,
        lone: both(Some(prompt.is_none()), single),
        prompt: prompt.is_some(),
    };
    match (prompt, most) {
        (Some(prompt), Some(largest)) if prompt < largest => {
            Sample { count: count.map(|count| count - 1.0), mean: all.without(), most: Some(prompt), ..all }
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
        lone: Some(false),
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
        match self.lone {
            _ if self.two() => self.without(),
            Some(false) => self.mean,
            _ => None,
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
        let known = self.lone == Some(false) || others.is_some();
        let largest = if self.lone == Some(true) {
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
    fn new(samples: &[Sample], at: usize) -> Self {
        let side = |at: Option<usize>| at.and_then(|at| samples.get(at)).copied().unwrap_or_default();
        let (before, after) = (side(at.checked_sub(1)), side(Some(at + 1)));
        let several = |s: &Sample| s.near().filter(|_| s.count.is_some_and(|count| count >= 2.0));
        Beside {
            mean: most(before.all_mean, after.all_mean),
            most: most(before.all_most, after.all_most),
            any: most(before.near(), after.near()),
            several: most(several(&before), several(&after)),
        }
    }
}

/// Few samples behind a hole: one of a lost packet, or of one that others overtook.
fn held_by_a_hole(rounds: &Rounds<'_>, rows: &Range<usize>, row: usize) -> bool {
    let after = row + 1;
    let hole = rounds.retransmits.or_zero(row) > 0
        || rows.contains(&after) && rounds.retransmits.or_zero(after) > 0
        || rounds.sacked_rtt_max_us.get(row).is_some();
    hole && rounds.rtt_samples.get(row).is_none_or(|count| count <= FEW)
}

/// Largest RTT that SACK reports above the base: packets behind a loss have no other, and the receiver
/// reports each at once.
///
/// Of a super-packet one segment may be lost. SACK reports all of that packet after the repair: its delay
/// counts where a round beside it bears it out, else the smallest of the round.
fn sacked(rounds: &Rounds<'_>, rows: &Range<usize>, row: usize) -> Option<f64> {
    let largest = rounds.sacked_rtt_max_us.get(row);
    let base = rounds.base_us.get(row);
    let shown = |row| match rows.contains(&row) {
        true => most(rounds.sacked_rtt_max_us.get(row), rounds.rtt_mean_us.get(row)),
        false => None,
    };
    let above = |us: Option<f64>| Some(us? - base?);
    let alone = || {
        let others = above(most(row.checked_sub(1).and_then(shown), shown(row + 1)));
        others.zip(above(largest)).is_none_or(|(others, largest)| others < BESIDE_RTT * largest)
    };
    let counts = if rounds.merged[row] && alone() { rounds.sacked_rtt_min_us.get(row) } else { largest };
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
