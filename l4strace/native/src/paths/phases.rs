//! Which phase of its path a row lies in: see `l4strace/derive/phases.py`.

use super::column::Column;

/// Phases by path and time.
pub struct Phases<'a> {
    pub at: Column<'a, u32>,
    pub start_ns: Column<'a, i64>,
    pub phase: Column<'a, u32>,
}

impl Phases<'_> {
    /// The last phase of path `at` that began by then; None before the first, and without a path.
    pub fn at(&self, at: Option<u32>, ns: Option<i64>) -> Option<u32> {
        let then = (at?, ns?);
        let begun = |row: usize| (self.at.or_zero(row), self.start_ns.or_zero(row)) <= then;
        let (mut low, mut high) = (0, self.at.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if begun(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let last = low.checked_sub(1)?;
        self.phase.get(last).filter(|_| self.at.get(last) == at)
    }
}
