//! How the delays of a direction spread, and what its ACKs stand for: see `l4strace/derive/noise.py`.

use std::ops::Range;

use super::column::{runs, Column};
use super::numbers::{median, quantile};

/// RTT samples from which the spread of a round shows the range of the noise: of a uniform distribution,
/// 8 samples span 7/9 of the range on average.
const FULL_ROUND: u32 = 8;

/// Quantile of spreads that stands for rounds in which the queue moved little. By eye: slow start, a
/// reduction or a neighbour moves the queue within a round, but not in most.
const QUIET: f64 = 0.25;

/// Rounds in the order of their direction.
pub struct Rounds<'a> {
    pub of: Column<'a, u32>,
    pub start_ns: Column<'a, i64>,
    pub end_ns: Column<'a, i64>,
    pub acked_packets: Column<'a, u32>,
    pub retransmits: Column<'a, u32>,
    pub train_bps: Column<'a, f64>,
    pub rtt_samples: Column<'a, u32>,
    pub rtt_min_us: Column<'a, f64>,
    pub rtt_max_us: Column<'a, f64>,
    pub rtt_jitter_us: Column<'a, f64>,
    pub owd_min_us: Column<'a, f64>,
    pub owd_max_us: Column<'a, f64>,
}

/// What the rounds of a direction show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    pub of: u32,
    pub rounds: u32,
    pub rtt_quiet: Option<f64>,
    pub owd_quiet: Option<f64>,
    pub rtt_full: u32,
    pub owd_full: u32,
    /// Mean step over spread in the quiet ones of the full rounds.
    pub jumps: Option<f64>,
    /// Rounds that show at least two ACKs, and of these the packets per ACK, the time between ACKs and
    /// the spread.
    pub answered: u32,
    pub stretch: Option<f64>,
    pub period_us: Option<f64>,
    pub answers_us: Option<f64>,
    pub usual_us: Option<f64>,
    pub rtt_jitter_us: Option<f64>,
    pub rtt_min_us: Option<f64>,
    pub train_bps: Option<f64>,
}

pub fn spreads(rounds: &Rounds<'_>) -> Vec<Spread> {
    runs(rounds.of).into_iter().map(|(of, rows)| spread(rounds, of, rows)).collect()
}

fn spread(rounds: &Rounds<'_>, of: u32, rows: Range<usize>) -> Spread {
    let samples = |row: &usize| rounds.rtt_samples.or_zero(*row);
    let full = |row: &usize| samples(row) >= FULL_ROUND;
    let rtt = |row: usize| Some(rounds.rtt_max_us.get(row)? - rounds.rtt_min_us.get(row)?);
    let owd = |row: usize| Some(rounds.owd_max_us.get(row)? - rounds.owd_min_us.get(row)?);
    let mut rtts: Vec<f64> = rows.clone().filter(full).filter_map(rtt).collect();
    let mut owds: Vec<f64> = rows.clone().filter(full).filter_map(owd).collect();
    let rtt_quiet = quantile(&mut rtts, QUIET);
    let jump = |row| {
        let spread = rtt(row).filter(|spread| rtt_quiet.is_some_and(|quiet| *spread <= quiet))?;
        Some(rounds.rtt_jitter_us.get(row)? / spread)
    };
    let answers = |row: &usize| samples(row) >= 2 && rounds.retransmits.or_zero(*row) == 0;
    let acks = |row: usize| f64::from(samples(&row));
    let length = |row: usize| (rounds.end_ns.or_zero(row) - rounds.start_ns.or_zero(row)) as f64 / 1000.0;
    let shown = || rows.clone().filter(answers);
    let all = |column: Column<'_, f64>| middle(rows.clone().map(|row| column.get(row)));
    Spread {
        of,
        rounds: rows.len() as u32,
        rtt_quiet,
        owd_quiet: quantile(&mut owds, QUIET),
        rtt_full: rtts.len() as u32,
        owd_full: owds.len() as u32,
        jumps: middle(rows.clone().filter(full).map(jump)),
        answered: shown().count() as u32,
        stretch: middle(shown().map(|row| Some(f64::from(rounds.acked_packets.get(row)?) / acks(row)))),
        period_us: middle(shown().map(|row| Some(length(row) / acks(row)))),
        answers_us: middle(shown().map(rtt)),
        usual_us: median(&mut rtts),
        rtt_jitter_us: all(rounds.rtt_jitter_us),
        rtt_min_us: all(rounds.rtt_min_us),
        train_bps: all(rounds.train_bps),
    }
}

fn middle(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    median(&mut values.flatten().collect::<Vec<f64>>())
}
