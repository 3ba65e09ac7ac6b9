//! How the delays of a direction spread, and what its ACKs stand for: see `l4strace/derive/noise.py`.

use super::column::Column;
use super::numbers::{median, quantile};
use super::rounds::{Direction, Rounds};
use super::waits::steady;

/// RTT samples from which the spread of a round shows the range of the noise: of a uniform distribution,
/// 8 samples span 7/9 of the range on average.
const FULL_ROUND: u32 = 8;

/// Quantile of spreads that stands for rounds in which the queue moved little. By eye: slow start, a
/// reduction or a neighbor moves the queue within a round, but not in most.
const QUIET: f64 = 0.25;

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

/// Of each direction near the sender, after its start.
pub fn spreads(rounds: &Rounds<'_>, directions: &[Direction]) -> Vec<Spread> {
    let near = directions.iter().enumerate().filter(|(_, direction)| direction.near);
    let rows = near.map(|(of, direction)| (of as u32, steady(rounds, direction)));
    rows.filter(|(_, rows)| !rows.is_empty()).map(|(of, rows)| spread(rounds, of, &rows)).collect()
}

fn spread(rounds: &Rounds<'_>, of: u32, rows: &[usize]) -> Spread {
    let rows = || rows.iter().copied();
    let samples = |row: &usize| rounds.rtt_samples.or_zero(*row);
    let full = |row: &usize| samples(row) >= FULL_ROUND;
    let rtt = |row: usize| Some(rounds.rtt_max_us.get(row)? - rounds.rtt_min_us.get(row)?);
    let owd = |row: usize| Some(rounds.owd_max_us.get(row)? - rounds.owd_min_us.get(row)?);
    let mut rtts: Vec<f64> = rows().filter(full).filter_map(rtt).collect();
    let mut owds: Vec<f64> = rows().filter(full).filter_map(owd).collect();
    let rtt_quiet = quantile(&mut rtts, QUIET);
    let jump = |row| {
        let spread = rtt(row).filter(|spread| rtt_quiet.is_some_and(|quiet| *spread <= quiet))?;
        Some(rounds.rtt_jitter_us.get(row)? / spread)
    };
    let answers = |row: &usize| samples(row) >= 2 && rounds.retransmits.or_zero(*row) == 0;
    let acks = |row: usize| f64::from(samples(&row));
    let length = |row: usize| rounds.length_ns(row) as f64 / 1000.0;
    let shown = || rows().filter(answers);
    let all = |column: Column<'_, f64>| middle(rows().map(|row| column.get(row)));
    Spread {
        of,
        rounds: rows().count() as u32,
        rtt_quiet,
        owd_quiet: quantile(&mut owds, QUIET),
        rtt_full: rtts.len() as u32,
        owd_full: owds.len() as u32,
        jumps: middle(rows().filter(full).map(jump)),
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
    let mut known = Vec::with_capacity(values.size_hint().1.unwrap_or(0));
    known.extend(values.flatten());
    median(&mut known)
}
