//! A second pass over a capture that was tracked: the same conversations by the same numbers.

use super::{FlowTable, Interned};
use crate::packet::Packet;

/// Finds conversations again by the frames at which tracking saw them begin, which packets alone do not
/// show for ports that were used again without a SYN. Those that tracking did not keep have no number.
#[derive(Default)]
pub struct Retrace {
    table: FlowTable,
    /// First frame and number, by frame.
    starts: Vec<(u64, u32)>,
    next: usize,
    /// Numbers by conversation of `table`.
    numbers: Vec<u32>,
}

impl Retrace {
    pub fn new(mut starts: Vec<(u64, u32)>) -> Self {
        starts.sort_unstable();
        Retrace { starts, ..Retrace::default() }
    }

    #[inline]
    pub fn place(&mut self, packet: &Packet) -> Option<Interned> {
        let at = match self.starts.get(self.next) {
            Some(&(frame, number)) if frame <= packet.frame => {
                self.next += 1;
                self.numbers.push(number);
                self.table.begin(packet)
            }
            _ => self.table.known(packet)?,
        };
        Some(Interned { flow: *self.numbers.get(at.flow as usize)?, ..at })
    }
}
