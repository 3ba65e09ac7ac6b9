//! What the windows of a sender after marks show of its law: see `l4strace/derive/senders/laws.py`.

use super::alphas::{shown, Build, Shown};
use super::numbers::{mean, median, most};
use super::rounds::{Direction, Rounds};
use super::windows::{log_likelihoods, Sample, Windows};
use crate::prague::build::{self, floor_of};

/// Updates of alpha after the first mark that are left out: slow start ends there, and builds halve the
/// window at the first mark by rules of their own. By eye: three round trips and the ramp of the reduction.
const SETTLED: u32 = 8;

const RIGHT: build::Build = build::Build::BITS20;

/// Share of the window that a reduction gives up at least in classic mode: 0.3125.
const CUT_FLOOR: f64 = floor_of(RIGHT.unit() as u64) as f64 / RIGHT.unit() as f64 / 2.0;

/// Score up to which Prague treats the path as L4S: 8.
pub const SCALABLE: f64 = RIGHT.l_sticky() as f64 / RIGHT.unit() as f64;

/// Share that classic mode gives up at least at a score.
fn floor(score: Option<f64>) -> Option<f64> {
    score.map(|score| CUT_FLOOR * (score - SCALABLE).clamp(0.0, 1.0))
}

/// Families of laws: one half, no reduction, and of each build alpha/2 alone, and with a floor by the score
/// with correct references, by that with wrong ones, or always.
const PLAIN: [&str; 2] = ["half", "none"];
const BY_BUILD: [&str; 4] = ["half_alpha", "floor_fixed", "floor_buggy", "floor_always"];
pub const LAWS: usize = PLAIN.len() + Build::ALL.len() * BY_BUILD.len();

/// Of each law in order.
pub fn families() -> impl Iterator<Item = &'static str> {
    PLAIN.into_iter().chain(Build::ALL.into_iter().flat_map(|_| BY_BUILD))
}

/// Those of each of `Build::ALL`.
pub fn by_build(all: &[f64; LAWS]) -> impl Iterator<Item = &[f64]> {
    all[PLAIN.len()..].chunks(BY_BUILD.len())
}

/// What the usable rounds of a direction show.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    pub of: usize,
    pub samples: usize,
    pub isolated: usize,
    pub window_packets: Option<f64>,
    pub fraction: Option<f64>,
    pub half_alpha: Option<f64>,
    pub first_ns: Option<i64>,
    pub last_ns: Option<i64>,
    /// Part in which the score with correct references makes the floor deeper than alpha/2.
    pub asked: Option<f64>,
    pub log_likelihoods: [f64; LAWS],
}

/// Of each direction of an ECT(1) sender what its usable rounds show, if it has some, and its build.
pub fn senders(rounds: &Rounds<'_>, directions: &[Direction]) -> Vec<(Option<Response>, Shown)> {
    let scalable = directions.iter().enumerate().filter(|(_, direction)| direction.scalable);
    let settled = |sample: &Sample| rounds.alpha_updates[0].or_zero(sample.row) > SETTLED;
    let of_direction = |(of, direction)| {
        let windows = Windows::new(rounds, direction);
        let mut samples = windows.samples();
        let build = shown(rounds, of, &windows, &samples);
        samples.retain(settled);
        ((!samples.is_empty()).then(|| response(rounds, of, &samples)), build)
    };
    scalable.map(of_direction).collect()
}

fn response(rounds: &Rounds<'_>, of: usize, samples: &[Sample]) -> Response {
    let rows = || samples.iter().map(|sample| sample.row);
    let half = |row: usize| rounds.alphas[0].get(row).map(|alpha| alpha / 2.0);
    let asks = |row| Some(f64::from(u8::from(floor(rounds.classic_ecn.get(row))? > half(row)?)));
    let mut given: Vec<f64> = samples.iter().filter(|sample| sample.isolated).map(Sample::given).collect();
    Response {
        of,
        samples: samples.len(),
        isolated: given.len(),
        window_packets: median(&mut samples.iter().map(|sample| sample.before).collect::<Vec<_>>()),
        fraction: median(&mut given),
        half_alpha: median(&mut rows().filter_map(half).collect::<Vec<_>>()),
        first_ns: rows().filter_map(|row| rounds.start_ns.get(row)).min(),
        last_ns: rows().filter_map(|row| rounds.end_ns.get(row)).max(),
        asked: mean(rows().filter_map(asks)),
        log_likelihoods: log_likelihoods(samples, |row| fractions(rounds, row)),
    }
}

/// Share of the window that each law gives up after a round.
pub fn fractions(rounds: &Rounds<'_>, row: usize) -> [Option<f64>; LAWS] {
    let scores = [rounds.classic_ecn, rounds.classic_ecn_buggy];
    let [fixed, buggy] = scores.map(|score| floor(score.get(row)));
    let by_build = Build::ALL.into_iter().flat_map(|build| {
        let half = build.alpha(rounds, row).map(|alpha| alpha / 2.0);
        [half, most(half, fixed), most(half, buggy), most(half, Some(CUT_FLOOR))]
    });
    let mut shares = [None; LAWS];
    let all = [Some(0.5), Some(0.0)].into_iter().chain(by_build);
    shares.iter_mut().zip(all).for_each(|(share, law)| *share = law);
    shares
}
