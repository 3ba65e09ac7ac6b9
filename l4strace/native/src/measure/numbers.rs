//! Statistics as polars has them. Values that are not present are left out; without any there is none.

use std::cmp::Ordering;
use std::ops::AddAssign;

/// The nearest value to the quantile.
pub fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    let at = (values.len().checked_sub(1)? as f64 * share).round() as usize;
    Some(select(values, at).0)
}

/// The middle value, or the mean of the two middle ones.
pub fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len().checked_sub(1)? / 2;
    let even = values.len().is_multiple_of(2);
    let (low, above) = select(values, middle);
    if !even {
        return Some(low);
    }
    let high = above.iter().copied().reduce(f64::min)?;
    Some(if low == high { low } else { 0.5 * (high - low) + low })
}

/// A value and how much it counts.
pub type Weighted = (f64, f64);

/// Of each of `shares`: the value below which that part of the weights lies; none without a weight.
///
/// Weights are whole numbers, so that their sums are exact in any order.
pub fn weighted_quantiles(mut values: Vec<Weighted>, shares: &[f64]) -> Vec<f64> {
    values.sort_unstable_by(|(a, _), (b, _)| a.total_cmp(b));
    let whole: f64 = values.iter().map(|(_, weight)| weight).sum();
    // As polars divides by a number: a share may fall on the edge between two values.
    let (mut so_far, inverse) = (0.0, 1.0 / whole);
    for (_, weight) in &mut values {
        so_far += *weight;
        *weight = so_far * inverse;
    }
    let Some(last) = values.len().checked_sub(1) else { return Vec::new() };
    shares.iter().map(|share| values[values.partition_point(|(_, part)| part < share).min(last)].0).collect()
}

/// The smallest value up to which half of the weights come. Sums are compared, and no parts of them: these round.
pub fn weighted_median(mut values: Vec<Weighted>) -> Option<f64> {
    values.retain(|(_, weight)| *weight > 0.0);
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    // Of those that are left, the half with the value; `below` is the weight of what lies below all of them.
    let (mut left, mut below) = (&mut values[..], 0.0);
    while left.len() > 1 {
        let middle = left.len() / 2;
        left.select_nth_unstable_by(middle, |(a, _), (b, _)| a.total_cmp(b));
        let (low, high) = left.split_at_mut(middle);
        let until = below + low.iter().map(|(_, weight)| weight).sum::<f64>();
        (left, below) = if until < half { (high, until) } else { (low, below) };
    }
    left.first().map(|(value, _)| *value)
}

/// The value at a place in order, and those beyond it. What 0 over 0 gives is the largest, whatever its sign.
fn select(values: &mut [f64], at: usize) -> (f64, &[f64]) {
    // Where all are numbers, one comparison of two is enough: that takes a third of the time.
    let whole = !values.iter().any(|value| value.is_nan());
    let (_, found, above) = if whole {
        values.select_nth_unstable_by(at, |a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal))
    } else {
        values.select_nth_unstable_by(at, |a, b| a.is_nan().cmp(&b.is_nan()).then(a.total_cmp(b)))
    };
    (*found, above)
}

pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut count = 0_u32;
    let total = sum(values.into_iter().inspect(|_| count += 1));
    (count > 0).then(|| total / f64::from(count))
}

pub fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut sum = Sum::default();
    values.for_each(|value| sum += value);
    sum.total
}

/// A sum after Kahan: what rounding takes from one addition goes into the next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    pub total: f64,
    over: f64,
}

impl AddAssign<f64> for Sum {
    fn add_assign(&mut self, value: f64) {
        let value = value - self.over;
        let total = self.total + value;
        self.over = (total - self.total) - value;
        self.total = total;
    }
}

pub fn least(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

pub fn most(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

/// Pearson's correlation; None where one of the two does not vary.
pub fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (mean_a, mean_b) = (mean(a.iter().copied())?, mean(b.iter().copied())?);
    let (mut aa, mut bb, mut ab) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a - mean_a, b - mean_b);
        aa += a * a;
        bb += b * b;
        ab += a * b;
    }
    let found = ab / (aa.sqrt() * bb.sqrt());
    (a.len() > 1 && !found.is_nan()).then_some(found)
}

/// Spearman's correlation: that of the ranks.
pub fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    correlation(&ranks(a), &ranks(b))
}

/// Rank of each value from 1 on; equal values have the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = before as f64 + (equal.len() + 1) as f64 / 2.0;
        equal.iter().for_each(|at| ranks[*at] = rank);
        before += equal.len();
    }
    ranks
}
