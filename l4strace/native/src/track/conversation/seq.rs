//! Sequence numbers unwrapped to 64 bit: 0 is the direction's first (its SYN where seen).

use crate::packet::Sack;

/// One direction's sequence space: a raw number and where it lies.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeqSpace {
    started: bool,
    raw: u32,
    at: i64,
}

impl SeqSpace {
    pub fn started(&self) -> bool {
        self.started
    }

    /// Places `raw` at `at`, unless the space is placed already.
    pub fn start(&mut self, raw: u32, at: i64) {
        if !self.started {
            *self = SeqSpace { started: true, raw, at };
        }
    }

    /// Where `raw` lies, taken as the nearest one to the highest number known.
    #[inline]
    pub fn unwrap(&self, raw: u32) -> i64 {
        self.at + i64::from(raw.wrapping_sub(self.raw) as i32)
    }

    /// Where SACK blocks lie.
    #[cold]
    pub fn blocks(&self, sack: &Sack) -> [(i64, i64); 4] {
        sack.blocks.map(|(left, right)| (self.unwrap(left), self.unwrap(right)))
    }

    /// `raw` lies less than `within` from the highest number, on either side.
    #[inline]
    pub fn is_near(&self, raw: u32, within: u32) -> bool {
        (raw.wrapping_sub(self.raw) as i32).unsigned_abs() < within
    }

    /// `raw` is the highest number.
    #[inline]
    pub fn stands_at(&self, raw: u32) -> bool {
        self.started && self.raw == raw
    }

    /// Where the highest number lies.
    #[inline]
    pub fn highest(&self) -> i64 {
        self.at
    }

    /// Moves the reference up, so that 2 GB on either side of it stay distinct.
    #[inline]
    pub fn advance(&mut self, raw: u32, at: i64) {
        if at > self.at {
            self.raw = raw;
            self.at = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_are_followed_many_times() {
        let mut space = SeqSpace::default();
        space.start(u32::MAX - 10, 0);
        let mut at = 0i64;
        for _ in 0..100 {
            at += 1 << 30;
            let raw = (u32::MAX - 10).wrapping_add(at as u32);
            assert_eq!(space.unwrap(raw), at);
            space.advance(raw, at);
        }
        assert_eq!(space.unwrap((u32::MAX - 10).wrapping_add((at - 5000) as u32)), at - 5000);
    }
}
