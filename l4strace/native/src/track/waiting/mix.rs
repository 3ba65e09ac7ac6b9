//! Whether the conversations that take turns are more than a cache holds: only then does it pay to hold their
//! packets back. Conversations that are over, or have not begun, do not count.

/// As many conversations stay in a second-level cache by themselves.
pub const CACHED: usize = 128;

/// Packets from one decision to the next.
const LOOK: usize = 1024;
/// Packets to every conversation that has to be fetched, below which it pays.
const EACH: usize = 8;

/// A model of a cache of conversations.
pub struct Mix {
    /// Those that are in it, each by the last bits of its number.
    cached: Vec<u32>,
    packets: usize,
    /// Conversations fetched for these packets.
    fetched: usize,
    /// As decided for now.
    pub is_wide: bool,
}

impl Mix {
    /// A cache of so many conversations, a power of two.
    pub fn new(conversations: usize) -> Self {
        Mix { cached: vec![u32::MAX; conversations], packets: 0, fetched: 0, is_wide: false }
    }

    /// Of so many packets that come next, those for which the decision holds: it depends on the packets alone,
    /// not on how many come at once.
    #[inline]
    pub fn look(&mut self, packets: usize) -> usize {
        if self.packets == LOOK {
            self.is_wide = LOOK < EACH * self.fetched;
            (self.packets, self.fetched) = (0, 0);
        }
        let now = packets.min(LOOK - self.packets);
        self.packets += now;
        now
    }

    /// A packet of this conversation comes.
    #[inline]
    pub fn turn(&mut self, flow: u32) {
        let at = flow as usize & (self.cached.len() - 1);
        if std::mem::replace(&mut self.cached[at], flow) != flow {
            self.fetched += 1;
        }
    }
}

impl Default for Mix {
    fn default() -> Self {
        Mix::new(CACHED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of conversations in this order, again and again.
    fn goes(mix: &mut Mix, flows: impl Iterator<Item = u32> + Clone) {
        flows.cycle().take(4 * LOOK).for_each(|flow| {
            mix.look(1);
            mix.turn(flow);
        });
    }

    #[test]
    fn conversations_that_take_turns_and_are_many_are_wide() {
        let mut mix = Mix::new(16);
        goes(&mut mix, 0..16);
        assert!(!mix.is_wide, "they fit");
        goes(&mut mix, 0..160);
        assert!(mix.is_wide);
        goes(&mut mix, 0..4);
        assert!(!mix.is_wide, "the others are over");
        goes(&mut mix, (0..1000).flat_map(|flow| [flow; 20]));
        assert!(!mix.is_wide, "one after the other");
    }
}
