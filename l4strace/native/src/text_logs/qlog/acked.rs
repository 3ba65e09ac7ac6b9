//! How many packets of one packet number space the peer has acknowledged.

/// Ranges that are kept: holes beyond them are counted as acknowledged.
const MOST: usize = 64;

/// Acknowledged packet numbers, as ranges with both ends.
#[derive(Clone, Debug, Default)]
pub struct Acked {
    ranges: Vec<(u64, u64)>,
    /// Numbers in ranges that are kept no longer.
    before: u64,
}

impl Acked {
    /// Takes one range of an ACK frame.
    pub fn add(&mut self, from: u64, to: u64) {
        let from = from.max(self.floor());
        if to < from {
            return;
        }
        let first = self.ranges.partition_point(|&(_, end)| end < from.saturating_sub(1));
        let after = self.ranges.partition_point(|&(start, _)| start <= to.saturating_add(1));
        let merged = match self.ranges.get(first..after) {
            Some([(start, _), .., (_, end)] | [(start, end)]) => (from.min(*start), to.max(*end)),
            _ => (from, to),
        };
        self.ranges.splice(first..after.max(first), [merged]);
        if self.ranges.len() > MOST {
            let (start, end) = self.ranges.remove(0);
            self.before = self.before.saturating_add(end - start).saturating_add(1);
        }
    }

    /// Numbers below this are counted no more.
    fn floor(&self) -> u64 {
        match self.ranges.first() {
            Some(&(start, _)) if self.before > 0 => start,
            _ => 0,
        }
    }

    pub fn count(&self) -> u64 {
        let held = self.ranges.iter().map(|(start, end)| (end - start).saturating_add(1));
        held.fold(self.before, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_counts_once() {
        let mut acked = Acked::default();
        for (from, to) in [(5, 7), (1, 2), (3, 3), (4, 6), (9, 9), (8, 8), (9, 1), (100, 100)] {
            acked.add(from, to);
        }
        assert_eq!(acked.ranges, [(1, 9), (100, 100)]);
        assert_eq!(acked.count(), 10);
        acked.add(0, u64::MAX);
        assert_eq!(acked.count(), u64::MAX);
    }

    #[test]
    fn the_oldest_ranges_are_counted_and_dropped() {
        let mut acked = Acked::default();
        (0..200).for_each(|n| acked.add(2 * n, 2 * n));
        assert_eq!(acked.ranges.len(), MOST);
        assert_eq!(acked.count(), 200);
        acked.add(0, 3);
        assert_eq!(acked.count(), 200);
    }
}
