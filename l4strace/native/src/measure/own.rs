//! What the rounds of one direction show of its bottleneck, after its start and in all.

use super::floors::FLAT_US;
use super::full::QUEUE_US;
use super::numbers::{mean, median, quantile, weighted_median};
use super::rating::{Rating, ANSWERED_AT_ONCE};
use super::rounds::Codepoint;
use super::waits::{Directed, Round};
use super::{MIN_STEADY, MIN_STEADY_PACKETS};

/// Quantiles in place of smallest and largest, which one odd round decides. By eye.
const LOW: f64 = 0.1;
const HIGH: f64 = 0.9;

/// As above, of all rounds: the full buffer, which few rounds see.
const LARGEST: f64 = 0.99;

/// Marks that show where marking sets in however few packets a flow sends: a tenth of them is one; and how
/// long a flow with so few lasts that starves. By eye.
const MANY_MARKS: i64 = 10;
const STARVED_S: f64 = 2.0;

/// Parts of a direction's time in which marks are looked for: tenths.
const PARTS: i64 = 10;

/// Beyond the border and the noise by this, a packet waited too long for jitter that was not seen to be the
/// reason. Measured: behind DualPI2 with up to 10 ms of jitter one flow of 70 has three such rounds without
/// a mark, and behind classic AQMs that mark nearly all packets each path has.
pub const FAR_US: f64 = 8000.0;

/// A queue that only a full buffer or a classic AQM lets stand: five times what shows a queue at all.
pub const DEEP_US: f64 = 5.0 * QUEUE_US;

/// After the start.
#[derive(Clone, Debug, Default)]
pub struct Own {
    pub rounds: u32,
    pub acked: u64,
    pub marks: i64,
    pub seconds: f64,
    pub rate_bps: Option<f64>,
    pub mark_limit_us: Option<f64>,
    pub queue_delay_us: Option<f64>,
    pub queue_high_us: Option<f64>,
    pub marking_delay_us: Option<f64>,
    pub stepped: Option<f64>,
    pub flat: Option<bool>,
    pub marked_parts: u32,
    pub classic_feedback: bool,
    pub losses: Losses,
    pub top_us: Option<f64>,
}

/// What the rounds of a direction after its start carried in all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    pub rounds: usize,
    pub acked: u64,
    pub marks: i64,
    pub begin_ns: i64,
    pub length_ns: i64,
}

impl Carried {
    /// Of rounds by their begin, packets and marks.
    pub fn of(rounds: impl Iterator<Item = (i64, u32, Option<i64>)>) -> Carried {
        let mut found = Carried::default();
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for (start_ns, acked_packets, marks) in rounds {
            (first, last) = (first.min(start_ns), last.max(start_ns));
            found.rounds += 1;
            found.acked += u64::from(acked_packets);
            found.marks += marks.unwrap_or(0);
        }
        if found.rounds > 0 {
            (found.begin_ns, found.length_ns) = (first, last - first + 1);
        }
        found
    }

    fn seconds(&self) -> f64 {
        self.length_ns as f64 / 1e9
    }

    /// They are enough to look at. A starved flow sends few packets for long, a short one for a moment.
    pub fn enough(&self) -> bool {
        let starved = self.marks >= MANY_MARKS && self.seconds() >= STARVED_S;
        self.rounds >= MIN_STEADY && (self.acked >= MIN_STEADY_PACKETS || starved)
    }
}

/// None where the rounds are too few.
pub fn own(direction: &Directed, rating: &Rating) -> Option<Own> {
    let rounds = direction.steady();
    let carried = Carried::of(rounds.iter().map(|round| (round.start_ns, round.acked_packets, round.marks)));
    if !carried.enough() {
        return None;
    }
    let values = |of: fn(&Round) -> Option<f64>| -> Vec<f64> { rounds.iter().filter_map(of).collect() };
    let (mut queues, mut marking) =
        (values(|round| round.queue_us.get()), values(|round| round.marking_us.get()));
    let timed = rounds.iter().filter_map(|round| Some((round.queue_us.get()?, round.length_ns() as f64)));
    let marking_delay_us = quantile(&mut marking, LOW);
    let stepped = rounds.iter().filter(|round| {
        round.queue_us.get().zip(marking_delay_us).is_some_and(|(queue, marking)| queue >= marking)
    });
    let marked = rounds.iter().filter(|round| round.marked());
    let mut parts: Vec<i64> =
        marked.map(|round| (round.start_ns - carried.begin_ns) * PARTS / carried.length_ns).collect();
    parts.sort_unstable();
    parts.dedup();
    Some(Own {
        rounds: rounds.len() as u32,
        acked: carried.acked,
        marks: carried.marks,
        seconds: carried.seconds(),
        rate_bps: rating.rate_bps,
        mark_limit_us: border(rounds, rating),
        queue_delay_us: weighted_median(timed.collect()),
        queue_high_us: quantile(&mut queues, HIGH),
        marking_delay_us,
        stepped: mean(stepped.filter_map(|round| Some(f64::from(u8::from(round.marks? > 0))))),
        flat: direction.rise_us.map(|rise| rise <= FLAT_US),
        marked_parts: parts.len() as u32,
        classic_feedback: rounds.iter().any(|round| round.classic),
        losses: Losses::of(rounds.iter()),
        top_us: quantile(&mut values(|round| round.top_us.get()), LARGEST),
    })
}

/// Border of the shortest marking delays: that of the fastest phase with enough of the marks.
fn border(rounds: &[Round], rating: &Rating) -> Option<f64> {
    let marked = rounds.iter().filter(|round| round.marked());
    let mut limits: Vec<f64> = marked.map(|round| rating.limit_us(round)).collect();
    let Some(last) = limits.len().checked_sub(1) else {
        return median(&mut rounds.iter().map(|round| rating.limit_us(round)).collect::<Vec<_>>());
    };
    let at = (last as f64 * 2.0 * LOW).ceil() as usize;
    Some(*limits.select_nth_unstable_by(at, f64::total_cmp).1)
}

/// How long the queue was where packets were lost: what waited behind them, the range at most.
///
/// Whether losses come at one height is asked of the largest delays: a full buffer is the largest.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// Packets.
    pub lost: u64,
    pub rounds: u32,
    pub low_us: Option<f64>,
    pub middle_us: Option<f64>,
    pub high_us: Option<f64>,
    /// Share of the packets that were lost where a queue stood.
    pub queued: Option<f64>,
}

impl Losses {
    pub fn of<'a>(rounds: impl Iterator<Item = &'a Round>) -> Losses {
        let mut found = Losses::default();
        let (mut tops, mut behind, mut queued) = (Vec::new(), Vec::new(), 0);
        for round in rounds.filter(|round| round.retransmits > 0) {
            let lost = u64::from(round.retransmits);
            found.lost += lost;
            found.rounds += 1;
            tops.extend(round.top_us.get());
            behind.extend(round.at_loss_us.get());
            queued += if round.at_loss_us.get().is_some_and(|us| us >= DEEP_US) { lost } else { 0 };
        }
        found.low_us = quantile(&mut tops, LOW);
        found.high_us = quantile(&mut tops, HIGH);
        found.middle_us = median(&mut behind);
        found.queued = (found.lost > 0).then(|| queued as f64 / found.lost as f64);
        found
    }
}

/// A whole direction, its start included.
#[derive(Clone, Debug, Default)]
pub struct Whole {
    /// Of rounds whose packets all waited beyond the border what they acknowledged, their marks, and how many
    /// had none.
    pub high_acked: u64,
    pub high_marks: i64,
    pub high_unmarked: u32,
    pub queue_max_us: Option<f64>,
    pub first_ns: i64,
    pub last_ns: i64,
    pub acked: u64,
    pub marks: i64,
    pub first_marking_us: Option<f64>,
    /// Rounds whose packets waited far beyond the border, without a mark.
    pub far_unmarked: u32,
}

pub fn whole(direction: &Directed, rating: &Rating) -> Whole {
    let rounds = &direction.rounds;
    let largest = |of: fn(&Round) -> Option<f64>| rounds.iter().filter_map(of).reduce(f64::max);
    let mut found = Whole {
        queue_max_us: largest(|round| round.queue_us.get()),
        first_marking_us: rounds.iter().filter_map(|round| round.marking_us.get()).reduce(f64::min),
        first_ns: rounds.iter().map(|round| round.start_ns).min().unwrap_or(0),
        last_ns: rounds.iter().map(|round| round.start_ns).max().unwrap_or(0),
        ..Whole::default()
    };
    for round in rounds {
        let above_us = rating.above_us(direction, round);
        found.acked += u64::from(round.acked_packets);
        found.marks += round.marks.unwrap_or(0);
        found.far_unmarked += u32::from(far_unmarked(direction, round, above_us));
        // For a delayed ACK one packet may seem to have waited.
        if round.acked_packets >= ANSWERED_AT_ONCE && above_us.is_some_and(|us| us > 0.0) {
            found.high_acked += u64::from(round.acked_packets);
            found.high_marks += round.marks.unwrap_or(0);
            found.high_unmarked += u32::from(round.marks.is_some_and(|marks| marks <= 0));
        }
    }
    found
}

/// What a flow waits at least may be a longer path of its own. Retransmissions leave without ECT (RFC 3168
/// section 6.1.5).
fn far_unmarked(direction: &Directed, round: &Round, above_us: Option<f64>) -> bool {
    let own = || Some(above_us? - (direction.floor_us? - direction.base_us?));
    direction.codepoint != Codepoint::NotEct
        && round.marks.is_some_and(|marks| marks <= 0)
        && round.acked_packets >= ANSWERED_AT_ONCE
        && round.retransmits == 0
        && own().is_some_and(|us| us > FAR_US)
}
