//! Memory that does not grow with the length of a conversation: beyond a number of rows, one row stands for several
//! rounds of a direction.
//!
//! What single rounds show (how a window follows its marks) needs rounds one after the other, and thousands of them,
//! not millions. So stretches of single rounds stay at even distances, what lies between them is put together, and
//! rounds of slow start, with retransmissions or a high RTT stay as they are, and so do those around them. Which rounds
//! these are depends on their numbers, not on when rows are thinned: a stretch that stays has always been whole.

use super::round::{CeRange, MarkedRtt, RoundRow, RttSummary};
use super::rows::Rows;

/// Rows of one direction from which they are thinned: 30 MB with the tables made of them.
pub const MOST_ROWS: u32 = 1 << 15;
/// Rounds that stay in one stretch: a few cycles of a window of 1,000 packets, or the 25 ms of two reductions at the
/// shortest RTTs.
const STRETCH: u32 = 256;
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

impl Rows {
    /// Puts rounds of a direction together until half of `most` rows are left, or little more; returns how many.
    #[cold]
    pub(super) fn thin(&mut self, flow: u32, forward: bool, most: u32) -> u32 {
        let left = self.put_together(flow, forward, most, PAUSE_NS);
        if left <= most - most / EVENTS {
            left
        } else {
            self.put_together(flow, forward, most, i64::MAX)
        }
    }

    fn put_together(&mut self, flow: u32, forward: bool, most: u32, pause_ns: i64) -> u32 {
        let mut places = self.places(|row| row.flow == flow && row.forward == forward);
        places.sort_unstable_by_key(|&place| self.row(place).round);
        let stays = stays(&places.iter().map(|&place| self.row(place)).collect::<Vec<_>>(), most);
        let scale = scale(self.rounds(&places), most);
        let mut left = 0;
        // The row that takes up those behind it, and the group that they have in common.
        let mut open: Option<(usize, u32)> = None;
        for (i, &place) in places.iter().enumerate() {
            let round = self.row(place).round;
            let group = (!stays[i] && round % (scale * STRETCH) >= STRETCH).then_some(round / scale);
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

/// Whether each row stays for what it shows, or for what one beside it does.
fn stays(rows: &[&RoundRow], most: u32) -> Vec<bool> {
    let highest = |row: &RoundRow| row.rtt.map(|rtt| rtt.max_us);
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
        self.sent_packets += next.sent_packets;
        self.sent_bytes += next.sent_bytes;
        self.ecn.iter_mut().zip(next.ecn).for_each(|(sum, more)| *sum += more);
        self.acked_packets += next.acked_packets;
        self.acked_bytes += next.acked_bytes;
        self.ce = self.ce.and(next.ce);
        self.ce_bytes = both(self.ce_bytes, next.ce_bytes, |a, b| a + b);
        self.ece_acks += next.ece_acks;
        self.rtt_jitter_us = both(self.rtt_jitter_us, next.rtt_jitter_us, |a, b| mean([a, b], samples));
        self.rtt = both(self.rtt, next.rtt, |a, b| a.and(b, samples));
        self.rtt_samples += next.rtt_samples;
        self.rtt_prompt_max_us = both(self.rtt_prompt_max_us, next.rtt_prompt_max_us, f64::max);
        self.marked_rtt = both(self.marked_rtt, next.marked_rtt, MarkedRtt::and);
        self.sacked_rtt_min_us = both(self.sacked_rtt_min_us, next.sacked_rtt_min_us, f64::min);
        self.sacked_rtt_max_us = both(self.sacked_rtt_max_us, next.sacked_rtt_max_us, f64::max);
        self.queue_delay_us = both(self.queue_delay_us, next.queue_delay_us, |a, b| mean([a, b], samples));
        self.inflight_max_bytes = self.inflight_max_bytes.max(next.inflight_max_bytes);
        self.inflight_max_packets = self.inflight_max_packets.max(next.inflight_max_packets);
        self.cwnd_packets = next.cwnd_packets;
        self.rwnd_bytes = both(self.rwnd_bytes, next.rwnd_bytes, u64::min);
        if lengths[1] > lengths[0] {
            self.limited_by = next.limited_by;
        }
        let ns = self.end_ns - self.start_ns;
        self.goodput_bps = (ns > 0).then(|| self.acked_bytes as f64 * 8e9 / ns as f64);
        self.train_bps = None;
        self.retransmits += next.retransmits;
        self.out_of_order += next.out_of_order;
        if next.burst_bytes > self.burst_bytes {
            (self.burst_bytes, self.burst_frame) = (next.burst_bytes, next.burst_frame);
        }
        self.slow_start &= next.slow_start;
        self.alphas.clone_from(&next.alphas);
        self.srtt_pace_us = next.srtt_pace_us;
        self.mdev_pace_us = next.mdev_pace_us;
        self.classic_ecn = next.classic_ecn;
        self.classic_ecn_buggy = next.classic_ecn_buggy;
        self.classic_ecn_bounds = next.classic_ecn_bounds;
        self.classic_ecn_buggy_bounds = next.classic_ecn_buggy_bounds;
    }
}

impl CeRange {
    fn and(self, next: CeRange) -> CeRange {
        CeRange { lo: self.lo + next.lo, hi: self.hi + next.hi, best: self.best + next.best }
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
mod tests {
    use super::*;

    const MOST: u32 = 4096;

    fn row(round: u32) -> RoundRow {
        let ns = i64::from(round) * 1000;
        let rtt = RttSummary { min_us: 10.0, mean_us: 11.0, max_us: 12.0, mdev_us: 0.5 };
        RoundRow {
            round,
            round_trips: 1,
            start_ns: ns,
            end_ns: ns + 1000,
            sent_packets: 10,
            acked_packets: 9,
            acked_bytes: 9000,
            ce: CeRange { lo: 0, hi: 2, best: 1 },
            rtt: Some(rtt),
            rtt_samples: 5,
            cwnd_packets: Some(f64::from(round)),
            ..RoundRow::default()
        }
    }

    /// Rows as they are after `rounds` rounds of one direction, thinned as often as they had to be.
    fn followed(rounds: u32, make: impl Fn(u32) -> RoundRow) -> Vec<RoundRow> {
        let mut rows = Rows::default();
        let mut kept = 0;
        for round in 0..rounds {
            rows.push(make(round));
            kept += 1;
            if kept == MOST {
                kept = rows.thin(0, false, MOST);
                assert!(kept <= MOST - MOST / 8, "{kept} rows are left");
            }
        }
        assert_eq!(rows.len(), kept as usize);
        let mut found: Vec<RoundRow> = rows.iter().cloned().collect();
        found.sort_by_key(|row| row.round);
        found
    }

    #[test]
    fn rows_stay_few_and_cover_every_round_once() {
        let found = followed(100 * MOST, row);
        assert!(found.len() < MOST as usize);
        let mut next = 0;
        for row in &found {
            assert_eq!(row.round, next);
            assert_eq!(
                (row.start_ns, row.end_ns),
                (i64::from(next) * 1000, i64::from(next + row.round_trips) * 1000)
            );
            assert_eq!(row.sent_packets, 10 * row.round_trips);
            assert_eq!(row.acked_bytes, 9000 * u64::from(row.round_trips));
            assert_eq!(row.ce, CeRange { lo: 0, hi: 2 * row.round_trips, best: row.round_trips });
            assert_eq!(row.rtt.map(|rtt| rtt.mean_us), Some(11.0));
            assert_eq!(row.goodput_bps.map_or(72e9, f64::round), 72e9);
            next += row.round_trips;
            assert_eq!(row.cwnd_packets, Some(f64::from(next - 1)));
        }
        assert_eq!(next, 100 * MOST);
    }

    #[test]
    fn stretches_of_single_rounds_stay_whole() {
        let found = followed(20 * MOST, row);
        let single: Vec<bool> = found.iter().map(|row| row.round_trips == 1).collect();
        let runs: Vec<usize> = single.split(|single| !single).map(<[bool]>::len).filter(|&n| n > 1).collect();
        assert!(runs.len() > 2, "{runs:?}");
        let short = runs.iter().filter(|&&n| n < STRETCH as usize).count();
        assert!(short <= 1, "only the newest may be short: {runs:?}");
        assert_eq!(found[..STRETCH as usize].iter().map(|row| row.round_trips).max(), Some(1));
    }

    #[test]
    fn rounds_around_an_event_stay() {
        let lost = 3 * MOST / 2 + 77;
        let found =
            followed(9 * MOST, |round| RoundRow { retransmits: u32::from(round == lost), ..row(round) });
        for round in lost - 2..=lost + 2 {
            let row = found.iter().find(|row| row.round == round).expect("a row of its own");
            assert_eq!((row.round_trips, row.retransmits), (1, u32::from(round == lost)));
        }
    }

    #[test]
    fn where_every_round_is_an_event_rows_are_thinned_all_the_same() {
        let found = followed(20 * MOST, |round| RoundRow { retransmits: 1, ..row(round) });
        assert!(found.len() < MOST as usize);
        assert_eq!(found.iter().map(|row| row.retransmits).sum::<u32>(), 20 * MOST);
    }

    #[test]
    fn rows_end_at_pauses_unless_all_do() {
        let pausing = |every: u32| {
            followed(20 * MOST, move |round| {
                let later = i64::from(round / every) * 2 * PAUSE_NS;
                let row = row(round);
                RoundRow { start_ns: row.start_ns + later, end_ns: row.end_ns + later, ..row }
            })
        };
        let longest = |rows: &[RoundRow]| rows.iter().map(|row| row.end_ns - row.start_ns).max().unwrap_or(0);
        assert!(longest(&pausing(1000)) < PAUSE_NS);
        assert!(longest(&pausing(1)) > PAUSE_NS);
    }

    #[test]
    fn rows_of_other_directions_are_left_alone() {
        let mut rows = Rows::default();
        for round in 0..MOST {
            rows.push(row(round));
            rows.push(RoundRow { forward: true, ..row(round) });
        }
        rows.thin(0, false, MOST);
        assert_eq!(rows.iter().filter(|row| row.forward).count(), MOST as usize);
        assert!(rows.iter().filter(|row| row.forward).all(|row| row.round_trips == 1));
    }
}
