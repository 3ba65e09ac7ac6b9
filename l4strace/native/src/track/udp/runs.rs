//! Runs of datagrams with one codepoint: how a sender tries ECN out (RFC 9000 section 13.4.2), and gives it up.

use crate::packet::{ecn, Packet};

/// Runs that are kept, the first ones: a sender decides early.
const MOST: usize = 16;

/// Codepoints in the order of the datagrams; CE counts as the codepoint that it was set on, which those before or
/// after it have.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Codepoint and datagrams of each.
    first: Vec<(u8, u32)>,
    pub count: u32,
    codepoint: u8,
    /// Time and frame of the first Not-ECT datagram behind the last one with ECT, if any had ECT.
    since: Option<(i64, u64)>,
    pub without_ect: u64,
}

impl Runs {
    pub fn add(&mut self, p: &Packet) {
        let codepoint = self.as_sent(p.ip_ecn & 3);
        if self.count == 0 || codepoint != self.codepoint {
            self.begin(codepoint, p);
        }
        let run = self.count as usize - 1;
        if let Some((_, datagrams)) = self.first.get_mut(run) {
            *datagrams = datagrams.saturating_add(1);
        }
        self.without_ect += u64::from(codepoint == ecn::NOT_ECT);
    }

    fn as_sent(&mut self, arrived: u8) -> u8 {
        let here = self.count > 0;
        match (self.codepoint, arrived) {
            (ecn::ECT1 | ecn::ECT0, ecn::CE) if here => self.codepoint,
            // What was marked first shows only now how it was sent.
            (ecn::CE, ecn::ECT1 | ecn::ECT0) if here => {
                self.codepoint = arrived;
                if let Some(run) = self.first.get_mut(self.count as usize - 1) {
                    run.0 = arrived;
                }
                arrived
            }
            _ => arrived,
        }
    }

    #[cold]
    fn begin(&mut self, codepoint: u8, p: &Packet) {
        self.since = (self.count > 0 && codepoint == ecn::NOT_ECT).then_some((p.ts_ns, p.frame));
        self.without_ect = 0;
        self.codepoint = codepoint;
        if self.first.len() < MOST {
            self.first.push((codepoint, 0));
        }
        self.count = self.count.saturating_add(1);
    }

    /// Codepoint and length of each of the first runs, one behind the other.
    pub fn first(&self) -> impl Iterator<Item = u32> + '_ {
        self.first.iter().flat_map(|&(codepoint, datagrams)| [u32::from(codepoint), datagrams])
    }

    /// Since when no datagram has ECT any more; `shift_ns` is subtracted.
    pub fn given_up(&self, shift_ns: i64) -> Option<(i64, u64)> {
        self.since.map(|(ns, frame)| (ns.saturating_sub(shift_ns), frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(codepoints: &[(u8, usize)]) -> Runs {
        let mut runs = Runs::default();
        let each = codepoints.iter().flat_map(|&(ip_ecn, n)| std::iter::repeat_n(ip_ecn, n));
        for (ip_ecn, frame) in each.zip(1..) {
            runs.add(&Packet { ip_ecn, frame, ts_ns: frame as i64 * 10, ..Packet::default() });
        }
        runs
    }

    #[test]
    fn a_validation_that_fails_ends_without_ect() {
        let runs = of(&[(0, 2), (2, 10), (0, 300)]);
        assert_eq!(runs.first().collect::<Vec<_>>(), [0, 2, 2, 10, 0, 300]);
        assert_eq!((runs.count, runs.without_ect, runs.given_up(5)), (3, 300, Some((125, 13))));
        let passed = of(&[(0, 2), (2, 10), (0, 23), (2, 300)]);
        assert_eq!((passed.count, passed.without_ect, passed.given_up(0)), (4, 0, None));
        assert_eq!(of(&[(0, 9)]).given_up(0), None, "nothing was given up");
    }

    #[test]
    fn a_mark_is_no_other_run() {
        assert_eq!(of(&[(3, 2), (1, 4), (3, 1), (1, 5)]).first().collect::<Vec<_>>(), [1, 12]);
        assert_eq!(of(&[(0, 1), (3, 2), (0, 1)]).first().collect::<Vec<_>>(), [0, 1, 3, 2, 0, 1]);
    }

    #[test]
    fn however_many_there_are_the_first_are_kept() {
        let many: Vec<_> = (0..5000).map(|n| (n as u8 % 2, 1)).collect();
        let runs = of(&many);
        assert_eq!((runs.first().count(), runs.count), (2 * MOST, 5000));
    }
}
