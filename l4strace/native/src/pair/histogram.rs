//! How one-way delays are spread: counts in bins, for medians and percentiles without keeping packets.

use std::collections::BTreeMap;

/// Width of a bin: a fiftieth of DualPI2's step of 1 ms.
const BIN_NS: i64 = 20_000;

/// Most bins of one direction, 160 ms without a gap: beyond it the width doubles.
const MOST_BINS: usize = 8192;

/// Delays of one flow direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    width_ns: i64,
    bins: BTreeMap<i64, u64>,
    pub count: u64,
    pub max_ns: i64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { width_ns: BIN_NS, bins: BTreeMap::new(), count: 0, max_ns: i64::MIN }
    }
}

impl Histogram {
    pub fn add(&mut self, ns: i64) {
        *self.bins.entry(ns.div_euclid(self.width_ns)).or_insert(0) += 1;
        self.count += 1;
        self.max_ns = self.max_ns.max(ns);
        if self.bins.len() > MOST_BINS {
            self.width_ns *= 2;
            let mut wider = BTreeMap::new();
            for (bin, count) in &self.bins {
                *wider.entry(bin.div_euclid(2)).or_insert(0) += count;
            }
            self.bins = wider;
        }
    }

    /// The delay that a `share` (0 to 1) of the packets do not exceed, to half a bin; null without any.
    pub fn quantile_ns(&self, share: f64) -> Option<i64> {
        let wanted = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut passed = 0;
        for (bin, count) in &self.bins {
            passed += count;
            if passed >= wanted {
                return Some((bin * self.width_ns + self.width_ns / 2).min(self.max_ns));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_half_a_bin() {
        let mut histogram = Histogram::default();
        (0..1000).for_each(|i| histogram.add(-3_000_000 + i * 10_000));
        for (share, truth) in [(0.0, -3_000_000), (0.5, 1_995_000), (0.99, 6_895_000)] {
            assert!((histogram.quantile_ns(share).unwrap() - truth).abs() <= BIN_NS / 2, "{share}");
        }
        assert_eq!(Histogram::default().quantile_ns(0.5), None);
    }

    #[test]
    fn memory_is_bounded_and_the_percentile_keeps_its_place() {
        let mut histogram = Histogram::default();
        (0..100_000).for_each(|i| histogram.add(i * 100_000));
        assert!(histogram.bins.len() <= MOST_BINS);
        assert!((histogram.quantile_ns(0.5).unwrap() - 5_000_000_000).abs() <= histogram.width_ns);
    }
}
