//! Blocks of whole lines of any file, decompressed.

use memchr::{memchr, memrchr};

use super::chunks::Chunks;
use super::error::ReadError;
use super::input::Input;

/// Lines some megabytes at a time. One that has not ended after `longest` bytes is left out.
pub struct Lines {
    pub chunks: Chunks,
    least: usize,
    longest: usize,
    /// What was read and is in no block yet, and how much of it is whole lines.
    held: Vec<u8>,
    whole: usize,
    /// In a line that is left out.
    skipping: bool,
    /// Lines that were left out.
    pub long: u64,
}

/// What a step led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A block can be taken.
    Block,
    More,
    End,
}

impl Lines {
    /// A block comes for every `least` bytes that are read.
    pub fn open(input: &Input, least: usize, longest: usize) -> Result<Self, ReadError> {
        let chunks = Chunks::of(input, least)?;
        Ok(Lines { chunks, least, longest, held: Vec::new(), whole: 0, skipping: false, long: 0 })
    }

    /// Reads some bytes.
    pub fn step(&mut self) -> Step {
        let Some(mut chunk) = self.chunks.next() else {
            self.whole = self.held.len();
            return if self.held.is_empty() { Step::End } else { Step::Block };
        };
        if self.skipping {
            let Some(end) = memchr(b'\n', chunk) else { return Step::More };
            (chunk, self.skipping) = (&chunk[end + 1..], false);
        }
        if let Some(end) = memrchr(b'\n', chunk) {
            self.whole = self.held.len() + end + 1;
        }
        self.held.extend_from_slice(chunk);
        if self.held.len() < self.least {
            return Step::More;
        }
        if self.held.len() - self.whole > self.longest {
            self.held.truncate(self.whole);
            (self.long, self.skipping) = (self.long + 1, true);
        }
        if self.whole > 0 {
            Step::Block
        } else {
            Step::More
        }
    }

    /// Hands out the whole lines, and at the end of the file all that is left; the rest moves to `empty`.
    pub fn block(&mut self, mut empty: Vec<u8>) -> Vec<u8> {
        empty.clear();
        empty.extend_from_slice(&self.held[self.whole..]);
        self.held.truncate(self.whole);
        self.whole = 0;
        std::mem::replace(&mut self.held, empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &[u8], least: usize, longest: usize) -> (Vec<Vec<u8>>, u64) {
        let input = Input::Memory("log".into(), text.into());
        let mut lines = Lines::open(&input, least, longest).expect("bytes in memory can be read");
        let mut found = Vec::new();
        loop {
            match lines.step() {
                Step::Block => found.push(lines.block(b"old".to_vec())),
                Step::More => {}
                Step::End => break,
            }
        }
        (found, lines.long)
    }

    #[test]
    fn blocks_end_with_lines_and_hold_all_of_them() {
        let text: Vec<u8> =
            (0..200_000).flat_map(|n| format!("{n} {}\n", "x".repeat(n % 50)).into_bytes()).collect();
        for end in [text.len(), text.len() - 1] {
            let (found, long) = blocks(&text[..end], 300_000, 1000);
            let (last, before) = found.split_last().unwrap();
            assert!(before.iter().all(|block| block.len() >= 299_000 && block.ends_with(b"\n")));
            assert!(before.len() > 5 && !last.is_empty());
            assert_eq!((found.concat() == text[..end], long), (true, 0));
        }
        assert!(blocks(b"", 100, 100).0.is_empty());
        assert_eq!(blocks(b"\n", 100, 100).0, [b"\n"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out() {
        let long = vec![b'x'; 2_000_000];
        let text = [b"a\n".as_slice(), &long, b"\nb\n", &long, b"\nc"].concat();
        let (found, count) = blocks(&text, 400_000, 300_000);
        assert_eq!((found.concat(), count), (b"a\nb\nc".to_vec(), 2));
        let (found, count) = blocks(&[long.as_slice(), b"\n"].concat(), 400_000, 300_000);
        assert_eq!((found.len(), count), (0, 1));
    }

    #[test]
    fn a_line_of_several_blocks_is_whole() {
        let text = [vec![b'x'; 2_000_000], b"\nb\n".to_vec()].concat();
        let (found, count) = blocks(&text, 300_000, 8_000_000);
        assert_eq!((found.concat() == text, count), (true, 0));
    }
}
