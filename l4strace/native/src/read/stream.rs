//! The packets of one input: a source, a window on it and the decoder.

use std::io;

use super::decoder::{Decoder, Next};
use super::error::ReadError;
use super::info::SourceInfo;
use super::input::Input;
use super::source::{reason, Source};
use super::window::Window;
use super::{Progress, Sink};
use crate::packet::Packet;
use crate::stats::{Loss, Stats};

/// The TCP packets of one input, one after another.
pub struct PacketStream {
    source: Source,
    window: Window,
    decoder: Decoder,
    packet: Packet,
    ended: bool,
}

/// Opens a capture. Fails with one line if it cannot be read or is no capture.
pub fn open(input: &Input) -> Result<PacketStream, ReadError> {
    let path = input.name();
    let mut source = Source::open(input)?;
    let mut window = Window::new();
    // A stream that breaks in the file header is no capture; later it is a truncated one.
    window.fill(&mut source, super::pcap::HEADER).map_err(|e| ReadError::new(path, reason(&e)))?;
    let start = &window.bytes()[..window.bytes().len().min(super::pcap::HEADER)];
    let mut decoder = Decoder::new(start).map_err(|why| ReadError::new(path, why))?;
    decoder.info.path = path.to_owned();
    decoder.info.compression = source.compression;
    Ok(PacketStream { source, window, decoder, packet: Packet::default(), ended: false })
}

impl PacketStream {
    /// The next TCP packet, valid until the next call; `None` at the end. What is not TCP is counted.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Result<Option<&Packet>, ReadError> {
        loop {
            match self.decoder.next(self.window.bytes(), &mut self.packet) {
                Next::Packet(n) => {
                    self.window.consume(n);
                    break;
                }
                Next::Skipped(n) | Next::Datagram(n, _) => self.window.consume(n),
                Next::More(wanted) => {
                    if !self.fill(Some(wanted)) {
                        return Ok(None);
                    }
                }
                Next::Stop => {
                    self.fill(None);
                    return Ok(None);
                }
            }
        }
        Ok(Some(&self.packet))
    }

    /// Hands every remaining packet to `sink`, a few at once; the fastest way through.
    pub fn for_each(&mut self, mut sink: impl Sink) -> Result<(), ReadError> {
        while self.next_batch(&mut sink)? {}
        Ok(())
    }

    /// Hands the packets of one buffer (some 256 KiB) to `sink`; false at the end. Between two
    /// calls a caller can report progress or turn to another input.
    pub fn next_batch(&mut self, sink: &mut impl Sink) -> Result<bool, ReadError> {
        let (done, wanted) = self.decoder.feed(self.window.bytes(), sink);
        self.window.consume(done);
        Ok(self.fill(wanted))
    }

    /// Steps over all records without decoding them.
    pub fn walk(&mut self) -> Result<(), ReadError> {
        loop {
            let (done, wanted) = self.decoder.walk(self.window.bytes());
            self.window.consume(done);
            if !self.fill(wanted) {
                return Ok(());
            }
        }
    }

    /// Complete once `next` has returned `None`; until then what is known so far.
    pub fn info(&self) -> &SourceInfo {
        &self.decoder.info
    }

    /// Complete once `next` has returned `None`.
    pub fn stats(&self) -> &Stats {
        &self.decoder.stats
    }

    pub fn progress(&self) -> Progress {
        Progress { read: self.source.bytes_read(), total: self.source.total }
    }

    /// Gets at least `wanted` bytes; false, with the books closed, when there are none.
    fn fill(&mut self, wanted: Option<usize>) -> bool {
        let filled = match wanted {
            Some(wanted) if !self.ended => self.window.fill(&mut self.source, wanted),
            _ => Ok(false),
        };
        let more = filled.unwrap_or_else(|error| {
            self.broken(&error);
            false
        });
        if !more && !self.ended {
            self.ended = true;
            self.decoder.finish(if wanted.is_some() { self.window.left() } else { 0 });
        }
        self.decoder.info.bytes = self.source.bytes_read();
        more
    }

    /// A compressed file that breaks off, or a disk that fails: what came before is kept.
    fn broken(&mut self, error: &io::Error) {
        let frame = self.decoder.info.records;
        let cut = error.kind() == io::ErrorKind::UnexpectedEof;
        let loss = if cut { Loss::TruncatedFile } else { Loss::DamagedFile };
        self.decoder.info.complete = false;
        self.decoder.stats.explain(loss, || format!("After frame {frame}: {}.", reason(error)));
        // When bytes are left over, `finish` counts the truncation.
        if !cut || self.window.left() == 0 {
            self.decoder.stats.add(loss, 1);
        }
    }
}
