//! Compressed files: zstd for captures and logs, gzip for what a page carries.

use std::fs::File;
use std::io::{self, Write};

use flate2::write::GzEncoder;
use flate2::Compression;

use crate::read::{reason, ReadError};

/// Writes `source` as zstd to `target`: (bytes in, bytes out).
pub fn zst(source: &str, target: &str, level: i32) -> Result<(u64, u64), ReadError> {
    let said = |path: &str, e: io::Error| ReadError::new(path, reason(&e));
    let mut input = File::open(source).map_err(|e| said(source, e))?;
    let output = File::create(target).map_err(|e| said(target, e))?;
    let mut encoder = zstd::Encoder::new(output, level).map_err(|e| said(target, e))?;
    let read = io::copy(&mut input, &mut encoder).map_err(|e| said(target, e))?;
    let output = encoder.finish().map_err(|e| said(target, e))?;
    let size = output.metadata().map_err(|e| said(target, e))?.len();
    Ok((read, size))
}

/// Text as gzip (no name, no time: the same text gives the same bytes). Levels above 9 count as 9.
pub fn gzip(text: &str, level: u32) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level.min(9)));
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}
