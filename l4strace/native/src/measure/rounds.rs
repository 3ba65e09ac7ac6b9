//! Rounds as every pass looks at them: columns as they lie in memory, and which rows a direction has.

use std::collections::HashMap;
use std::ops::Range;

use super::column::Column;

/// Columns of the table `rounds`, by direction and `round`.
#[derive(Default)]
pub struct Rounds<'a> {
    pub flow: Column<'a, u32>,
    pub round: Column<'a, u32>,
    pub round_trips: Column<'a, u32>,
    pub start_ns: Column<'a, i64>,
    pub end_ns: Column<'a, i64>,
    pub acked_bytes: Column<'a, u64>,
    pub acked_packets: Column<'a, u32>,
    pub retransmits: Column<'a, u32>,
    pub train_bps: Column<'a, f64>,
    pub rtt_samples: Column<'a, u32>,
    pub rtt_min_us: Column<'a, f64>,
    pub rtt_mean_us: Column<'a, f64>,
    pub rtt_max_us: Column<'a, f64>,
    pub marked_rtt_min_us: Column<'a, f64>,
    pub sacked_rtt_max_us: Column<'a, f64>,
    pub owd_min_us: Column<'a, f64>,
    pub owd_mean_us: Column<'a, f64>,
    pub owd_max_us: Column<'a, f64>,
    pub marked_owd_min_us: Column<'a, f64>,
    pub rtt_jitter_us: Column<'a, f64>,
    pub sacked_rtt_min_us: Column<'a, f64>,
    pub inflight_max_bytes: Column<'a, u64>,
    pub inflight_max_packets: Column<'a, u32>,
    pub rwnd_bytes: Column<'a, u64>,
    pub ce_best: Column<'a, u32>,
    pub ece_acks: Column<'a, u32>,
    pub ce: Column<'a, u32>,
    pub ce_bytes: Column<'a, u64>,
    /// By the clock of builds up to 2022, and by the 25 ms of later ones.
    pub alphas: [Column<'a, f64>; 2],
    pub alpha_updates: [Column<'a, u32>; 2],
    pub srtt_pace_us: Column<'a, f64>,
    pub mdev_pace_us: Column<'a, f64>,
    pub classic_ecn: Column<'a, f64>,
    pub classic_ecn_lo: Column<'a, f64>,
    pub classic_ecn_hi: Column<'a, f64>,
    pub classic_ecn_buggy: Column<'a, f64>,
    pub first_frame: Column<'a, u64>,
    pub last_frame: Column<'a, u64>,
    pub sent_packets: Column<'a, u32>,
    pub sent_bytes: Column<'a, u64>,
    pub burst_bytes: Column<'a, u32>,
    pub burst_frame: Column<'a, u64>,
    pub rtt_prompt_max_us: Column<'a, f64>,
    /// Known once that of all directions of a path is.
    pub queue_delay_us: Column<'a, f64>,
    pub limits: &'a [Limit],
    pub slow_start: &'a [Option<bool>],
}

impl Rounds<'_> {
    pub fn limit(&self, row: usize) -> Limit {
        self.limits[row]
    }

    /// It is one round, as all are but some of very long flows, which were put together.
    pub fn single(&self, row: usize) -> bool {
        self.round_trips.get(row).is_none_or(|trips| trips == 1)
    }

    pub fn length_ns(&self, row: usize) -> i64 {
        self.end_ns.or_zero(row).saturating_sub(self.start_ns.or_zero(row))
    }

    /// Single rounds of a direction: others do not show what one round does to the next.
    pub fn singles(&self, direction: &Direction) -> Vec<usize> {
        direction.rows.clone().filter(|row| self.single(*row)).collect()
    }

    /// First and last frame of the first round of a direction that contains a moment.
    pub fn frames_at(&self, direction: &Direction, ns: i64) -> Option<(u64, u64)> {
        let contains = |row: &usize| self.start_ns.or_zero(*row) <= ns && ns <= self.end_ns.or_zero(*row);
        let row = direction.rows.clone().find(contains)?;
        self.first_frame.get(row).zip(self.last_frame.get(row))
    }

    /// The last round of a direction that began until a moment.
    pub fn begun(&self, direction: &Direction) -> impl Fn(i64) -> Option<usize> + use<'_> {
        let mut rows: Vec<usize> = direction.rows.clone().collect();
        rows.sort_by_key(|row| self.start_ns.get(*row));
        move |ns| rows[..rows.partition_point(|row| self.start_ns.or_zero(*row) <= ns)].last().copied()
    }

    /// Window of the sender: most packets in flight, but not where the receiver's window ended them (run s4417-000).
    pub fn window(&self, row: usize) -> Option<f64> {
        let received = self.limits.get(row) == Some(&Limit::Rwnd);
        self.inflight_max_packets.get(row).filter(|_| !received).map(f64::from)
    }

    /// Its only ACK, and of one packet, may be one that the receiver held back.
    pub fn may_be_held(&self, row: usize) -> bool {
        let one = self.rtt_samples.get(row) == Some(1) && self.acked_packets.or_zero(row) <= 1;
        one && self.rtt_prompt_max_us.get(row).is_none()
    }

    /// Marked packets: fed back, else seen here; classic ECE means one or more.
    pub fn marks(&self, row: usize) -> u32 {
        let echoed = || self.ece_acks.get(row).map(|acks| u32::from(acks > 0));
        self.ce_best.get(row).or_else(echoed).unwrap_or_else(|| self.ce.or_zero(row))
    }
}

/// What kept the sender from sending more in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    App,
    Rwnd,
    Cwnd,
    Feedback,
    Media,
    #[default]
    Unknown,
}

impl Limit {
    /// As in `rounds.limited_by`.
    pub fn named(name: Option<&str>) -> Limit {
        match name {
            Some("app") => Limit::App,
            Some("rwnd") => Limit::Rwnd,
            Some("cwnd") => Limit::Cwnd,
            Some("feedback") => Limit::Feedback,
            Some("media") => Limit::Media,
            _ => Limit::Unknown,
        }
    }

    /// The application or the receiver limited the round, or may have.
    pub fn held(self) -> bool {
        matches!(self, Limit::App | Limit::Rwnd | Limit::Feedback | Limit::Media)
    }
}

/// A flow direction of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direction {
    /// Number of its path.
    pub at: u32,
    /// Its RTTs hold queue: the capture did not stand at the receiver.
    pub near: bool,
    /// Most of its data is ECT(1), and no capture is nearer to its sender.
    pub scalable: bool,
    /// Some of its data is ECT(1) or CE: the sender may run Prague.
    pub prague: bool,
    /// Its rounds.
    pub rows: Range<usize>,
}

/// Codepoint of most data packets of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codepoint {
    Ect1,
    Ect0,
    #[default]
    NotEct,
}

impl Codepoint {
    /// As in `neighbors.directions`.
    pub fn named(name: Option<&str>) -> Codepoint {
        match name {
            Some("ect1") => Codepoint::Ect1,
            Some("ect0") => Codepoint::Ect0,
            _ => Codepoint::NotEct,
        }
    }
}

/// What a row says about its direction: source, flow, forward.
pub type Key = (u16, u32, bool);

/// Of each row, which of `keys` it has. Rows of one mostly stand together.
pub fn numbered<I: Iterator<Item = Key>>(
    keys: &[Key],
    rows: I,
) -> impl Iterator<Item = Option<u32>> + use<I> {
    let numbers: HashMap<Key, u32> = keys.iter().enumerate().map(|(of, key)| (*key, of as u32)).collect();
    let mut last = None;
    rows.map(move |key| match last {
        Some((same, of)) if same == key => of,
        _ => {
            let of = numbers.get(&key).copied();
            last = Some((key, of));
            of
        }
    })
}

/// The numbers of those of `keys` that are asked for.
pub fn asked(keys: &[Key], of: Vec<Key>) -> Vec<usize> {
    numbered(keys, of.into_iter()).flatten().map(|of| of as usize).collect()
}

/// Of each of `keys`, the rows that have it. None where those of one do not stand together, or do not
/// stand in the order of `round`.
pub fn placed(keys: &[Key], rows: impl Iterator<Item = (Key, u32)>) -> Option<Vec<Range<usize>>> {
    let numbers: HashMap<Key, usize> = keys.iter().enumerate().map(|(of, key)| (*key, of)).collect();
    let mut found = vec![0..0; keys.len()];
    let mut last: Option<(Key, usize, u32)> = None;
    for (row, (key, round)) in rows.enumerate() {
        let of = match last {
            Some((same, of, before)) if same == key => {
                if round < before {
                    return None;
                }
                Some(of)
            }
            _ => {
                let of = numbers.get(&key).copied();
                if of.is_some_and(|of| !found[of].is_empty()) {
                    return None;
                }
                of
            }
        };
        last = of.map(|of| (key, of, round));
        if let Some(of) = of {
            let begin = if found[of].is_empty() { row } else { found[of].start };
            found[of] = begin..row + 1;
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::super::Column;
    use super::{placed, Direction, Key, Rounds};

    fn rows(flows: &[(u32, u32)]) -> Option<Vec<std::ops::Range<usize>>> {
        let keys: Vec<Key> = vec![(0, 7, true), (0, 8, true), (0, 9, false)];
        placed(&keys, flows.iter().map(|(flow, round)| ((0, *flow, true), *round)))
    }

    #[test]
    fn rows_of_a_direction_stand_together() {
        let found = rows(&[(8, 0), (8, 1), (7, 0), (9, 0), (7, 1)]);
        assert_eq!(found, None, "those of 7 do not");
        assert_eq!(rows(&[(8, 0), (8, 1), (7, 0), (9, 0)]), Some(vec![2..3, 0..2, 0..0]));
        assert_eq!(rows(&[(8, 1), (8, 0)]), None, "round 0 is later");
        assert_eq!(rows(&[]), Some(vec![0..0; 3]));
    }

    #[test]
    fn a_moment_on_an_edge_has_the_frames_of_the_earlier_round() {
        let rounds = Rounds {
            start_ns: Column::new(&[0, 0, 10, 30], None),
            end_ns: Column::new(&[99, 10, 20, 40], None),
            first_frame: Column::new(&[1, 2, 5, 8], None),
            last_frame: Column::new(&[1, 4, 7, 9], None),
            ..Rounds::default()
        };
        let direction = Direction { rows: 1..4, ..Direction::default() };
        let begun = rounds.begun(&direction);
        assert_eq!([-1, 0, 9, 10, 25, 99].map(begun), [None, Some(1), Some(1), Some(2), Some(2), Some(3)]);
        let at = |ns| rounds.frames_at(&direction, ns);
        assert_eq!([at(10), at(11), at(25), at(30)], [Some((2, 4)), Some((5, 7)), None, Some((8, 9))]);
    }
}
