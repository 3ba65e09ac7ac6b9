//! One segment that is outstanding.

use crate::track::sending::data::{Data, MOST_WEIGHT};

pub(super) const SACKED: u16 = 1 << 15;
pub(super) const RETRANSMITTED: u16 = 1 << 14;
/// A second interface showed it.
pub(super) const COPIED: u16 = 1 << 13;

/// One segment in 24 bytes: a window of them has to stay in the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) start: i64,
    pub(super) ts_ns: i64,
    pub(super) len: u32,
    pub(super) print: u16,
    /// Weight below; SACKED, RETRANSMITTED and COPIED above.
    pub(super) marks: u16,
}

impl Segment {
    pub(super) fn new(data: &Data, marks: u16) -> Self {
        let Data { start, end, ts_ns, print, weight, .. } = *data;
        Segment { start, ts_ns, len: (end - start) as u32, print, marks: weight | marks }
    }

    #[inline]
    pub(super) fn end(&self) -> i64 {
        self.start + i64::from(self.len)
    }

    #[inline]
    pub(super) fn weight(&self) -> u16 {
        self.marks & MOST_WEIGHT
    }

    #[inline]
    pub(super) fn is(&self, mark: u16) -> bool {
        self.marks & mark != 0
    }

    /// Its packets, if it was sent once and earlier ACKs reported bytes behind it: a lost packet would
    /// have been retransmitted. Below bytes that were sent before the capture began, this may be one.
    #[inline]
    pub(super) fn late_after(&self, unseen: i64, reported: i64) -> u64 {
        if self.start >= unseen && self.end() <= reported && !self.is(RETRANSMITTED) {
            u64::from(self.weight())
        } else {
            0
        }
    }
}
