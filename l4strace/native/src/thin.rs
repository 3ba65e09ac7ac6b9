//! Fewer points, same picture: see `l4strace/page/drawing/thin.py`.

use std::ops::Range;

/// Indexes of at most `most` of `values`, in order: the smallest and the largest of equal runs, the first
/// and the last of all. All where there are no more.
pub fn thin(values: &[f64], most: usize) -> Vec<usize> {
    let count = values.len();
    if count <= most {
        return (0..count).collect();
    }
    let runs = (most.saturating_sub(2) / 2).max(1);
    let edge = |run: usize| (run * count).div_ceil(runs);
    let mut kept = vec![0];
    for run in 0..runs {
        let rows = edge(run)..edge(run + 1);
        let (low, high) = (first(values, rows.clone(), |a, b| a < b), first(values, rows, |a, b| a > b));
        kept.extend([low.min(high), low.max(high)]);
    }
    kept.push(count - 1);
    kept.dedup();
    kept
}

/// The first of the `rows` that none of them is better than.
fn first(values: &[f64], rows: Range<usize>, better: impl Fn(f64, f64) -> bool) -> usize {
    rows.reduce(|best, row| if better(values[row], values[best]) { row } else { best }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::thin;

    #[test]
    fn few_values_stay() {
        assert_eq!(thin(&[3.0, 1.0], 4), [0, 1]);
        assert!(thin(&[], 4).is_empty());
    }

    #[test]
    fn peaks_and_ends_stay() {
        let mut values = vec![0.0; 100];
        (values[37], values[62]) = (5.0, -5.0);
        assert_eq!(thin(&values, 4), [0, 37, 62, 99]);
    }
}
