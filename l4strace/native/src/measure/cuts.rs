//! Rounds after which a sender's window is seen to be smaller or not: see `l4strace/derive/senders/cuts.py`.

use super::numbers::least;
use super::rounds::{Direction, Rounds};

/// A round with marks or losses, and what was in flight then and in the two rounds after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    pub of: usize,
    pub row: usize,
    /// As in the table `cuts`.
    pub cause: &'static str,
    pub before: f64,
    pub after: f64,
}

pub fn cuts(rounds: &Rounds<'_>, directions: &[Direction]) -> Vec<Cut> {
    let mut found = Vec::new();
    for (of, direction) in directions.iter().enumerate() {
        let rows = rounds.singles(direction);
        let window = |i: usize| rows.get(i).and_then(|row| rounds.window(*row));
        for (i, row) in rows.iter().copied().enumerate() {
            let Some(cause) = cause(rounds, row) else { continue };
            let after = least(window(i + 1), window(i + 2));
            if let (Some(before), Some(after)) = (window(i).filter(|before| *before > 0.0), after) {
                found.push(Cut { of, row, cause, before, after });
            }
        }
    }
    found
}

fn cause(rounds: &Rounds<'_>, row: usize) -> Option<&'static str> {
    let marked = rounds.marks(row) > 0;
    match (rounds.retransmits.or_zero(row) > 0, marked, rounds.ce_best.or_zero(row) > 0) {
        (true, ..) => Some("loss"),
        (_, true, true) => Some("ce"),
        (_, true, false) => Some("ece"),
        _ => None,
    }
}
