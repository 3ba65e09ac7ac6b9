//! One capture -> its redacted copy, piece by piece: memory does not grow with the capture.

use std::io;

use super::pcapng;
use super::{frame, Map};
use crate::read::pcap::{self, Pcap};
use crate::read::pcapng::{is_pcapng, Pcapng};
use crate::read::record::{u32_at, Record, Step};
use crate::read::window::Window;
use crate::read::{reason, Decoder, Input, ReadError, Source, SourceInfo};
use crate::stats::Stats;
use crate::write::Packer;

/// Bytes that are packed before they are handed over.
const PIECE: usize = 256 * 1024;

/// What became of the packets so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub packets: u64,
    /// Packets that are left empty because nobody knows where their link layer has addresses.
    pub emptied: u64,
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// The redacted copy of one capture, in the same format and compression.
pub struct Redactor {
    source: Source,
    window: Window,
    format: Format,
    map: Map,
    packer: Option<Packer>,
    /// The copy has its first bytes, by which it is recognised.
    begun: bool,
    pub counts: Counts,
}

/// Why no record follows.
enum End {
    Complete,
    Truncated,
    Damaged,
}

impl Redactor {
    /// Fails with one line if the input cannot be read or is no capture.
    pub fn open(input: &Input, map: Map) -> Result<Self, ReadError> {
        let failed = |why: String| ReadError::new(input.name(), why);
        let mut source = Source::open(input)?;
        let mut window = Window::new();
        window.fill(&mut source, pcap::HEADER).map_err(|e| failed(reason(&e)))?;
        let start = &window.bytes()[..window.bytes().len().min(pcap::HEADER)];
        Decoder::new(start).map_err(failed)?;
        let mut packer = Packer::new(source.compression).map_err(|e| failed(reason(&e)))?;
        let format = if is_pcapng(start) {
            Format::Pcapng(Pcapng::default())
        } else {
            let pcap =
                Pcap::new(start, &mut SourceInfo::default()).ok_or_else(|| failed("not a capture".into()))?;
            packer.add(&file_header(start, pcap.swapped)).map_err(|e| failed(reason(&e)))?;
            window.consume(pcap::HEADER as u64);
            Format::Pcap(pcap)
        };
        Ok(Redactor {
            source,
            window,
            format,
            map,
            packer: Some(packer),
            begun: false,
            counts: Counts::default(),
        })
    }

    /// Bytes of the copy; `None` after the last.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        let Some(packer) = self.packer.take() else { return Ok(None) };
        self.piece(packer).map(Some).map_err(|error| ReadError::new("compression", reason(&error)))
    }

    fn piece(&mut self, mut packer: Packer) -> io::Result<Vec<u8>> {
        let mut out = Vec::with_capacity(PIECE);
        let mut end = None;
        while out.len() < PIECE && end.is_none() {
            end = self.record(&mut out);
        }
        self.begun |= !out.is_empty();
        packer.add(&out)?;
        if let Some(end) = end {
            self.begin(&mut packer)?;
            // The copy of a capture that was cut is cut too: what is true of the one is of the other.
            packer.add(self.ending(&end))?;
            return packer.finish();
        }
        let piece = packer.take();
        self.packer = Some(packer);
        Ok(piece)
    }

    /// A capture that ends within its first block is one all the same.
    fn begin(&mut self, packer: &mut Packer) -> io::Result<()> {
        match self.format {
            Format::Pcapng(_) if !self.begun => packer.add(&pcapng::section()),
            _ => Ok(()),
        }
    }

    /// Bytes of the input so far, before decompression.
    pub fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    pub fn total(&self) -> u64 {
        self.source.total
    }

    pub fn compression(&self) -> Option<&'static str> {
        self.source.compression
    }

    /// Takes one record of the input; what ended it, if there is none.
    fn record(&mut self, out: &mut Vec<u8>) -> Option<End> {
        let bytes = self.window.bytes();
        let step = match &mut self.format {
            Format::Pcap(pcap) => pcap.step(bytes),
            Format::Pcapng(reader) => reader.step(bytes, &mut SourceInfo::default(), &mut Stats::default()),
        };
        match step {
            Step::Packet(record) => {
                self.packet(&record, out);
                self.window.consume(record.size);
                None
            }
            Step::Skip(size) => {
                if let Format::Pcapng(reader) = &self.format {
                    pcapng::block(reader, bytes, out);
                }
                self.window.consume(size);
                None
            }
            Step::More(wanted) => match self.window.fill(&mut self.source, wanted) {
                Ok(true) => None,
                Ok(false) if self.window.left() == 0 => Some(End::Complete),
                Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Some(End::Damaged),
                _ => Some(End::Truncated),
            },
            Step::Damaged(_) => Some(End::Damaged),
        }
    }

    fn packet(&mut self, record: &Record, out: &mut Vec<u8>) {
        let bytes = self.window.bytes();
        let mut left = Vec::new();
        let known = frame(&self.map, record.link_type, record.bytes(bytes), record.wire_len, &mut left);
        self.counts.packets += 1;
        self.counts.emptied += u64::from(!known);
        match &self.format {
            Format::Pcap(pcap) => {
                let times = [u32_at(bytes, 0, pcap.swapped), u32_at(bytes, 4, pcap.swapped)];
                for field in [times[0], times[1], left.len() as u32, record.wire_len] {
                    out.extend(field.to_le_bytes());
                }
                out.extend(left);
            }
            Format::Pcapng(reader) => pcapng::packet(reader, bytes, record, left, out),
        }
    }

    fn ending(&self, end: &End) -> &'static [u8] {
        match (end, &self.format) {
            (End::Complete, _) => &[],
            (End::Truncated, _) => &[6, 0, 0, 0],
            (End::Damaged, Format::Pcap(_)) => &[0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0],
            (End::Damaged, Format::Pcapng(_)) => &[6, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0],
        }
    }
}

/// The header of a classic capture in little-endian, with 16-byte record headers.
fn file_header(start: &[u8], swapped: bool) -> [u8; pcap::HEADER] {
    let nanoseconds = u32_at(start, 0, swapped) == 0xa1b2_3c4d;
    let magic: u32 = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut header = [0; pcap::HEADER];
    header[..4].copy_from_slice(&magic.to_le_bytes());
    // Version 2.4.
    header[4..8].copy_from_slice(&[2, 0, 4, 0]);
    header[16..20].copy_from_slice(&u32_at(start, 16, swapped).to_le_bytes());
    header[20..].copy_from_slice(&(u32_at(start, 20, swapped) & 0x03ff_ffff).to_le_bytes());
    header
}
