//! How two captures' clocks relate, from packets that both saw.

/// What travel times show about the offset of clock B against clock A: a packet cannot arrive before
/// it left, so each direction bounds the offset from one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Smallest B minus A of packets that travelled from A to B.
    pub outward_ns: Option<i64>,
    /// Smallest A minus B of packets that travelled from B to A.
    pub homeward_ns: Option<i64>,
}

/// Offset of clock B against clock A, and how far it may be off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    pub ns: i64,
    pub uncertainty_ns: Option<i64>,
}

impl Bounds {
    pub fn outward(&mut self, ns: i64) {
        self.outward_ns = Some(self.outward_ns.map_or(ns, |least| least.min(ns)));
    }

    pub fn homeward(&mut self, ns: i64) {
        self.homeward_ns = Some(self.homeward_ns.map_or(ns, |least| least.min(ns)));
    }

    /// 0 where the packets allow it: two clocks that may agree are taken to agree, because the two
    /// ways of a path are often unlike. Otherwise the middle of what is possible.
    pub fn offset(&self) -> Offset {
        match (self.outward_ns, self.homeward_ns) {
            (Some(out), Some(home)) => {
                let uncertainty_ns = Some(out.saturating_add(home).saturating_abs() / 2);
                let possible = out >= 0 && home >= 0;
                Offset { ns: if possible { 0 } else { out.saturating_sub(home) / 2 }, uncertainty_ns }
            }
            (Some(out), None) => Offset { ns: out.min(0), uncertainty_ns: None },
            (None, Some(home)) => Offset { ns: home.min(0).saturating_neg(), uncertainty_ns: None },
            (None, None) => Offset::default(),
        }
    }
}

/// The middle value; rough, for lining captures up before packets are matched.
pub fn median(mut values: Vec<i64>) -> Option<i64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_may_agree_agree() {
        let bounds = Bounds { outward_ns: Some(10_000_000), homeward_ns: Some(50_000) };
        assert_eq!(bounds.offset(), Offset { ns: 0, uncertainty_ns: Some(5_025_000) });
    }

    #[test]
    fn an_arrival_before_the_departure_shows_the_offset() {
        let bounds = Bounds { outward_ns: Some(-990), homeward_ns: Some(1010) };
        assert_eq!(bounds.offset(), Offset { ns: -1000, uncertainty_ns: Some(10) });
    }
}
