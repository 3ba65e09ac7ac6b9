//! Bursts as they left, and which of their packets were marked on the way: what a queue makes of its sender's bursts.

/// Packets that follow each other within this are one burst. By eye: a sender that paces waits longer below
/// 60 Mbit/s, and at higher rates a burst that is none shows marks on all its packets alike.
const APART_NS: i64 = 200_000;
/// A burst so long: two packets may leave at once (RFC 9002 section 7.7 allows ten), and a third waits for both.
const LONG: u32 = 3;

/// Bursts of at least three packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bursts {
    pub long: u64,
    /// Of their first two packets.
    pub heads_marked: u64,
    /// Third packets and later ones.
    pub tails: u64,
    pub tails_marked: u64,
    /// Frame near the sender of the first of `tails_marked`.
    pub first_frame: Option<u64>,
    place: u32,
    marked: u64,
    last_ns: i64,
}

impl Bursts {
    /// One packet in the order in which they left; one that is matched late is not counted.
    #[inline]
    pub fn add(&mut self, left_ns: i64, frame: u64, marked: bool) {
        let gap_ns = left_ns.saturating_sub(self.last_ns);
        if self.place > 0 && gap_ns < 0 {
            return;
        }
        if self.place == 0 || gap_ns > APART_NS {
            (self.place, self.marked) = (0, 0);
        }
        self.place = self.place.saturating_add(1);
        self.last_ns = left_ns;
        if self.place < LONG {
            self.marked += u64::from(marked);
            return;
        }
        if self.place == LONG {
            self.long += 1;
            self.heads_marked += self.marked;
        }
        self.tails += 1;
        if marked {
            self.tails_marked += 1;
            self.first_frame.get_or_insert(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(packets: &[(i64, bool)]) -> Bursts {
        let mut bursts = Bursts::default();
        for (&(us, marked), frame) in packets.iter().zip(1..) {
            bursts.add(us * 1000, frame, marked);
        }
        bursts
    }

    #[test]
    fn marks_are_counted_by_their_place_in_long_bursts() {
        let packets = [
            (0, false),
            (10, true), // a pair is no long burst
            (1000, true),
            (1010, false),
            (1020, true),
            (1030, true),
            (5000, false),
            (5100, false),
            (5200, false),
        ];
        let bursts = of(&packets);
        assert_eq!((bursts.long, bursts.heads_marked, bursts.tails, bursts.tails_marked), (2, 1, 3, 2));
        assert_eq!(bursts.first_frame, Some(5));
    }

    #[test]
    fn what_is_paced_or_late_is_no_burst() {
        let paced: Vec<_> = (0..50).map(|n| (n * 600, true)).collect();
        assert_eq!(of(&paced).long, 0);
        assert_eq!(of(&[(100, true), (110, true), (50, true)]).tails, 0);
        let mut edge = Bursts::default();
        [i64::MIN, i64::MAX, 0].into_iter().for_each(|ns| edge.add(ns, 1, true));
        assert_eq!(edge.tails, 0);
    }
}
