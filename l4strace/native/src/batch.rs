//! Packets on their way from decoding to who takes them: they stay where they were decoded.

use crate::packet::Packet;

/// Packets handed over together at most: to wake a thread takes as long as to follow some fifty.
pub const MOST: usize = 256;

/// Room for packets, filled from its front. The default has none: it stands for one that is elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    room: Box<[Packet]>,
    held: usize,
}

impl Batch {
    pub fn new() -> Self {
        Batch { room: vec![Packet::default(); MOST].into(), held: 0 }
    }

    /// Those that it holds.
    pub fn packets(&self) -> &[Packet] {
        &self.room[..self.held]
    }

    /// Where the next one is decoded, which counts once it is kept. Panics where the batch is full.
    #[inline(always)]
    pub fn place(&mut self) -> &mut Packet {
        &mut self.room[self.held]
    }

    #[inline(always)]
    pub fn keep(&mut self) {
        self.held += 1;
    }

    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.held == self.room.len()
    }

    pub fn clear(&mut self) {
        self.held = 0;
    }
}
