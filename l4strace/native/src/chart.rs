//! What the page's charts show of many rounds: see `l4strace/page/drawing/smooth.py`.

/// Sums of `counts` over intervals, from the first that holds a row to the last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    pub first: i64,
    /// A list of sums per column.
    pub sums: Vec<Vec<u64>>,
}

/// A row counts in the interval in which it `ended`, in seconds as `interval` is.
pub fn per_interval(ended: &[f64], interval: f64, counts: &[Vec<u64>]) -> Sums {
    // As polars divides by a number: the last round may end on the edge of an interval.
    let inverse = 1.0 / interval;
    let slots: Vec<i64> = ended.iter().map(|at| (at * inverse).floor() as i64).collect();
    let (Some(&first), Some(&last)) = (slots.iter().min(), slots.iter().max()) else {
        return Sums { first: 0, sums: vec![Vec::new(); counts.len()] };
    };
    let summed = |counts: &Vec<u64>| {
        let mut sums = vec![0; (last - first) as usize + 1];
        for (slot, count) in slots.iter().zip(counts) {
            sums[(slot - first) as usize] += count;
        }
        sums
    };
    Sums { first, sums: counts.iter().map(summed).collect() }
}

#[cfg(test)]
mod tests {
    use super::{per_interval, Sums};

    #[test]
    fn intervals_without_rows_are_zero() {
        let found = per_interval(&[0.5, -0.1, 2.0, 0.6], 1.0, &[vec![1, 2, 4, 8], vec![0, 0, 0, 1]]);
        assert_eq!(found, Sums { first: -1, sums: vec![vec![2, 9, 0, 4], vec![0, 1, 0, 0]] });
        assert_eq!(per_interval(&[], 1.0, &[vec![]]).sums, [Vec::<u64>::new()]);
    }
}
