//! What a direction carried in its single rounds, however few they are.

use super::numbers::weighted_median;
use super::rounds::{Direction, Rounds};
use super::waits::{marks, queue_us, Known};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    pub of: usize,
    pub rounds: u32,
    pub acked: u64,
    pub marks: i64,
    /// Retransmitted packets.
    pub losses: u64,
    /// Median over the time of the rounds.
    pub queue_delay_us: Option<f64>,
}

/// Of each of the `asked` directions that is near the sender and has rounds.
pub fn sums(rounds: &Rounds<'_>, directions: &[Direction], known: &[Known], asked: &[usize]) -> Vec<Sums> {
    let of_direction = |of: usize| {
        let rows = rounds.singles(&directions[of]);
        let counted = |of: &dyn Fn(usize) -> u64| rows.iter().map(|row| of(*row)).sum();
        let timed = |row: &usize| Some((queue_us(rounds, *row, &known[of])?, rounds.length_ns(*row) as f64));
        (!rows.is_empty()).then(|| Sums {
            of,
            rounds: rows.len() as u32,
            acked: counted(&|row| u64::from(rounds.acked_packets.or_zero(row))),
            marks: rows.iter().filter_map(|row| marks(rounds, *row, &known[of])).sum(),
            losses: counted(&|row| u64::from(rounds.retransmits.or_zero(row))),
            queue_delay_us: weighted_median(rows.iter().filter_map(timed).collect()),
        })
    };
    asked.iter().copied().filter(|of| directions[*of].near).filter_map(of_direction).collect()
}
