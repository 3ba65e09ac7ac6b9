//! Compressed files: as the input was, zstd for captures and logs, gzip for what a page carries.

use std::io::{self, Write};

use flate2::write::GzEncoder;
use flate2::Compression;
use liblzma::write::XzEncoder;

/// xz's own default costs ten times the time for a few per cent.
const XZ_LEVEL: u32 = 1;
/// Bytes of a stream's footer (.xz file format 1.2.1, section 2.1.2).
const XZ_FOOTER: usize = 12;

/// Text as gzip (no name, no time: the same text gives the same bytes). Levels above 9 count as 9.
pub fn gzip(text: &str, level: u32) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level.min(9)));
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

/// Bytes compressed as they come.
pub enum Packer {
    Plain(Vec<u8>),
    Gz(GzEncoder<Vec<u8>>),
    Xz(XzEncoder<Vec<u8>>),
    Zst(zstd::Encoder<'static, Vec<u8>>),
}

impl Packer {
    /// `gz`, `xz`, `zst` as [`crate::read::Source`] names them; any other is plain.
    pub fn new(compression: Option<&str>) -> io::Result<Self> {
        Ok(match compression {
            Some("gz") => Packer::Gz(GzEncoder::new(Vec::new(), Compression::default())),
            Some("xz") => Packer::Xz(XzEncoder::new(Vec::new(), XZ_LEVEL)),
            Some("zst") => Packer::Zst(zstd::Encoder::new(Vec::new(), 0)?),
            _ => Packer::Plain(Vec::new()),
        })
    }

    /// Takes bytes in.
    pub fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Packer::Plain(out) => out.write_all(bytes),
            Packer::Gz(encoder) => encoder.write_all(bytes),
            Packer::Xz(encoder) => encoder.write_all(bytes),
            Packer::Zst(encoder) => encoder.write_all(bytes),
        }
    }

    /// What is compressed so far and was not taken yet.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(match self {
            Packer::Plain(out) => out,
            Packer::Gz(encoder) => encoder.get_mut(),
            Packer::Xz(encoder) => encoder.get_mut(),
            Packer::Zst(encoder) => encoder.get_mut(),
        })
    }

    /// What makes all bytes so far readable, without the end of a whole file.
    pub fn cut(mut self) -> io::Result<Vec<u8>> {
        match &mut self {
            Packer::Plain(_) => {}
            Packer::Gz(encoder) => encoder.flush()?,
            Packer::Zst(encoder) => encoder.flush()?,
            Packer::Xz(encoder) => {
                encoder.try_finish()?;
                let out = encoder.get_mut();
                out.truncate(out.len().saturating_sub(XZ_FOOTER));
            }
        }
        Ok(self.take())
    }

    /// The rest.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Packer::Plain(out) => Ok(out),
            Packer::Gz(encoder) => encoder.finish(),
            Packer::Xz(encoder) => encoder.finish(),
            Packer::Zst(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{Chunks, Input};

    #[test]
    fn what_is_packed_piece_by_piece_is_read_again() {
        for compression in [None, Some("gz"), Some("xz"), Some("zst")] {
            let mut packer = Packer::new(compression).unwrap();
            let mut packed = Vec::new();
            for n in 0..1000u32 {
                packer.add(&n.to_le_bytes()).unwrap();
                packed.extend(packer.take());
            }
            packed.extend(packer.finish().unwrap());
            let mut chunks = Chunks::open(&Input::Memory("x".into(), packed.into())).unwrap();
            let mut read = Vec::new();
            while let Some(piece) = chunks.next() {
                read.extend_from_slice(piece);
            }
            assert_eq!((chunks.compression(), read.len()), (compression, 4000));
        }
    }

    #[test]
    fn a_file_that_is_cut_has_all_bytes_and_no_end() {
        for compression in ["gz", "xz", "zst"] {
            let mut packer = Packer::new(Some(compression)).unwrap();
            packer.add(&[7; 5000]).unwrap();
            let packed = packer.cut().unwrap();
            let mut chunks = Chunks::open(&Input::Memory("x".into(), packed.into())).unwrap();
            let mut read = 0;
            while let Some(piece) = chunks.next() {
                read += piece.len();
            }
            assert_eq!((read, chunks.error.is_some()), (5000, true), "{compression}");
        }
    }
}
