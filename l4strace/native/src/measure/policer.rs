//! Whether the losses of a path come as those of a policer: a token bucket that drops what exceeds one rate.
//!
//! The bucket is empty whenever it drops. Between two groups of drops passes what fills it meanwhile: what was
//! delivered when each group began lies on one line, whose slope is the rate, however the senders rise and
//! fall between (Flach et al., An Internet-Wide Analysis of Traffic Policing, SIGCOMM 2016, section 3).

use std::collections::BTreeMap;

use super::numbers::median;
use super::rounds::{Direction, Rounds};

/// Losses that lie closer than this, in usual rounds, are one group: a sender hears of drops for a round trip,
/// and repairs them in the next.
const GROUP_ROUNDS: f64 = 2.0;

/// Groups that make a line: with three, the one between decides alone. By eye.
const MIN_GROUPS: usize = 5;

/// A sender that does not heed losses (BBR), or many that take turns, are dropped without a pause: the bucket is
/// empty all along, and every so many usual rounds of such a group count as one. A drop lies somewhere in its round, so
/// that both borders together are two rounds off at most: a tenth of the group, which is how far one rate may be off
/// (`ONE_RATE` in `bottleneck/signs/losses.py`).
const LONG_ROUNDS: f64 = 20.0;

/// What the losses of a path show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policed {
    pub at: u32,
    /// Packets of the middle one of the groups of losses.
    pub group_lost: f64,
    /// Payload that passed from group to group.
    pub rate_bps: f64,
    /// How far the groups lie off the line (root mean square), in parts of what passes between two.
    pub uneven: f64,
    /// Least that the bucket held when the path was idle before: what passed above the rate.
    pub burst_bytes: f64,
}

/// Of each path with enough groups.
pub fn policed(rounds: &Rounds<'_>, directions: &[Direction]) -> Vec<Policed> {
    let mut paths: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for direction in directions.iter().filter(|direction| direction.near) {
        paths.entry(direction.at).or_default().extend(direction.rows.clone());
    }
    let lost = |rows: &[usize]| rows.iter().filter(|row| rounds.retransmits.or_zero(**row) > 0).count();
    paths.retain(|_, rows| lost(rows) >= MIN_GROUPS);
    paths.into_iter().filter_map(|(at, rows)| of_path(rounds, at, rows)).collect()
}

fn of_path(rounds: &Rounds<'_>, at: u32, mut rows: Vec<usize>) -> Option<Policed> {
    rows.retain(|row| rounds.end_ns.or_zero(*row) > rounds.start_ns.or_zero(*row));
    rows.sort_by_key(|row| (rounds.start_ns.or_zero(*row), *row));
    let mut groups = groups(rounds, &rows, f64::INFINITY);
    if groups.len() < MIN_GROUPS {
        groups = self::groups(rounds, &rows, LONG_ROUNDS);
    }
    let (first, last) = (groups.first()?, groups.last()?);
    if groups.len() < MIN_GROUPS {
        return None;
    }
    let mut passed = Passed::new(rounds, &rows);
    let bytes: Vec<f64> = groups.iter().map(|group| passed.until(group.begin_ns)).collect();
    let time = |ns: i64| (ns - first.begin_ns) as f64;
    let per_ns = (bytes[bytes.len() - 1] - bytes[0]) / time(last.begin_ns);
    let off = |(group, bytes_then): (&Group, &f64)| bytes_then - bytes[0] - per_ns * time(group.begin_ns);
    let squares: f64 = groups.iter().zip(&bytes).map(|point| off(point).powi(2)).sum();
    let between = (bytes[bytes.len() - 1] - bytes[0]) / (groups.len() - 1) as f64;
    let mut sizes: Vec<f64> = groups.iter().map(|group| f64::from(group.lost)).collect();
    let begin_ns = rounds.start_ns.or_zero(*rows.first()?);
    let mut passed = Passed::new(rounds, &rows);
    let ends =
        rows.iter().map(|row| rounds.start_ns.or_zero(*row)).take_while(|ns| *ns <= groups[1].begin_ns);
    let above = ends.map(|ns| passed.until(ns) - per_ns * (ns - begin_ns) as f64);
    (between > 0.0).then_some(Policed {
        at,
        group_lost: median(&mut sizes)?,
        rate_bps: per_ns * 8e9,
        uneven: (squares / groups.len() as f64).sqrt() / between,
        burst_bytes: above.fold(0.0, f64::max),
    })
}

/// Losses that belong together: when the first round with one began.
struct Group {
    begin_ns: i64,
    end_ns: i64,
    lost: u32,
}

/// Groups of at most `longest` usual rounds; `rows` are in the order of their begin.
fn groups(rounds: &Rounds<'_>, rows: &[usize], longest: f64) -> Vec<Group> {
    let length = |row: &usize| rounds.length_ns(*row) as f64;
    let usual = median(&mut rows.iter().map(length).collect::<Vec<_>>()).unwrap_or(0.0);
    let mut found: Vec<Group> = Vec::new();
    for row in rows.iter().copied().filter(|row| rounds.retransmits.or_zero(*row) > 0) {
        let (begin_ns, end_ns) = (rounds.start_ns.or_zero(row), rounds.end_ns.or_zero(row));
        let lost = rounds.retransmits.or_zero(row);
        match found.last_mut() {
            Some(group)
                if (begin_ns - group.end_ns) as f64 <= GROUP_ROUNDS * usual
                    && ((begin_ns - group.begin_ns) as f64) < longest * usual =>
            {
                group.end_ns = group.end_ns.max(end_ns);
                group.lost += lost;
            }
            _ => found.push(Group { begin_ns, end_ns, lost }),
        }
    }
    found
}

/// What the rounds of a path delivered until moments that are asked in their order; each delivers evenly.
struct Passed<'a> {
    rounds: &'a Rounds<'a>,
    rows: std::iter::Peekable<std::slice::Iter<'a, usize>>,
    done: f64,
    under_way: Vec<usize>,
}

impl<'a> Passed<'a> {
    fn new(rounds: &'a Rounds<'a>, rows: &'a [usize]) -> Passed<'a> {
        Passed { rounds, rows: rows.iter().peekable(), done: 0.0, under_way: Vec::new() }
    }

    fn until(&mut self, ns: i64) -> f64 {
        let rounds = self.rounds;
        while let Some(row) = self.rows.next_if(|row| rounds.start_ns.or_zero(**row) < ns) {
            self.under_way.push(*row);
        }
        let bytes = |row: usize| rounds.acked_bytes.or_zero(row) as f64;
        let done = &mut self.done;
        self.under_way.retain(|row| {
            let ended = rounds.end_ns.or_zero(*row) <= ns;
            *done += if ended { bytes(*row) } else { 0.0 };
            !ended
        });
        let part = |row: &usize| {
            let (start, end) = (rounds.start_ns.or_zero(*row), rounds.end_ns.or_zero(*row));
            bytes(*row) * (ns - start) as f64 / (end - start) as f64
        };
        self.done + self.under_way.iter().map(part).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::column::Column;
    use super::{policed, Direction, Rounds};

    const ROUND_NS: i64 = 20_000_000;

    /// Rounds of 20 ms: what each delivers (bytes) and lost.
    fn found(delivered: &[u64], lost: &[u32]) -> Vec<super::Policed> {
        let starts: Vec<i64> = (0..delivered.len()).map(|n| n as i64 * ROUND_NS).collect();
        let ends: Vec<i64> = starts.iter().map(|ns| ns + ROUND_NS).collect();
        let rounds = Rounds {
            start_ns: Column::new(&starts, None),
            end_ns: Column::new(&ends, None),
            acked_bytes: Column::new(delivered, None),
            retransmits: Column::new(lost, None),
            ..Rounds::default()
        };
        policed(&rounds, &[Direction { near: true, rows: 0..delivered.len(), ..Direction::default() }])
    }

    /// Cycles in which a sender passes 1.5 MB/s until the tokens are spent, then half of the rate, 1 MB/s.
    fn cycles(lengths: &[usize]) -> (Vec<u64>, Vec<u32>) {
        let (mut delivered, mut lost) = (vec![40_000; 10], vec![0; 10]);
        for length in lengths {
            lost.push(5);
            delivered.push(20_000);
            delivered.extend(vec![10_000; *length]);
            delivered.extend(vec![30_000; *length]);
            lost.extend(vec![0; 2 * length]);
        }
        (delivered, lost)
    }

    #[test]
    fn groups_of_drops_on_one_line_show_rate_and_burst() {
        let (delivered, lost) = cycles(&[10, 4, 15, 7, 12, 9, 3, 11]);
        let one = found(&delivered, &lost)[0];
        assert!((one.rate_bps - 8e6).abs() < 1e-3);
        assert!(one.uneven < 1e-6);
        assert_eq!(one.group_lost, 5.0);
        // Ten rounds at twice the rate.
        assert!((one.burst_bytes - 200_000.0).abs() < 1e-3);
        let faster: Vec<u64> = delivered.iter().map(|bytes| 3 * bytes).collect();
        assert!((found(&faster, &lost)[0].rate_bps - 24e6).abs() < 1e-3, "three times the rate");
    }

    /// BBR: what exceeds the rate is lost in each round, however much it sends.
    #[test]
    fn drops_without_a_pause_show_the_rate_that_passes() {
        let (mut delivered, mut lost) = (vec![40_000; 10], vec![0; 10]);
        delivered.extend([20_000; 100]);
        lost.extend((0..100).map(|n| 1 + n % 8));
        let one = found(&delivered, &lost)[0];
        assert!((one.rate_bps - 8e6).abs() < 1e-3);
        assert!(one.uneven < 1e-6);
        assert!((one.burst_bytes - 200_000.0).abs() < 1e-3);
        assert!(found(&delivered[..90], &lost[..90]).is_empty(), "four times twenty rounds");
    }

    #[test]
    fn losses_at_random_lie_on_no_line() {
        let (mut delivered, lost) = cycles(&[10, 4, 15, 7, 12, 9, 3, 11]);
        for (n, bytes) in delivered.iter_mut().enumerate() {
            *bytes = if n / 40 % 2 == 0 { *bytes } else { 3 * *bytes };
        }
        assert!(found(&delivered, &lost)[0].uneven > 0.3);
        assert!(found(&delivered[..40], &lost[..40]).is_empty(), "two groups");
    }
}
