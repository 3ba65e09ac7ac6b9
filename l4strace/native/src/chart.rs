//! What the page's charts show of many rounds: see `l4strace/page/drawing/smooth.py`.

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
    pub fn of(ended: impl Iterator<Item = f64> + Clone, interval: f64) -> Slots {
        // As polars divides by a number: the last round may end on the edge of an interval.
        let inverse = 1.0 / interval;
        let slots = ended.map(|at| (at * inverse).floor() as i64);
        let (Some(first), Some(last)) = (slots.clone().min(), slots.clone().max()) else {
            return Slots::default();
        };
        Slots {
            first,
            of: slots.map(|slot| (slot - first) as u32).collect(),
            count: (last - first) as usize + 1,
        }
    }

    /// Sums of what each row counts, for each interval to the last that holds a row.
    pub fn sums(&self, counts: &[u64]) -> Vec<u64> {
        let mut sums = vec![0; self.count];
        for (slot, count) in self.of.iter().zip(counts) {
            sums[*slot as usize] += count;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;

    #[test]
    fn intervals_without_rows_are_zero() {
        let slots = Slots::of([0.5, -0.1, 2.0, 0.6].into_iter(), 1.0);
        assert_eq!(slots.first, -1);
        assert_eq!(slots.sums(&[1, 2, 4, 8]), [2, 9, 0, 4]);
        assert_eq!(slots.sums(&[0, 0, 0, 1]), [0, 1, 0, 0]);
        assert!(Slots::of(std::iter::empty(), 1.0).sums(&[]).is_empty());
    }
}
