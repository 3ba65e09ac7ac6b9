//! Memory that does not grow with the length of conversations, nor with their rounds together: beyond a number of rows,
//! one row stands for several rounds of a direction.
//!
//! What single rounds show (how a window follows its marks) needs rounds one after the other, and thousands of them,
//! not millions. So stretches of single rounds stay at even distances, what lies between them is put together, and
//! rounds of slow start, with retransmissions or a high RTT stay as they are, and so do those around them. Which rounds
//! these are depends on their numbers, not on when rows are thinned: a stretch that stays has always been whole.
//!
//! Limits hold for a direction and for a capture.

use super::round::{CeRange, Marked, MarkedRtt, Rare, RoundRow, RttSummary};
use super::rows::{Of, Rows};
use crate::maybe::Maybe;
use crate::track::Tracker;

/// Rows of one direction from which they are thinned: 30 MB with the tables made of them.
pub const MOST_ROWS: u32 = 1 << 15;
/// Rows of a capture: a diagnosis with three quarters of them took 1.3 GB.
pub const ALL_ROWS: usize = 32 * MOST_ROWS as usize;
/// Rows that every direction may have, however many there are.
const LEAST_ROWS: u32 = 512;
/// Rounds that stay in one stretch: a few cycles of a window of 1,000 packets, or the 25 ms of two reductions at the
/// shortest RTTs.
const STRETCH: u32 = 256;
/// Stretches that stay at least, however short that makes them.
const STRETCHES: u32 = 4;
/// Rounds before and after one that stays.
const AROUND: usize = 2;
/// Part of the rows that may stay for what they show (an eighth): where more do, none does.
const EVENTS: u32 = 8;
/// A pause of the sender that rows end at, unless there are too many: as long as the shortest slot of `derive.capacity`.
const PAUSE_NS: i64 = 100_000_000;
/// An RTT as a multiple of the mean of all rounds that is high.
const HIGH: f64 = 2.0;
/// The last rows, which the next packets may still change.
const OPEN: usize = 2;

impl Tracker {
    /// Thins the longest directions until all have three quarters of the rows that they may have together, or more
    /// where there are very many of them.
    #[cold]
    pub(in crate::track) fn thin(&mut self) {
        self.thin_to(ALL_ROWS);
    }

    fn thin_to(&mut self, most: usize) {
        for ((flow, forward), left) in self.rounds.fit(most - most / 4) {
            let side = usize::from(!forward);
            if let Some(sender) = self.flows[flow as usize].dirs[side].sender.as_mut() {
                sender.rows = left;
            }
        }
        // Not at once again where that left many.
        self.thin_at = most.max(self.rounds.len() + self.rounds.len() / 4);
    }
}

impl Rows {
    /// Puts rounds of a direction together until half of `most` rows are left, or little more; returns how many.
    #[cold]
    pub(in crate::track) fn thin(&mut self, flow: u32, forward: bool, most: u32) -> u32 {
        let of = self.placed().filter(|(_, row)| row.flow == flow && row.forward == forward);
        let mut places: Vec<_> = of.map(|(place, _)| place).collect();
        places.sort_unstable_by_key(|&place| self.row(place).round);
        self.thinned(&places, most)
    }

    /// Thins the longest directions until at most `most` rows are left of all; returns what is left of those.
    pub(in crate::track) fn fit(&mut self, most: usize) -> Vec<(Of, u32)> {
        let directions = self.by_direction();
        let lengths: Vec<usize> = directions.values().map(Vec::len).collect();
        let each = each(&lengths, most);
        let long = directions.into_iter().filter(|(_, places)| places.len() >= each as usize);
        long.map(|(of, places)| (of, self.thinned(&places, each))).collect()
    }

    /// The same of rows at these places, in the order of their rounds.
    fn thinned(&mut self, places: &[(u32, u32)], most: u32) -> u32 {
        let left = self.put_together(places, most, PAUSE_NS);
        if left <= most - most / EVENTS {
            return left;
        }
        let places: Vec<_> =
            places.iter().copied().filter(|&place| self.row(place).round_trips > 0).collect();
        self.put_together(&places, most, i64::MAX)
    }

    fn put_together(&mut self, places: &[(u32, u32)], most: u32, pause_ns: i64) -> u32 {
        let stays = stays(&places.iter().map(|&place| self.row(place)).collect::<Vec<_>>(), most);
        let (scale, stretch) = (scale(self.rounds(places), most), stretch(most));
        let mut left = 0;
        // The row that takes up those behind it, and the group that they have in common.
        let mut open: Option<(usize, u32)> = None;
        for (i, &place) in places.iter().enumerate() {
            let round = self.row(place).round;
            let group = (!stays[i] && round % (scale * stretch) >= stretch).then_some(round / scale);
            match open.zip(group) {
                Some(((first, of), group)) if of == group && self.goes_on(places[first], place, pause_ns) => {
                    let row = self.take(place);
                    self.row_mut(places[first]).absorb(&row);
                }
                _ => {
                    open = group.map(|group| (i, group));
                    left += 1;
                }
            }
        }
        left
    }

    /// The sender did not pause between two rows: together they would seem slower than either is.
    fn goes_on(&self, before: (u32, u32), next: (u32, u32), pause_ns: i64) -> bool {
        let [before, next] = [before, next].map(|place| self.row(place));
        next.start_ns - before.end_ns <= pause_ns.max(next.end_ns - next.start_ns)
    }

    /// Rounds that rows at these places, in their order, stand for.
    fn rounds(&self, places: &[(u32, u32)]) -> u32 {
        places.last().map_or(0, |&last| self.row(last).round + self.row(last).round_trips)
    }
}

/// Of rounds, every so manieth stretch stays, and so many of the others become one row: the smallest power of two that
/// leaves half of `most`.
fn scale(rounds: u32, most: u32) -> u32 {
    rounds.div_ceil(most / 4).next_power_of_two()
}

/// Rounds that stay in one stretch; stretches of a smaller `most` lie within those of a larger one.
fn stretch(most: u32) -> u32 {
    STRETCH.min(most / (4 * STRETCHES))
}

/// From how many rows on directions of these lengths are thinned for `most` rows to be left of all: the largest power
/// of two by which that many are, where one is large enough.
fn each(lengths: &[usize], most: usize) -> u32 {
    let left = |each: u32| {
        let each = each as usize;
        lengths
            .iter()
            .map(|&rows| if rows >= each { rows.min(each - each / EVENTS as usize) } else { rows })
            .sum::<usize>()
    };
    let mut each = MOST_ROWS;
    while each > LEAST_ROWS && left(each) > most {
        each /= 2;
    }
    each
}

/// Whether each row stays for what it shows, or for what one beside it does.
fn stays(rows: &[&RoundRow], most: u32) -> Vec<bool> {
    let highest = |row: &RoundRow| row.rtt().map(|rtt| rtt.max_us);
    let known: Vec<f64> = rows.iter().filter_map(|row| highest(row)).collect();
    let high_us = HIGH * known.iter().sum::<f64>() / known.len().max(1) as f64;
    let event =
        |row: &RoundRow| row.retransmits > 0 || row.slow_start || highest(row).is_some_and(|us| us > high_us);
    let mut stays = vec![false; rows.len()];
    for (i, _) in rows.iter().enumerate().filter(|(_, row)| event(row)) {
        stays[i.saturating_sub(AROUND)..(i + AROUND + 1).min(rows.len())].fill(true);
    }
    if stays.iter().filter(|stays| **stays).count() > (most / EVENTS) as usize {
        stays.fill(false);
    }
    let open = rows.len().saturating_sub(OPEN);
    stays[open..].fill(true);
    stays
}

impl RoundRow {
    /// Takes up the rounds that follow: sums and extremes of both, means by samples, of what goes on (window,
    /// alpha, score) the last. No train: the fastest of many is no sample of them.
    fn absorb(&mut self, next: &RoundRow) {
        let lengths = [&*self, next].map(|row| row.end_ns - row.start_ns);
        let samples = [self.rtt_samples, next.rtt_samples].map(f64::from);
        self.round_trips += next.round_trips;
        self.end_ns = next.end_ns;
        self.last_frame = self.last_frame.max(next.last_frame);
        self.sent_bytes += next.sent_bytes;
        self.ecn.iter_mut().zip(next.ecn).for_each(|(sum, more)| *sum += more);
        // What feedback over UDP counts, anybody may have made up.
        self.acked_packets = self.acked_packets.saturating_add(next.acked_packets);
        self.acked_bytes += next.acked_bytes;
        self.ce_bytes = of_both(self.ce_bytes, next.ce_bytes, |a, b| a + b);
        self.ece_acks += next.ece_acks;
        self.rtt_jitter_us = of_both(self.rtt_jitter_us, next.rtt_jitter_us, |a, b| mean([a, b], samples));
        self.rtts = both(self.rtt(), next.rtt(), |a, b| a.and(b, samples)).unwrap_or_default();
        self.rtt_samples += next.rtt_samples;
        self.rtt_prompt_max_us = of_both(self.rtt_prompt_max_us, next.rtt_prompt_max_us, f64::max);
        self.queue_delay_us = of_both(self.queue_delay_us, next.queue_delay_us, |a, b| mean([a, b], samples));
        self.inflight_max_bytes = self.inflight_max_bytes.max(next.inflight_max_bytes);
        self.inflight_max_packets = self.inflight_max_packets.max(next.inflight_max_packets);
        self.cwnd_packets = next.cwnd_packets;
        self.rwnd_bytes = both(self.rwnd_bytes, next.rwnd_bytes, u32::min);
        if lengths[1] > lengths[0] {
            self.limited_by = next.limited_by;
        }
        self.train_bps = Maybe::default();
        self.retransmits = self.retransmits.saturating_add(next.retransmits);
        self.out_of_order += next.out_of_order;
        if next.burst_bytes > self.burst_bytes {
            (self.burst_bytes, self.burst_frame) = (next.burst_bytes, next.burst_frame);
        }
        self.slow_start &= next.slow_start;
        self.srtt_pace_us = next.srtt_pace_us;
        self.mdev_pace_us = next.mdev_pace_us;
        self.marked = Marked { ce: self.marked.ce.and(next.marked.ce), ..next.marked };
        if self.rare.is_some() || next.rare.is_some() {
            self.rare = Some(Box::new(self.rare().and(next.rare())));
        }
    }
}

impl Rare {
    fn and(self, next: Rare) -> Rare {
        Rare {
            marked_rtt: both(self.marked_rtt, next.marked_rtt, MarkedRtt::and),
            sacked_rtt_min_us: of_both(self.sacked_rtt_min_us, next.sacked_rtt_min_us, f64::min),
            sacked_rtt_max_us: of_both(self.sacked_rtt_max_us, next.sacked_rtt_max_us, f64::max),
            controlled: next.controlled,
        }
    }
}

impl CeRange {
    fn and(self, next: CeRange) -> CeRange {
        CeRange {
            lo: self.lo.saturating_add(next.lo),
            hi: self.hi.saturating_add(next.hi),
            best: self.best.saturating_add(next.best),
        }
    }
}

impl RttSummary {
    fn and(self, next: RttSummary, samples: [f64; 2]) -> RttSummary {
        RttSummary {
            min_us: self.min_us.min(next.min_us),
            mean_us: mean([self.mean_us, next.mean_us], samples),
            max_us: self.max_us.max(next.max_us),
            mdev_us: mean([self.mdev_us, next.mdev_us], samples),
        }
    }
}

impl MarkedRtt {
    fn and(self, next: MarkedRtt) -> MarkedRtt {
        let samples = [self.samples, next.samples];
        MarkedRtt {
            min_us: self.min_us.min(next.min_us),
            mean_us: mean([self.mean_us, next.mean_us], samples.map(f64::from)),
            samples: self.samples + next.samples,
        }
    }
}

/// Of two values that may be missing, both together or the one that is there.
fn both<T>(one: Option<T>, other: Option<T>, of: impl Fn(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(of(one, other)),
        (one, other) => one.or(other),
    }
}

fn of_both(one: Maybe, other: Maybe, of: impl Fn(f64, f64) -> f64) -> Maybe {
    both(one.get(), other.get(), of).into()
}

/// Mean of two values that stand for so many samples each.
fn mean(values: [f64; 2], samples: [f64; 2]) -> f64 {
    let all = samples[0] + samples[1];
    if all > 0.0 {
        (values[0] * samples[0] + values[1] * samples[1]) / all
    } else {
        (values[0] + values[1]) / 2.0
    }
}

#[cfg(test)]
mod tests;
