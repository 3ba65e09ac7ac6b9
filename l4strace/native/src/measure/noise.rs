//! How the delays of a direction spread, and what its ACKs stand for: see `l4strace/derive/noise.py`.

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
    let new = || Vec::with_capacity(rows.len());
    let (mut rtts, mut owds, mut steps) = (new(), new(), Vec::with_capacity(rows.len()));
    let (mut stretches, mut periods, mut answers, mut answered) = (new(), new(), new(), 0);
    let (mut jitters, mut least, mut trains) = (new(), new(), new());
    for row in rows.iter().copied() {
        let samples = rounds.rtt_samples.or_zero(row);
        let (jitter_us, least_us) = (rounds.rtt_jitter_us.get(row), rounds.rtt_min_us.get(row));
        let rtt = rounds.rtt_max_us.get(row).zip(least_us).map(|(most, least)| most - least);
        jitters.extend(jitter_us);
        least.extend(least_us);
        trains.extend(rounds.train_bps.get(row));
        if samples >= FULL_ROUND {
            rtts.extend(rtt);
            steps.extend(rtt.zip(jitter_us));
            let owd = rounds.owd_max_us.get(row).zip(rounds.owd_min_us.get(row));
            owds.extend(owd.map(|(most, least)| most - least));
        }
        if samples >= 2 && rounds.retransmits.or_zero(row) == 0 {
            let acks = f64::from(samples);
            answered += 1;
            stretches.extend(rounds.acked_packets.get(row).map(|packets| f64::from(packets) / acks));
            periods.push(rounds.length_ns(row) as f64 / 1000.0 / acks);
            answers.extend(rtt);
        }
    }
    let rtt_quiet = quantile(&mut rtts, QUIET);
    let quiet = steps.iter().filter(|(spread, _)| rtt_quiet.is_some_and(|quiet| *spread <= quiet));
    Spread {
        of,
        rounds: rows.len() as u32,
        rtt_quiet,
        owd_quiet: quantile(&mut owds, QUIET),
        rtt_full: rtts.len() as u32,
        owd_full: owds.len() as u32,
        jumps: median(&mut quiet.map(|(spread, jitter)| jitter / spread).collect::<Vec<f64>>()),
        answered,
        stretch: median(&mut stretches),
        period_us: median(&mut periods),
        answers_us: median(&mut answers),
        usual_us: median(&mut rtts),
        rtt_jitter_us: median(&mut jitters),
        rtt_min_us: median(&mut least),
        train_bps: median(&mut trains),
    }
}
