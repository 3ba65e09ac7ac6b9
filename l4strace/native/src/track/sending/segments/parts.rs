//! Retransmissions of parts of a segment that was captured as one super-packet.

use crate::track::sending::data::{Data, Patience};

/// Parts that are remembered: a second interface shows them at once.
const REMEMBERED: usize = 8;

/// The last parts, the oldest overwritten first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    last: [Option<Data>; REMEMBERED],
    at: usize,
}

impl Parts {
    pub fn remember(&mut self, data: &Data) {
        self.last[self.at] = Some(*data);
        self.at = (self.at + 1) % REMEMBERED;
    }

    /// When one of these held the bytes, so lately that they cannot be one more retransmission.
    pub fn hold(&self, data: &Data, patience: Patience) -> Option<i64> {
        let found = self.last.iter().flatten().find(|part| {
            let other = (part.start, part.end) == (data.start, data.end)
                && part.ip_id != 0
                && data.ip_id != 0
                && part.ip_id != data.ip_id;
            part.start <= data.start
                && data.end <= part.end
                && patience.covers(part.ts_ns, data.ts_ns)
                && !other
        });
        found.map(|part| part.ts_ns)
    }
}
