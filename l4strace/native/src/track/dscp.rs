//! DiffServ codepoints of a direction: which one most packets have.

/// Codepoints that are told apart; a flow has one, or another one on its control packets.
const MOST: usize = 3;

#[derive(Clone, Copy, Debug, Default)]
pub struct Dscps {
    /// Codepoint and packets of each, in the order of appearance.
    seen: [(u8, u32); MOST],
}

impl Dscps {
    #[inline]
    pub fn add(&mut self, dscp: u8) {
        let (first, packets) = &mut self.seen[0];
        if *first == dscp {
            *packets = packets.saturating_add(1);
        } else {
            self.another(dscp);
        }
    }

    #[cold]
    fn another(&mut self, dscp: u8) {
        let place = self.seen.iter_mut().find(|(known, packets)| *known == dscp || *packets == 0);
        if let Some((known, packets)) = place {
            *known = dscp;
            *packets = packets.saturating_add(1);
        }
    }

    /// The codepoint of most packets, and how many have it.
    pub fn most(&self) -> (u8, u64) {
        let [first, others @ ..] = self.seen;
        let most = others.into_iter().fold(first, |most, one| if one.1 > most.1 { one } else { most });
        (most.0, u64::from(most.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_packets_decide_whichever_came_first() {
        let mut dscps = Dscps::default();
        assert_eq!(dscps.most(), (0, 0));
        for dscp in [48, 45, 45, 45, 0, 7, 8, 9, 45] {
            dscps.add(dscp);
        }
        assert_eq!(dscps.most(), (45, 4));
    }
}
