//! What the page's charts show of many rounds: see `l4strace/page/drawing/smooth.py`.

use crate::measure::floor;
use crate::measure::rounds::Rounds;

/// The interval of each row, in order from the first that holds one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slots {
    /// Number of the first interval.
    pub first: i64,
    of: Vec<u32>,
    count: usize,
}

impl Slots {
    /// A row belongs to the interval in which it `ended`, in seconds as `interval` is.
    pub fn of(ended: impl Iterator<Item = f64>, interval: f64) -> Slots {
        // As polars divides by a number: the last round may end on the edge of an interval.
        let inverse = 1.0 / interval;
        let slots: Vec<i64> = ended.map(|at| floor(at * inverse)).collect();
        let (Some(&first), Some(&last)) = (slots.iter().min(), slots.iter().max()) else {
            return Slots::default();
        };
        Slots {
            first,
            of: slots.into_iter().map(|slot| (slot - first) as u32).collect(),
            count: (last - first) as usize + 1,
        }
    }

    /// Sums of what each row counts, for each interval to the last that holds a row.
    pub fn sums(&self, counts: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut sums = vec![0; self.count];
        for (slot, count) in self.of.iter().zip(counts) {
            sums[*slot as usize] += count;
        }
        sums
    }
}

/// What the rounds of a direction add up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    pub start_ns: i64,
    pub end_ns: i64,
    pub acked_packets: u64,
    pub acked_bytes: u64,
    pub retransmits: u64,
    pub marks: u64,
    /// How often classic ECE began; it lasts until the sender answers.
    pub begins: u32,
}

impl Totals {
    /// Of these rows; there is at least one.
    pub fn of(rounds: &Rounds<'_>, mut rows: Vec<usize>) -> Totals {
        rows.sort_by_key(|row| rounds.start_ns.or_zero(*row));
        let mut found =
            Totals { start_ns: rounds.start_ns.or_zero(rows[0]), end_ns: i64::MIN, ..Totals::default() };
        let mut echoed = false;
        for row in rows {
            found.end_ns = found.end_ns.max(rounds.end_ns.or_zero(row));
            found.acked_packets += u64::from(rounds.acked_packets.or_zero(row));
            found.acked_bytes += rounds.acked_bytes.or_zero(row);
            found.retransmits += u64::from(rounds.retransmits.or_zero(row));
            found.marks += u64::from(rounds.marks(row));
            let echoes = rounds.ece_acks.or_zero(row) > 0 && rounds.ce_best.get(row).is_none();
            found.begins += u32::from(echoes && !echoed);
            echoed = echoes;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::{Rounds, Slots, Totals};
    use crate::measure::Column;

    #[test]
    fn intervals_without_rows_are_zero() {
        let slots = Slots::of([0.5, -0.1, 2.0, 0.6].into_iter(), 1.0);
        assert_eq!(slots.first, -1);
        assert_eq!(slots.sums([1, 2, 4, 8].into_iter()), [2, 9, 0, 4]);
        assert_eq!(slots.sums([0, 0, 0, 1].into_iter()), [0, 1, 0, 0]);
        assert!(Slots::of(std::iter::empty(), 1.0).sums(std::iter::empty()).is_empty());
    }

    #[test]
    fn ece_begins_where_the_round_before_in_time_had_none() {
        let rounds = Rounds {
            start_ns: Column::new(&[30, 10, 20, 40, 50], None),
            end_ns: Column::new(&[40, 20, 30, 90, 60], None),
            ece_acks: Column::new(&[1, 2, 0, 3, 1], None),
            acked_packets: Column::new(&[1, 2, 4, 8, 16], None),
            ..Rounds::default()
        };
        let found = Totals::of(&rounds, (0..5).collect());
        assert_eq!((found.start_ns, found.end_ns), (10, 90));
        assert_eq!((found.marks, found.begins, found.acked_packets), (4, 2, 31));
        let counted = Rounds { ce_best: Column::new(&[0, 7, 0, 0, 0], None), ..rounds };
        let found = Totals::of(&counted, (0..5).collect());
        assert_eq!((found.marks, found.begins), (7, 0), "AccECN counts");
    }
}
