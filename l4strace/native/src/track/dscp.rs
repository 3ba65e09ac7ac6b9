//! DiffServ codepoints of a direction: which one most packets have.

/// Codepoints that are told apart; a flow has one, or another one on its control packets.
const MOST: usize = 3;

#[derive(Clone, Copy, Debug, Default)]
pub struct Dscps {
    /// In the order of appearance. Beside each other, and not as pairs: every direction of every flow has them.
    seen: [u8; MOST],
    packets: [u32; MOST],
}

impl Dscps {
    #[inline]
    pub fn add(&mut self, dscp: u8) {
        let place = if self.seen[0] == dscp { Some(0) } else { self.another(dscp) };
        if let Some(place) = place {
            self.packets[place] = self.packets[place].saturating_add(1);
        }
    }

    /// Where a codepoint that is not the first is counted; none where all places are taken.
    #[cold]
    fn another(&mut self, dscp: u8) -> Option<usize> {
        let place = (0..MOST).find(|&n| self.seen[n] == dscp || self.packets[n] == 0)?;
        self.seen[place] = dscp;
        Some(place)
    }

    /// The codepoint of most packets, and how many have it; the first of several.
    pub fn most(&self) -> (u8, u64) {
        let more = |most, n| if self.packets[n] > self.packets[most] { n } else { most };
        let most = (1..MOST).fold(0, more);
        (self.seen[most], u64::from(self.packets[most]))
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
