//! Decompressed bytes of any file, piece by piece.

use super::error::ReadError;
use super::input::Input;
use super::source::{reason, Source};

const PIECE: usize = 256 * 1024;

/// A file that breaks off ends early and sets `error`.
pub struct Chunks {
    source: Source,
    buffer: Vec<u8>,
    ended: bool,
    /// Why the input broke off; `None` when it was read to its end.
    pub error: Option<String>,
}

impl Chunks {
    pub fn open(input: &Input) -> Result<Self, ReadError> {
        Chunks::of(input, PIECE)
    }

    /// In pieces of at most so many bytes.
    pub fn of(input: &Input, most: usize) -> Result<Self, ReadError> {
        let source = Source::open(input)?;
        Ok(Chunks { source, buffer: vec![0; most.clamp(1, PIECE)], ended: false, error: None })
    }

    /// The next bytes; `None` at the end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<&[u8]> {
        if self.ended {
            return None;
        }
        match self.source.read(&mut self.buffer) {
            Ok(0) => self.ended = true,
            Ok(n) => return Some(&self.buffer[..n]),
            Err(error) => {
                self.error = Some(reason(&error));
                self.ended = true;
            }
        }
        None
    }

    pub fn compression(&self) -> Option<&'static str> {
        self.source.compression
    }

    /// Bytes read so far, before decompression.
    pub fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn all(bytes: &[u8]) -> (Vec<u8>, Chunks) {
        let input = Input::Memory("log".into(), bytes.into());
        let mut chunks = Chunks::open(&input).expect("bytes in memory can be read");
        let mut read = Vec::new();
        while let Some(piece) = chunks.next() {
            read.extend_from_slice(piece);
        }
        (read, chunks)
    }

    #[test]
    fn a_compressed_log_that_was_cut_gives_what_it_has_and_the_reason() {
        let text = b"one line\n".repeat(100_000);
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&text).unwrap();
        let packed = encoder.finish().unwrap();
        let (read, chunks) = all(&packed);
        assert_eq!((read.len(), chunks.compression(), chunks.error), (text.len(), Some("gz"), None));
        let (read, chunks) = all(&packed[..packed.len() / 2]);
        assert!(text.starts_with(&read) && !read.is_empty());
        assert!(chunks.error.is_some());
    }
}
