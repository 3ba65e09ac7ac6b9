//! How close marks come to what is not marked: a queue that decides packet by packet marks one of two that arrive
//! together, one that decides on a whole train never does.

use crate::packet::{ecn, Packet};

/// Gaps are told apart by their bits in microseconds; the last class has all from 2 s on.
const CLASSES: usize = 23;

/// Pairs of ECT packets, CE among them, that follow each other; from the first mark on.
#[derive(Clone, Debug, Default)]
pub struct Spacing {
    /// Of each class of gaps: pairs, and those of which one packet alone is CE. None without a mark.
    classes: Option<Box<[[u32; 2]; CLASSES]>>,
    last: Option<(i64, bool)>,
}

impl Spacing {
    pub fn add(&mut self, p: &Packet) {
        let marked = p.ip_ecn == ecn::CE;
        let before = self.last.take().filter(|_| p.ip_ecn != ecn::NOT_ECT);
        self.last = (p.ip_ecn != ecn::NOT_ECT).then_some((p.ts_ns, marked));
        if marked || self.classes.is_some() {
            self.count(p.ts_ns, marked, before);
        }
    }

    fn count(&mut self, ts_ns: i64, marked: bool, before: Option<(i64, bool)>) {
        let classes = self.classes.get_or_insert_default();
        let Some((last_ns, last_marked)) = before else { return };
        // A clock that runs back shows no gap.
        let Ok(gap_ns) = u64::try_from(ts_ns.saturating_sub(last_ns)) else { return };
        let bits = u64::BITS - (gap_ns / 1000).leading_zeros();
        let [pairs, turns] = &mut classes[(bits as usize).min(CLASSES - 1)];
        *pairs = pairs.saturating_add(1);
        *turns = turns.saturating_add(u32::from(marked != last_marked));
    }

    /// Of each class of gaps: pairs, and those of which one packet alone is CE.
    pub fn classes(&self) -> Option<&[[u32; 2]; CLASSES]> {
        self.classes.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(packets: &[(i64, u8)]) -> Option<[Vec<u32>; 2]> {
        let mut spacing = Spacing::default();
        for &(us, ip_ecn) in packets {
            spacing.add(&Packet { ts_ns: us * 1000, ip_ecn, ..Packet::default() });
        }
        let classes = spacing.classes()?;
        Some([0, 1].map(|n| classes.iter().map(|class| class[n]).collect()))
    }

    #[test]
    fn pairs_are_counted_by_their_gap_from_the_first_mark_on() {
        let packets = [(0, 1), (1, 1), (3, 3), (3, 3), (10, 1), (10_000_000, 1)];
        let [pairs, turns] = of(&packets).unwrap();
        assert_eq!((pairs.len(), turns.len()), (CLASSES, CLASSES));
        assert_eq!((&pairs[..4], pairs[CLASSES - 1]), ([1, 0, 1, 1].as_slice(), 1));
        assert_eq!((&turns[..4], turns[CLASSES - 1]), ([0, 0, 1, 1].as_slice(), 0));
    }

    #[test]
    fn without_a_mark_nothing_is_kept() {
        assert_eq!(of(&[(0, 1), (1, 1), (2, 0)]), None);
    }

    #[test]
    fn what_has_no_ect_and_a_clock_that_runs_back_make_no_pair() {
        let packets = [(0, 3), (1, 0), (2, 1), (1, 3), (i64::MAX / 1000, 3)];
        let [pairs, turns] = of(&packets).unwrap();
        assert_eq!((pairs.iter().sum::<u32>(), turns.iter().sum::<u32>()), (1, 0));
    }
}
