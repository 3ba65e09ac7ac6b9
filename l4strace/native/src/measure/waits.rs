//! What each round of a direction shows of the queue: how long its packets waited, and where marks and
//! losses came.
//!
//! The queue delay is the mean RTT above the base of the direction (`derive/queue_delay.py`). Where two
//! captures show one-way delays of nearly all rounds, RTTs are those of an idle ACK path: the smallest RTT
//! plus what packets waited on their own way. ACKs add neither delay nor jitter then, and a late ACK is no
//! queue. ACKs report what was sent a round before, so do these RTTs. Packets that overtook others would
//! be the smallest of their rounds: there RTTs stay.

use super::full::QUEUE_US;
use super::numbers::{least, most};
use super::rounds::{Codepoint, Direction, Limit, Rounds};
use crate::maybe::Maybe;

/// Rounds, and part of all, that count as a direction's start. By eye: slow start from a window of 10
/// (RFC 6928) to 1,000 packets takes seven rounds, and its queue drains in a few more.
const START_ROUNDS: usize = 10;
const START_PART: usize = 10;

/// Part of a direction's rounds with a one-way delay, from which that is asked for and no RTT: one of the
/// captures may have begun late or ended early. By eye.
const MOST: f64 = 0.9;

/// What is known of a direction beside its rounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    pub codepoint: Codepoint,
    /// The handshake was seen.
    pub began: bool,
    /// The path changes ACE: marks are those that the option counts, in packets of this size.
    pub mangled: bool,
    pub option_mss: Option<u32>,
    /// RTT that queue delays are above, the direction's own smallest, and how far a tenth of its rounds
    /// stay above that.
    pub base_us: Option<f64>,
    pub floor_us: Option<f64>,
    pub rise_us: Option<f64>,
    /// The same of one-way delays, with the delay that a tenth of the rounds stay below.
    pub owd_base_us: Option<f64>,
    pub owd_floor_us: Option<f64>,
    pub owd_low_us: Option<f64>,
    /// No packet overtook others.
    pub in_order: bool,
    /// Capacity of the path, and what noise can add to a delay.
    pub capacity_bps: Option<f64>,
    pub noise_us: f64,
}

/// Single rounds of a direction near enough to the sender to hold queue.
#[derive(Clone, Debug, Default)]
pub struct Directed {
    pub of: usize,
    pub codepoint: Codepoint,
    pub began: bool,
    pub base_us: Option<f64>,
    pub floor_us: Option<f64>,
    pub rise_us: Option<f64>,
    pub noise_us: f64,
    pub rounds: Vec<Round>,
}

impl Directed {
    /// Rounds after the start.
    pub fn steady(&self) -> &[Round] {
        &self.rounds[self.rounds.partition_point(|round| !round.steady)..]
    }
}

/// A round; delays are above the base.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    pub round: u32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub acked_bytes: u64,
    pub acked_packets: u32,
    pub retransmits: u32,
    /// Marked packets; None where the path hides them.
    pub marks: Option<i64>,
    /// Classic feedback was possible.
    pub classic: bool,
    pub limit: Limit,
    /// It follows the start of its direction.
    pub steady: bool,
    pub phase: Option<u32>,
    pub queue_us: Maybe,
    pub rtt_min_us: Maybe,
    pub rtt_max_us: Maybe,
    /// Delay of the packets that SACK reports.
    pub sacked_us: Maybe,
    /// Smallest delay at which an ACK reported a mark.
    pub marking_us: Maybe,
    /// Largest delay of the round and the two before it: loss shows a round trip after the queue that
    /// dropped the packet.
    pub top_us: Maybe,
    /// That of the packets that SACK reports there: they waited right behind what was lost, and the
    /// receiver answers each at once (RFC 5681 section 4.2). The packet before a hole is answered late,
    /// as the one after it is missing. Where only one of the two is known it is both.
    pub at_loss_us: Maybe,
}

impl Round {
    pub fn length_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    pub fn marked(&self) -> bool {
        self.marks.is_some_and(|marks| marks > 0)
    }

    /// Above the base.
    pub fn least_us(&self, base_us: Option<f64>) -> Option<f64> {
        Some(self.rtt_min_us.get()? - base_us?)
    }
}

/// Delays of a round, with the ACK path or without it.
struct Delays {
    queue_us: Option<f64>,
    rtt_min_us: Option<f64>,
    rtt_max_us: Option<f64>,
    marked_rtt_us: Option<f64>,
}

/// `phase` gives that of a moment.
pub fn directed(
    rounds: &Rounds<'_>,
    of: usize,
    direction: &Direction,
    known: &Known,
    phase: impl Fn(i64) -> Option<u32>,
) -> Directed {
    let rows = rounds.singles(direction);
    let one_way = one_way(rounds, &rows, known);
    let mut made: Vec<Round> = Vec::with_capacity(rows.len());
    let skipped = start(rows.len());
    for (i, row) in rows.iter().copied().enumerate() {
        let start_ns = rounds.start_ns.or_zero(row);
        let before = i.checked_sub(1).map(|i| rows[i]).filter(|_| one_way);
        let delays = before.map_or_else(|| by_rtt(rounds, row, known), |row| by_owd(rounds, row, known));
        made.push(Round {
            round: rounds.round.or_zero(row),
            start_ns,
            end_ns: rounds.end_ns.or_zero(row),
            acked_bytes: rounds.acked_bytes.or_zero(row),
            acked_packets: rounds.acked_packets.or_zero(row),
            retransmits: rounds.retransmits.or_zero(row),
            marks: marks(rounds, row, known),
            classic: rounds.ece_acks.get(row).is_some(),
            limit: rounds.limit(row),
            steady: i >= skipped,
            phase: phase(start_ns),
            queue_us: delays.queue_us.into(),
            rtt_min_us: delays.rtt_min_us.into(),
            rtt_max_us: delays.rtt_max_us.into(),
            sacked_us: sacked_us(rounds, row, before, known).into(),
            marking_us: above(delays.marked_rtt_us, known.base_us).map(|us| us.max(0.0)).into(),
            ..Round::default()
        });
    }
    if !one_way {
        bound_late_answers(rounds, &rows, &mut made);
    }
    look_back(&mut made, known);
    Directed {
        of,
        codepoint: known.codepoint,
        began: known.began,
        base_us: known.base_us,
        floor_us: floor_us(one_way, known),
        rise_us: if one_way { above(known.owd_low_us, known.owd_floor_us) } else { known.rise_us },
        noise_us: known.noise_us,
        rounds: made,
    }
}

/// Rounds of the start of a direction that has so many.
pub fn start(rounds: usize) -> usize {
    START_ROUNDS.max(rounds / START_PART)
}

/// Single rounds of a direction after its start.
pub fn steady(rounds: &Rounds<'_>, direction: &Direction) -> Vec<usize> {
    let mut rows = rounds.singles(direction);
    rows.drain(..start(rows.len()).min(rows.len()));
    rows
}

/// One-way delays show the queue of a direction with these rounds.
pub fn one_way(rounds: &Rounds<'_>, rows: &[usize], known: &Known) -> bool {
    let shown = || rows.iter().filter(|row| rounds.owd_mean_us.get(**row).is_some()).count();
    known.in_order && shown() as f64 / rows.len() as f64 >= MOST
}

/// Smallest RTT of a direction, whose queue one-way delays may show.
pub fn floor_us(one_way: bool, known: &Known) -> Option<f64> {
    if one_way {
        return Some(known.base_us? + known.owd_floor_us? - known.owd_base_us?);
    }
    known.floor_us
}

/// Mean RTT above the base.
pub fn queue_us(rounds: &Rounds<'_>, row: usize, known: &Known) -> Option<f64> {
    above(rounds.rtt_mean_us.get(row), known.base_us).map(|us| us.max(0.0))
}

fn by_rtt(rounds: &Rounds<'_>, row: usize, known: &Known) -> Delays {
    Delays {
        queue_us: queue_us(rounds, row, known),
        rtt_min_us: rounds.rtt_min_us.get(row),
        rtt_max_us: rounds.rtt_max_us.get(row),
        // Which ACKs report a mark is known from ACE alone.
        marked_rtt_us: rounds.marked_rtt_min_us.get(row).filter(|_| !known.mangled),
    }
}

/// By the round before. What the first one reports is the handshake, which is not a data packet.
fn by_owd(rounds: &Rounds<'_>, before: usize, known: &Known) -> Delays {
    let waited = |owd: Option<f64>| above(owd, known.owd_base_us);
    let rtt = |owd: Option<f64>| Some(known.base_us? + waited(owd)?);
    Delays {
        queue_us: waited(rounds.owd_mean_us.get(before)).map(|us| us.max(0.0)),
        rtt_min_us: rtt(rounds.owd_min_us.get(before)),
        rtt_max_us: rtt(rounds.owd_max_us.get(before)),
        marked_rtt_us: rtt(rounds.marked_owd_min_us.get(before)),
    }
}

/// Longest wait of the packets that SACK reports; by one-way delays no longer than any of them, `before` or in the
/// round: the rest is of the ACK path.
fn sacked_us(rounds: &Rounds<'_>, row: usize, before: Option<usize>, known: &Known) -> Option<f64> {
    let waited = above(rounds.sacked_rtt_max_us.get(row), known.base_us)?;
    let owd = |before| most(rounds.owd_max_us.get(before), rounds.owd_max_us.get(row));
    let longest = before.and_then(|before| above(owd(before), known.owd_base_us));
    Some(longest.map_or(waited, |longest| waited.min(longest)))
}

/// The only ACK of a round, and of one packet, may be one that the receiver held back (RFC 1122 section 4.2.3.2): it shows
/// no longer queue than the nearest rounds with other ACKs.
fn bound_late_answers(rounds: &Rounds<'_>, rows: &[usize], made: &mut [Round]) {
    let late: Vec<bool> = rows.iter().map(|row| rounds.may_be_held(*row)).collect();
    if !late.contains(&true) {
        return;
    }
    let mut after: Vec<Option<f64>> = vec![None; made.len()];
    let mut next = None;
    for i in (0..made.len()).rev() {
        after[i] = next;
        next = made[i].queue_us.get().filter(|_| !late[i]).or(next);
    }
    let mut before = None;
    for (i, round) in made.iter_mut().enumerate() {
        let us = round.queue_us.get();
        if late[i] {
            round.queue_us = least(us, most(before, after[i])).filter(|_| us.is_some()).into();
        } else {
            before = us.or(before);
        }
    }
}

/// Marked packets of a round: fed back, else seen here; classic ECE means one or more.
pub fn marks(rounds: &Rounds<'_>, row: usize, known: &Known) -> Option<i64> {
    if known.mangled {
        let mss = f64::from(known.option_mss?);
        return Some((rounds.ce_bytes.or_zero(row) as f64 / mss).ceil() as i64);
    }
    Some(i64::from(rounds.marks(row)))
}

/// Delays at marks and at losses.
fn look_back(made: &mut [Round], known: &Known) {
    // Where no ACK with a mark has an RTT, the round as a whole has to do.
    let shown = made.iter().any(|round| round.marking_us.get().is_some());
    let mut last = [(None, None); 2];
    for round in made {
        let marking_us = if shown { round.marking_us } else { round.queue_us };
        round.marking_us = if round.marked() { marking_us } else { Maybe::default() };
        let own = above(round.rtt_max_us.get(), known.base_us);
        // What is faster than the empty path overtook others, and waited for nothing.
        let behind = round.sacked_us.get().filter(|us| *us > -QUEUE_US).map(|us| us.max(0.0));
        let top = most(own, most(last[0].0, last[1].0));
        let behind_all = most(behind, most(last[0].1, last[1].1));
        (round.top_us, round.at_loss_us) = (top.or(behind_all).into(), behind_all.or(top).into());
        last = [(own, behind), last[0]];
    }
}

/// A delay above a base.
pub fn above(us: Option<f64>, base_us: Option<f64>) -> Option<f64> {
    Some(us? - base_us?)
}

#[cfg(test)]
mod tests {
    use super::super::Column;
    use super::*;

    #[test]
    fn sack_shows_no_longer_wait_than_one_way_delays_of_its_round_and_the_one_before() {
        let waits = |owd_us: &[f64]| {
            let rounds = Rounds {
                sacked_rtt_max_us: Column::new(&[30e3, 30e3], None),
                owd_max_us: Column::new(owd_us, None),
                ..Rounds::default()
            };
            let known = Known { base_us: Some(10e3), owd_base_us: Some(1e3), ..Known::default() };
            sacked_us(&rounds, 1, Some(0), &known)
        };
        assert_eq!(waits(&[16e3, 5e3]), Some(15e3));
        assert_eq!(waits(&[5e3, 16e3]), Some(15e3));
        assert_eq!(waits(&[40e3, 5e3]), Some(20e3), "as SACK shows");
        assert_eq!(waits(&[]), Some(20e3), "one capture");
    }
}
