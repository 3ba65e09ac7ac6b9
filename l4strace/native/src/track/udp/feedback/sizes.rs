//! Sizes of a direction's packets: what is smaller than a full one shows that the application had no more to send.

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    last: u32,
    /// Two packets in a row were as large: a single one may probe the path (RFC 8899).
    full: u32,
    sent: u64,
    short: u64,
}

impl Sizes {
    pub fn sent(&mut self, bytes: u32) {
        self.full = self.full.max(bytes.min(self.last));
        self.last = bytes;
        self.sent += 1;
        // Frames do not always fit to the byte. By eye.
        self.short += u64::from(bytes < self.full / 8 * 7);
    }

    /// At most half of the packets were not full.
    pub fn are_full(&self) -> bool {
        2 * self.short <= self.sent
    }
}
