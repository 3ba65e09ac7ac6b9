//! Blocks of whole lines of any file, decompressed.

use super::chunks::Chunks;
use super::error::ReadError;
use super::input::Input;

/// Lines some megabytes at a time; those longer than `longest` are left out.
pub struct Lines {
    pub chunks: Chunks,
    least: usize,
    longest: usize,
    /// What follows the last line end so far.
    rest: Vec<u8>,
    /// In a line that is left out.
    skipping: bool,
    /// Lines that were left out.
    pub long: u64,
}

impl Lines {
    /// Blocks have at least `least` bytes, but for the last one, and little more if lines are short.
    pub fn open(input: &Input, least: usize, longest: usize) -> Result<Self, ReadError> {
        let chunks = Chunks::of(input, least)?;
        Ok(Lines { chunks, least, longest, rest: Vec::new(), skipping: false, long: 0 })
    }

    /// Puts the next block in place of what is in `block`; false at the end. What follows the last line end
    /// comes last.
    pub fn next(&mut self, block: &mut Vec<u8>) -> bool {
        block.clear();
        block.append(&mut self.rest);
        let mut whole = 0;
        while let Some(mut chunk) = self.chunks.next() {
            if self.skipping {
                let Some(end) = chunk.iter().position(|&byte| byte == b'\n') else { continue };
                (chunk, self.skipping) = (&chunk[end + 1..], false);
            }
            if let Some(end) = chunk.iter().rposition(|&byte| byte == b'\n') {
                whole = block.len() + end + 1;
            }
            block.extend_from_slice(chunk);
            if block.len() < self.least {
                continue;
            }
            if block.len() - whole > self.longest {
                (self.long, self.skipping) = (self.long + 1, true);
            } else if whole > 0 {
                self.rest.extend_from_slice(&block[whole..]);
            } else {
                continue;
            }
            block.truncate(whole);
            if whole > 0 {
                return true;
            }
        }
        !block.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &[u8], least: usize, longest: usize) -> (Vec<Vec<u8>>, u64) {
        let input = Input::Memory("log".into(), text.into());
        let mut lines = Lines::open(&input, least, longest).expect("bytes in memory can be read");
        let (mut found, mut block) = (Vec::new(), Vec::new());
        while lines.next(&mut block) {
            found.push(block.clone());
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
