//! Whether a sender slows down where marks leave no doubt, whatever its law: most packets of one period after the
//! other are CE.
//!
//! A period is the longer of a round and 25 ms, in which Prague, DCTCP and their like over UDP reduce once. The
//! gentlest of them has alpha at 0 when the marks begin (gain 1/16), gives up alpha/2 and grows by a packet each
//! period. Once that has halved its rate, others have given up more: the rate from then on is compared with
//! the rate until then.

use super::rounds::{Direction, Rounds};
use crate::prague::build::{SHIFT_G, TARGET_RTT_US};

const PERIOD_NS: i64 = TARGET_RTT_US as i64 * 1000;

/// What the gentlest law has left of the rate when marks have asked for enough.
const ASKED: f64 = 0.5;

/// Packets of a window below which no sender goes (RFC 9331 section 4.3, prague_cc.cpp).
const LEAST_WINDOW: f64 = 2.0;

/// What one direction sent while most of it arrived as CE.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressed {
    pub of: usize,
    pub first_ns: i64,
    /// When marks had asked for half of the rate.
    pub asked_ns: i64,
    pub last_ns: i64,
    pub acked: u64,
    pub ce: u64,
    /// Payload sent a second until then, and from then on.
    pub before_bps: f64,
    pub after_bps: f64,
}

/// The longest such stretch of each direction whose marks asked for half of the rate, for as long again.
pub fn pressed(rounds: &Rounds<'_>, directions: &[Direction], fed_back: &[bool]) -> Vec<Pressed> {
    let wanted = directions.iter().enumerate().filter(|(of, _)| fed_back[*of]);
    wanted.filter_map(|(of, direction)| longest(rounds, of, direction)).collect()
}

fn longest(rounds: &Rounds<'_>, of: usize, direction: &Direction) -> Option<Pressed> {
    let (mut period, mut stretch) = (Period::default(), Stretch::default());
    let mut found: Option<Pressed> = None;
    let mut end = |stretch: &mut Stretch| {
        if let Some(one) = std::mem::take(stretch).judged(of) {
            if found.is_none_or(|most| most.last_ns - most.first_ns < one.last_ns - one.first_ns) {
                found = Some(one);
            }
        }
    };
    for row in direction.rows.clone() {
        if rounds.start_ns.or_zero(row).saturating_sub(period.end_ns) > PERIOD_NS {
            end(&mut stretch);
            period = Period::default();
        }
        period.add(rounds, row);
        if period.length_ns() < PERIOD_NS {
            continue;
        }
        let whole = std::mem::take(&mut period);
        period.end_ns = whole.end_ns;
        if whole.is_mostly_marked() {
            stretch.add(&whole);
        } else {
            end(&mut stretch);
        }
    }
    end(&mut stretch);
    found
}

/// Rounds that together last long enough for one reduction.
#[derive(Clone, Copy, Debug, Default)]
struct Period {
    start_ns: Option<i64>,
    end_ns: i64,
    sent_packets: u64,
    sent_bytes: u64,
    acked: u64,
    ce: u64,
}

impl Period {
    fn add(&mut self, rounds: &Rounds<'_>, row: usize) {
        self.start_ns = self.start_ns.or(rounds.start_ns.get(row));
        self.end_ns = rounds.end_ns.or_zero(row);
        self.sent_packets += u64::from(rounds.sent_packets.or_zero(row));
        self.sent_bytes += rounds.sent_bytes.or_zero(row);
        self.acked += u64::from(rounds.acked_packets.or_zero(row));
        self.ce += u64::from(rounds.ce_best.or_zero(row));
    }

    fn length_ns(&self) -> i64 {
        self.start_ns.map_or(0, |start_ns| self.end_ns.saturating_sub(start_ns))
    }

    fn is_mostly_marked(&self) -> bool {
        2 * self.ce > self.acked
    }
}

/// Periods of most packets CE, one after the other.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    found: Pressed,
    alpha: f64,
    /// Packets a period: of the first one, and what the gentlest law has left.
    began: f64,
    left: f64,
    before: Sent,
    after: Sent,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    bytes: u64,
    ns: i64,
}

impl Sent {
    fn add(&mut self, period: &Period) {
        self.bytes += period.sent_bytes;
        self.ns = self.ns.saturating_add(period.length_ns());
    }

    fn bps(self) -> f64 {
        self.bytes as f64 * 8e9 / self.ns.max(1) as f64
    }
}

impl Stretch {
    fn add(&mut self, period: &Period) {
        let sent = period.sent_packets as f64;
        // While the sender still grows, its first marks are too new to ask for anything.
        if !self.is_asked() && sent > self.began {
            *self = Stretch { began: sent, left: sent, ..Stretch::default() };
            self.found.first_ns = period.start_ns.unwrap_or_default();
        }
        (self.found.acked, self.found.ce) = (self.found.acked + period.acked, self.found.ce + period.ce);
        self.found.last_ns = period.end_ns;
        if self.is_asked() {
            self.after.add(period);
            return;
        }
        self.before.add(period);
        self.found.asked_ns = period.end_ns;
        let share = (period.ce as f64 / period.acked.max(1) as f64).min(1.0);
        self.alpha += (share - self.alpha) / f64::from(1 << SHIFT_G);
        self.left = (self.left * (1.0 - self.alpha / 2.0) + 1.0).max(LEAST_WINDOW);
    }

    fn is_asked(&self) -> bool {
        self.before.ns > 0 && self.left <= ASKED * self.began
    }

    fn judged(self, of: usize) -> Option<Pressed> {
        let enough = self.before.ns > 0 && self.after.ns >= self.before.ns;
        let (before_bps, after_bps) = (self.before.bps(), self.after.bps());
        enough.then_some(Pressed { of, before_bps, after_bps, ..self.found })
    }
}

#[cfg(test)]
mod tests {
    use super::{pressed, Direction, Pressed, Rounds};
    use crate::measure::Column;

    const ROUND_NS: i64 = 10_000_000;

    /// Rounds of 10 ms, each with so many packets sent and marked; gaps before some.
    fn found(sent: &[u32], ce: &[u32], gaps_ns: &[i64]) -> Option<Pressed> {
        let mut at = 0;
        let starts: Vec<i64> = (0..sent.len())
            .map(|n| {
                at += ROUND_NS + gaps_ns.get(n).copied().unwrap_or(0);
                at
            })
            .collect();
        let ends: Vec<i64> = starts.iter().map(|ns| ns + ROUND_NS).collect();
        let bytes: Vec<u64> = sent.iter().map(|packets| 1000 * u64::from(*packets)).collect();
        let rounds = Rounds {
            start_ns: Column::new(&starts, None),
            end_ns: Column::new(&ends, None),
            sent_packets: Column::new(sent, None),
            sent_bytes: Column::new(&bytes, None),
            acked_packets: Column::new(sent, None),
            ce_best: Column::new(ce, None),
            ..Rounds::default()
        };
        let direction = Direction { rows: 0..sent.len(), ..Direction::default() };
        pressed(&rounds, &[direction], &[true]).pop()
    }

    #[test]
    fn a_rate_that_goes_on_is_compared_with_what_it_was() {
        let one = found(&[20; 100], &[15; 100], &[]).unwrap();
        assert_eq!((one.before_bps, one.after_bps), (16e6, 16e6));
        assert_eq!((one.acked, one.ce), (1980, 1485), "33 periods of three rounds");
        // Alpha reaches 0.36 in nine periods of 30 ms: what is left of 60 packets is 30.
        assert_eq!((one.asked_ns - one.first_ns) / 1_000_000, 270);
    }

    #[test]
    fn a_sender_that_follows_the_gentlest_law_has_half_or_less() {
        let (mut window, mut alpha, mut sent) = (60.0, 0.0, Vec::new());
        for _ in 0..40 {
            sent.extend([window as u32; 3]);
            alpha += (0.75 - alpha) / 16.0;
            window = window * (1.0 - alpha / 2.0) + 1.0;
        }
        let ce: Vec<u32> = sent.iter().map(|packets| packets - packets / 4).collect();
        let one = found(&sent, &ce, &[]).unwrap();
        assert!(one.after_bps < 0.6 * one.before_bps, "{one:?}");
    }

    #[test]
    fn marks_on_few_packets_or_for_a_moment_ask_for_less() {
        assert_eq!(found(&[20; 100], &[10; 100], &[]), None, "half is not most");
        assert_eq!(found(&[20; 50], &[15; 50], &[]), None, "the time after it is shorter than that before");
    }

    #[test]
    fn a_rate_that_grows_under_marks_is_judged_once_it_no_longer_grows() {
        let mut sent = vec![5; 20];
        sent.extend([20; 100]);
        let ce: Vec<u32> = sent.iter().map(|packets| packets - packets / 4).collect();
        let one = found(&sent, &ce, &[]).unwrap();
        assert_eq!(one.after_bps, 16e6);
        assert!(one.first_ns >= 20 * ROUND_NS);
    }

    #[test]
    fn a_pause_ends_the_stretch() {
        let mut gaps = [0; 100];
        gaps[50] = 1_000_000_000;
        assert_eq!(found(&[20; 100], &[15; 100], &gaps), None);
    }

    #[test]
    fn of_a_few_packets_nobody_can_give_up_half() {
        assert_eq!(found(&[1; 400], &[1; 400], &[]), None);
    }
}
