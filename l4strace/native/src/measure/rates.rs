//! What all flows of a path got through a second.

use std::collections::{BTreeMap, HashMap};

use super::numbers::quantile;
use super::rounds::{Direction, Rounds};
use super::waits::steady;

const SECOND_NS: i64 = 1_000_000_000;

/// Quantile in place of the largest, which one odd second decides. By eye.
const HIGH: f64 = 0.9;

/// Bytes of a path in each second.
#[derive(Default)]
pub struct Seconds {
    sums: HashMap<i64, u64>,
    /// When the last second that data was added to began, and the data of it that no sum has yet.
    begin_ns: i64,
    bytes: u64,
}

impl Seconds {
    /// Rounds of one direction come together: most are of the same second as the one before.
    pub fn add(&mut self, start_ns: i64, bytes: u64) {
        if !(0..SECOND_NS).contains(&start_ns.wrapping_sub(self.begin_ns)) || self.sums.is_empty() {
            self.flush();
            self.begin_ns = start_ns.wrapping_sub(start_ns.rem_euclid(SECOND_NS));
            self.sums.entry(self.begin_ns).or_default();
        }
        self.bytes += bytes;
    }

    fn flush(&mut self) {
        if let Some(sum) = self.sums.get_mut(&self.begin_ns) {
            *sum += self.bytes;
        }
        self.bytes = 0;
    }

    /// Bits a second at the upper end of the seconds with rounds.
    pub fn rate_bps(mut self) -> Option<f64> {
        self.flush();
        quantile(&mut self.sums.into_values().map(|bytes| (bytes * 8) as f64).collect::<Vec<_>>(), HIGH)
    }
}

/// Bits a second of each path, from the rounds after the start of its directions near the sender.
pub fn rates(rounds: &Rounds<'_>, directions: &[Direction]) -> BTreeMap<u32, f64> {
    let mut paths: BTreeMap<u32, Seconds> = BTreeMap::new();
    for direction in directions.iter().filter(|direction| direction.near) {
        for row in steady(rounds, direction) {
            let seconds = paths.entry(direction.at).or_default();
            seconds.add(rounds.start_ns.or_zero(row), rounds.acked_bytes.or_zero(row));
        }
    }
    paths.into_iter().filter_map(|(at, seconds)| Some((at, seconds.rate_bps()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::{Seconds, SECOND_NS};

    fn rate(bytes: impl Iterator<Item = (i64, u64)>) -> Option<f64> {
        let mut seconds = Seconds::default();
        bytes.for_each(|(second, bytes)| seconds.add(second * SECOND_NS + 5, bytes));
        seconds.rate_bps()
    }

    #[test]
    fn one_second_in_ten_is_above_the_rate() {
        let rising = || (-5..6).map(|second| (second, (second + 6) as u64 * 1000));
        assert_eq!(rate(rising()), Some(10.0 * 8000.0));
        assert_eq!(rate(rising().chain(rising())), Some(20.0 * 8000.0), "flows of a path add up");
        assert_eq!(rate(rising().rev()), rate(rising()), "in any order");
        assert_eq!(rate([].into_iter()), None);
    }
}
