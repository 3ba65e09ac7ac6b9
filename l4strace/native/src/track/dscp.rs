//! DiffServ codepoints of a direction: which one most packets have.

/// Codepoints that are told apart; a flow has one, or another one on its control packets.
const MOST: usize = 3;

/// Those of a direction: all of its packets that are not counted here have the first one.
#[derive(Clone, Copy, Debug)]
pub struct Dscps {
    /// In the order of appearance. Beside their counts, and not as pairs: every direction of every flow has them.
    seen: [u8; MOST],
    /// Packets that have another than the first: by codepoint, and those for which there was no place.
    others: [u32; MOST],
}

/// No codepoint: they have six bits.
const NONE: u8 = u8::MAX;

impl Default for Dscps {
    fn default() -> Self {
        Dscps { seen: [NONE; MOST], others: [0; MOST] }
    }
}

impl Dscps {
    #[inline(always)]
    pub fn add(&mut self, dscp: u8) {
        if self.seen[0] != dscp {
            self.another(dscp);
        }
    }

    #[cold]
    fn another(&mut self, dscp: u8) {
        let place = self.seen.iter().position(|&seen| seen == dscp || seen == NONE);
        if let Some(place) = place {
            self.seen[place] = dscp;
        }
        if place != Some(0) {
            let others = &mut self.others[place.unwrap_or(0)];
            *others = others.saturating_add(1);
        }
    }

    /// The codepoint of most of so many packets, and how many have it; the first of several.
    pub fn most(&self, packets: u64) -> (u8, u64) {
        if self.seen[0] == NONE {
            return (0, 0);
        }
        let others = self.others.map(u64::from);
        let count = |n: usize| if n == 0 { packets.saturating_sub(others.iter().sum()) } else { others[n] };
        let most = (1..MOST).fold(0, |most, n| if count(n) > count(most) { n } else { most });
        (self.seen[most], count(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_packets_decide_whichever_came_first() {
        let mut dscps = Dscps::default();
        assert_eq!(dscps.most(0), (0, 0));
        for dscp in [48, 45, 45, 45, 0, 7, 8, 9, 45] {
            dscps.add(dscp);
        }
        assert_eq!(dscps.most(9), (45, 4));
        [48; 4].into_iter().for_each(|dscp| dscps.add(dscp));
        assert_eq!(dscps.most(13), (48, 5));
    }
}
