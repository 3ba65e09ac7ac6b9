//! Alpha as each build computes it, and what shows which build a sender runs: see `l4strace/derive/senders/alphas.py`.

use std::array;
use std::sync::LazyLock;

use super::column::Column;
use super::laws::{by_build, fractions};
use super::numbers::{least, most};
use super::rounds::{Limit, Rounds};
use super::windows::{log_likelihoods, Sample, Windows, BURST, MIN_WINDOW};
use crate::prague::build::{RTT_TRANSITION, SHIFT_G, TARGET_RTT_US};

/// Updates after the first mark that are left out: builds halve the window there by rules of their own.
const SETTLED: u32 = 2;

/// Updates during which the start still shows: (15/16)^40 = 0.08 of it is left.
const YOUNG: u32 = 40;

/// Updates after which slow start is over: as in `laws`.
const CALM: u32 = 8;

/// Growth per round, (RTT / 25 ms)^2, up to which it is told from 1: at RTTs up to 21 ms.
const APART: f64 = 0.7;

/// A build computes alpha by one of two clocks, and starts it at 0 or at 1.
#[derive(Clone, Copy)]
pub struct Build {
    pub paced: bool,
    pub from_zero: bool,
}

impl Build {
    pub const ALL: [Build; 4] = [
        Build { paced: false, from_zero: false },
        Build { paced: false, from_zero: true },
        Build { paced: true, from_zero: false },
        Build { paced: true, from_zero: true },
    ];

    /// Its alpha after a round.
    pub fn alpha(self, rounds: &Rounds<'_>, row: usize) -> Option<f64> {
        let clock = usize::from(self.paced);
        alpha(rounds.alphas[clock], rounds.alpha_updates[clock], row, self.from_zero)
    }
}

/// Part of a start at 1 that is left after so many updates; beyond them less than a double shows beside 1.
static LEFT: LazyLock<[f64; 1024]> = LazyLock::new(|| {
    let kept = 1.0 - 1.0 / f64::from(1 << SHIFT_G);
    array::from_fn(|updates| kept.powf(updates as f64))
});

/// What is left of a start at 1 is none of a build's that starts at 0.
fn alpha(replayed: Column<'_, f64>, updates: Column<'_, u32>, row: usize, from_zero: bool) -> Option<f64> {
    let left = |updates: u32| LEFT.get(updates as usize).copied().unwrap_or(0.0);
    let left = if from_zero { left(updates.get(row)?) } else { 0.0 };
    Some((replayed.get(row)? - left).clamp(0.0, 1.0))
}

/// What a direction shows of its sender's build.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shown {
    pub of: usize,
    /// Rounds whose window grows at the pace of the build's clock; packets that they grow by, the squares of
    /// these, and what the 25 ms would leave of one packet.
    pub rounds: u32,
    pub growth: f64,
    pub squares: f64,
    pub slowed: f64,
    /// Log-likelihood by which a start at 0 explains the first reductions better, whatever the fallback does.
    pub lead: Option<f64>,
}

pub fn shown(rounds: &Rounds<'_>, of: usize, windows: &Windows<'_>, samples: &[Sample]) -> Shown {
    Shown { of, lead: lead(rounds, samples), ..grown(rounds, windows) }
}

fn grown(rounds: &Rounds<'_>, windows: &Windows<'_>) -> Shown {
    let mut found = Shown::default();
    for (i, row) in windows.rows.iter().copied().enumerate() {
        let ready = rounds.limit(row) == Limit::Cwnd
            && rounds.alpha_updates[0].get(row).is_some_and(|n| (CALM..=RTT_TRANSITION).contains(&n))
            && windows.calm(i);
        if !ready {
            continue;
        }
        let slowed = rounds.rtt_mean_us.get(row).map(|us| (us / f64::from(TARGET_RTT_US)).powi(2));
        let before = windows.window(i, 0).filter(|before| *before >= MIN_WINDOW);
        let shown = (slowed.filter(|slowed| *slowed <= APART), before, windows.window(i, 1));
        if let (Some(slowed), Some(before), Some(next)) = shown {
            let growth = (next - before).clamp(-BURST, BURST);
            found.rounds += 1;
            found.growth += growth;
            found.squares += growth * growth;
            found.slowed += slowed;
        }
    }
    found
}

fn lead(rounds: &Rounds<'_>, samples: &[Sample]) -> Option<f64> {
    let updates = |row| rounds.alpha_updates[0].or_zero(row);
    let young = |sample: &&Sample| (SETTLED + 1..=YOUNG).contains(&updates(sample.row));
    let early: Vec<Sample> = samples.iter().filter(young).copied().collect();
    let found = log_likelihoods(&early, |row| fractions(rounds, row));
    let best = |from_zero| {
        let builds = Build::ALL.iter().zip(by_build(&found));
        let laws = builds.filter(|(build, _)| build.from_zero == from_zero).flat_map(|(_, laws)| laws);
        laws.copied().fold(f64::NEG_INFINITY, f64::max)
    };
    (!early.is_empty()).then(|| best(true) - best(false))
}

/// One kind of replayed alpha by both clocks: itself, its lower or its upper bound.
pub type Clocks<'a> = [Column<'a, f64>; 2];

/// What is known of a direction's build; None is open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Known {
    pub paced: Option<bool>,
    /// Without a handshake alpha may have any value at first.
    pub late: bool,
    /// Whether alpha and its bounds start at 0.
    pub zero: bool,
    pub zero_lo: bool,
    pub zero_hi: bool,
}

/// Replayed alphas of rounds in any order.
pub struct Replayed<'a> {
    pub alpha: Clocks<'a>,
    pub lo: Clocks<'a>,
    pub hi: Clocks<'a>,
    pub updates: [Column<'a, u32>; 2],
}

impl Replayed<'_> {
    /// By one of the clocks.
    fn by(&self, clock: usize, of: &Clocks<'_>, row: usize, from_zero: bool) -> Option<f64> {
        // Counters of AccECN feed both clocks; a controller over UDP has an alpha of its own.
        match self.alpha[1].get(row) {
            Some(_) => alpha(of[clock], self.updates[clock], row, from_zero),
            None => of[0].get(row),
        }
    }

    /// The bounds of each build that it may be.
    pub fn low(&self, row: usize, known: &Known) -> Option<f64> {
        let by = |clock| self.by(clock, &self.lo, row, known.zero_lo);
        if known.paced == Some(false) {
            by(0)
        } else {
            least(by(0), by(1))
        }
    }

    pub fn high(&self, row: usize, known: &Known) -> Option<f64> {
        let by = |clock| self.by(clock, &self.hi, row, known.zero_hi);
        if known.paced == Some(false) {
            by(0)
        } else {
            most(by(0), by(1))
        }
    }

    pub fn likely(&self, row: usize, known: &Known) -> Option<f64> {
        if known.late && self.alpha[1].get(row).is_some() {
            return Some((self.low(row, known)? + self.high(row, known)?) / 2.0);
        }
        self.by(usize::from(known.paced == Some(true)), &self.alpha, row, known.zero)
    }
}

#[cfg(test)]
mod tests {
    use super::{Build, Rounds};
    use crate::measure::Column;

    #[test]
    fn alpha_from_zero_lacks_what_is_left_of_the_start() {
        let (alphas, updates) = ([1.0, 0.9], [0, 2]);
        let rounds = Rounds {
            alphas: [Column::new(&alphas, None), Column::default()],
            alpha_updates: [Column::new(&updates, None), Column::default()],
            ..Rounds::default()
        };
        let [from_one, from_zero, _, paced] =
            Build::ALL.map(|build| [0, 1].map(|row| build.alpha(&rounds, row)));
        assert_eq!(from_one, [Some(1.0), Some(0.9)]);
        assert_eq!(from_zero, [Some(0.0), Some(0.9 - (15.0_f64 / 16.0).powi(2))]);
        assert_eq!(paced, [None, None]);
    }
}
