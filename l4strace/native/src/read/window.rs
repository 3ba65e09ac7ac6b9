//! One reused buffer between a source and the decoder: no packet touches fresh memory.

use std::io;

use super::record::NEEDED;
use super::source::Source;

/// Larger than any request for bytes, small enough to stay in the second-level cache.
const SIZE: usize = 256 * 1024;
const _: () = assert!(SIZE > NEEDED);

/// The bytes read but not yet consumed.
pub struct Window {
    data: Box<[u8]>,
    start: usize,
    end: usize,
    /// Bytes to be dropped unread: the tail of a large packet.
    skip: u64,
}

impl Window {
    pub fn new() -> Self {
        Window { data: vec![0; SIZE].into_boxed_slice(), start: 0, end: 0, skip: 0 }
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.data[self.start..self.end]
    }

    /// Marks `n` bytes as done with, which may be more than are there.
    #[inline]
    pub fn consume(&mut self, n: u64) {
        let here = n.min((self.end - self.start) as u64);
        self.start += here as usize;
        self.skip += n - here;
    }

    /// Bytes that are there, plus those of a record that the input still owes.
    pub fn left(&self) -> u64 {
        (self.end - self.start) as u64 + u64::from(self.skip > 0)
    }

    /// Reads until at least `wanted` bytes are there; false at the end of the input.
    pub fn fill(&mut self, source: &mut Source, wanted: usize) -> io::Result<bool> {
        self.data.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted.min(SIZE) {
            let n = source.read(&mut self.data[self.end..])?;
            if n == 0 {
                return Ok(false);
            }
            self.end += n;
            self.drop_skipped();
        }
        Ok(true)
    }

    fn drop_skipped(&mut self) {
        if self.skip > 0 {
            let gone = self.skip.min(self.end as u64) as usize;
            self.data.copy_within(gone..self.end, 0);
            self.end -= gone;
            self.skip -= gone as u64;
        }
    }
}
