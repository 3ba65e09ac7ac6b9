//! Retransmissions of parts of a segment that was captured as one super-packet.

use crate::track::sending::data::{is_recent, Data};

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

    /// One of these holds the bytes, and was so lately that they cannot be one more retransmission.
    pub fn hold(&self, data: &Data, patience_ns: i64) -> bool {
        self.last.iter().flatten().any(|part| {
            let other = (part.start, part.end) == (data.start, data.end)
                && part.ip_id != 0
                && data.ip_id != 0
                && part.ip_id != data.ip_id;
            part.start <= data.start
                && data.end <= part.end
                && is_recent(part.ts_ns, data.ts_ns, patience_ns)
                && !other
        })
    }
}
