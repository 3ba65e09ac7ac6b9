//! One flow direction between two captures: what left, what arrived, and what changed on the way.

use super::bursts::Bursts;
use super::histogram::Histogram;
use super::key::Sighting;
use crate::packet::ecn;

/// Counters of one row of the `paths` table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    pub flow: u32,
    pub forward: bool,
    pub near: u16,
    pub far: u16,
    pub matched: u64,
    pub lost: u64,
    pub appeared: u64,
    /// Of trains of datagrams that one capture shows as one, the first alone is compared: what is missing is not known.
    pub in_part: bool,
    /// `codepoints[near][far]`, as on the wire.
    pub codepoints: [[u64; 4]; 4],
    pub ace_changed: u64,
    pub option_stripped: u64,
    pub option_changed: u64,
    pub dscp_changed: u64,
    /// Frames near and far of the first codepoint change that is not a CE mark.
    pub first_change: Option<(u64, u64)>,
    /// Smallest far minus near, on the captures' own clocks.
    pub owd_min_ns: Option<i64>,
    /// Far minus near of all packets that are sure to be the same, and of those that were marked on the way.
    pub owd: Histogram,
    pub marked_owd: Histogram,
    pub bursts: Bursts,
    /// Smallest of `owd_min_ns` over all flows between the two captures: what delays are above.
    pub base_ns: Option<i64>,
    /// Clock of far minus clock of near.
    pub clock_offset_ns: i64,
}

/// RFC 3168 section 5: a router may mark ECT packets with CE, and nothing else.
pub fn is_mark(near: u8, far: u8) -> bool {
    far == ecn::CE && matches!(near, ecn::ECT0 | ecn::ECT1)
}

impl Path {
    /// One packet at both ends; where it is not `sure` to be the same, a difference is no change of the path.
    pub fn matched(&mut self, near: &Sighting, far: &Sighting, sure: bool) {
        self.matched += 1;
        let marked = is_mark(near.ecn, far.ecn);
        if sure || marked || near.ecn == far.ecn {
            self.codepoints[usize::from(near.ecn)][usize::from(far.ecn)] += 1;
        }
        if !sure {
            return;
        }
        self.ace_changed += u64::from(near.ace.zip(far.ace).is_some_and(|(left, arrived)| left != arrived));
        self.dscp_changed += u64::from(near.dscp != far.dscp);
        match (near.option, far.option) {
            (Some(_), None) => self.option_stripped += 1,
            (Some(left), Some(arrived)) => self.option_changed += u64::from(left != arrived),
            _ => {}
        }
        if near.ecn != far.ecn && !marked && self.first_change.is_none() {
            self.first_change = Some((near.frame, far.frame));
        }
    }

    /// The same packet's far minus near, where it is sure to be the same.
    pub fn delayed(&mut self, owd_ns: i64, marked: bool) {
        self.owd.add(owd_ns);
        if marked {
            self.marked_owd.add(owd_ns);
        }
        self.owd_min_ns = Some(self.owd_min_ns.map_or(owd_ns, |least| least.min(owd_ns)));
    }

    /// The delay that a `share` of the packets do not exceed, in microseconds above the base.
    pub fn above_us(&self, of: &Histogram, share: f64) -> Option<f64> {
        let base_ns = self.base_ns?;
        of.quantile_ns(share).map(|ns| (ns - base_ns).max(0) as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sighting(ecn: u8, frame: u64) -> Sighting {
        Sighting { frame, ts_ns: 0, ip_id: 0, ecn, ace: Some(0), dscp: 0, option: None }
    }

    #[test]
    fn a_mark_is_no_change_but_bleaching_is() {
        let mut path = Path::default();
        path.matched(&sighting(ecn::ECT1, 1), &sighting(ecn::CE, 11), true);
        assert_eq!(path.first_change, None);
        path.matched(&sighting(ecn::ECT1, 2), &sighting(ecn::NOT_ECT, 12), true);
        assert_eq!(path.first_change, Some((2, 12)));
        assert_eq!((path.codepoints[1][3], path.codepoints[1][0]), (1, 1));
    }

    #[test]
    fn an_ambiguous_pair_proves_no_change() {
        let mut path = Path::default();
        let left = Sighting { ace: Some(2), option: Some((172, 1)), ..sighting(ecn::ECT0, 1) };
        path.matched(&left, &sighting(ecn::NOT_ECT, 11), false);
        assert_eq!(path, Path { matched: 1, ..Path::default() });
        path.matched(&left, &sighting(ecn::CE, 12), false);
        assert_eq!((path.matched, path.codepoints[2][3]), (2, 1), "a mark is one, whichever packet has it");
    }

    #[test]
    fn parts_of_a_super_packet_do_not_show_its_ace() {
        let mut path = Path::default();
        let part = Sighting { ace: None, ..sighting(ecn::ECT0, 1) };
        path.matched(&part, &Sighting { ace: Some(2), ..part }, true);
        assert_eq!(path.ace_changed, 0);
        path.matched(&sighting(ecn::ECT0, 1), &Sighting { ace: Some(2), ..part }, true);
        assert_eq!(path.ace_changed, 1);
    }
}
