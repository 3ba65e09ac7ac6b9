//! Where bytes come from: a file or standard input, decompressed when its first bytes ask for it.

use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use super::error::ReadError;
use super::input::Input;

/// A readable input with its name, compression and how far it has been read.
pub struct Source {
    reader: Box<dyn Read + Send + Sync>,
    pub compression: Option<&'static str>,
    read: Arc<AtomicU64>,
    /// 0 for a pipe.
    pub total: u64,
}

impl Source {
    /// Opens an input; fails with one clear line.
    pub fn open(input: &Input) -> Result<Self, ReadError> {
        let path = input.name();
        let (raw, total): (Box<dyn Read + Send + Sync>, u64) = match input {
            Input::Path(path) if path == "-" => (Box::new(io::stdin()), 0),
            Input::Path(path) => open_file(path)?,
            Input::Memory(_, bytes) => (Box::new(io::Cursor::new(Arc::clone(bytes))), bytes.len() as u64),
        };
        let read = Arc::new(AtomicU64::new(0));
        let mut raw = Counted { raw, read: Arc::clone(&read) };
        let start = peek(&mut raw).map_err(|e| ReadError::new(path, reason(&e)))?;
        let compression = compression(&start);
        let whole = io::Cursor::new(start).chain(raw);
        let reader = decompressor(compression, whole).map_err(|e| ReadError::new(path, reason(&e)))?;
        Ok(Source { reader, compression, read, total })
    }

    /// Bytes taken from the file or pipe, before decompression.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.reader.read(buffer) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

fn open_file(path: &str) -> Result<(Box<dyn Read + Send + Sync>, u64), ReadError> {
    let file = File::open(path).map_err(|e| ReadError::new(path, reason(&e)))?;
    let metadata = file.metadata().map_err(|e| ReadError::new(path, reason(&e)))?;
    if metadata.is_dir() {
        return Err(ReadError::new(path, "is a directory, not a capture"));
    }
    Ok((Box::new(file), metadata.len()))
}

/// The operating system's words, without its number.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_owned()
        }
    }
}

struct Counted<R> {
    raw: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.raw.read(buffer)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

fn peek(raw: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(6);
    raw.take(6).read_to_end(&mut start)?;
    Ok(start)
}

fn compression(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x1f, 0x8b, ..] => Some("gz"),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => Some("xz"),
        // A frame, or a skippable frame as pzstd writes first (RFC 8878 section 3.1.2).
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some("zst"),
        _ => None,
    }
}

fn decompressor(
    kind: Option<&str>,
    raw: impl Read + Send + Sync + 'static,
) -> io::Result<Box<dyn Read + Send + Sync>> {
    let buffered = |raw| io::BufReader::with_capacity(64 * 1024, raw);
    Ok(match kind {
        Some("gz") => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(raw))),
        Some("xz") => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(buffered(raw))),
        Some("zst") => Box::new(zstd::stream::read::Decoder::with_buffer(buffered(raw))?),
        _ => Box::new(raw),
    })
}
