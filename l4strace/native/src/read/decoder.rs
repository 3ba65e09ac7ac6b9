//! Bytes -> packets, fed in pieces of any size: files, pipes and decompressors all end here.

use std::ops::Range;

use super::fragments::Fragments;
use super::info::{Kind, SourceInfo};
use super::pcap::{self, Pcap};
use super::pcapng::{self, Pcapng};
use super::record::{Record, Step};
use super::Sink;
use crate::decode::{self, Fragment, Outcome, Payload};
use crate::packet::Packet;
use crate::stats::{Loss, Stats};

#[derive(Clone, Debug)]
enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// Timestamps are kept within these, so that no difference or small sum of them overflows.
const TIMES: Range<i64> = 0..1 << 62;

/// Packets handed over together at most.
const BATCH: usize = 32;

/// What [`Decoder::next`] made of the bytes at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The packet is filled in; so many bytes are done with.
    Packet(u64),
    /// So are that of a UDP datagram and the place of its payload in the bytes.
    Datagram(u64, Payload),
    /// No packet in so many bytes.
    Skipped(u64),
    /// At least so many bytes must be offered together.
    More(usize),
    /// The rest of the input is not to be read.
    Stop,
}

/// What the record of a packet holds.
enum Decoded {
    Tcp,
    Udp(Payload),
    Neither,
}

/// State between pieces. The number of consumed bytes may exceed what was offered: skip the rest.
#[derive(Clone, Debug)]
pub struct Decoder {
    format: Format,
    /// Bytes of the file header, still to be consumed.
    header: usize,
    pub info: SourceInfo,
    pub stats: Stats,
    fragments: Fragments,
    offset: u64,
}

impl Decoder {
    /// Recognises the format by the first bytes (24 suffice); the error is one clause.
    pub fn new(start: &[u8]) -> Result<Self, String> {
        let mut info = SourceInfo { complete: true, ..SourceInfo::default() };
        let (format, header) = if pcapng::is_pcapng(start) {
            info.kind = Kind::Pcapng;
            (Format::Pcapng(Pcapng::default()), 0)
        } else if pcap::is_pcap(start) {
            let header = start.get(..pcap::HEADER).ok_or("ends inside the file header")?;
            (Format::Pcap(Pcap::new(header, &mut info).ok_or("not a capture")?), pcap::HEADER)
        } else {
            return Err(describe(start));
        };
        let (stats, fragments) = (Stats::default(), Fragments::default());
        Ok(Decoder { format, header, info, stats, fragments, offset: 0 })
    }

    /// Looks at the next record and decodes it into `packet`.
    #[inline]
    pub fn next(&mut self, bytes: &[u8], packet: &mut Packet) -> Next {
        match self.record(bytes) {
            Ok(record) => {
                let size = record.size;
                match self.decode(&record, bytes, packet) {
                    Decoded::Tcp => {
                        self.info.tcp_packets += 1;
                        Next::Packet(size)
                    }
                    Decoded::Udp(payload) => Next::Datagram(size, payload),
                    Decoded::Neither => Next::Skipped(size),
                }
            }
            Err(next) => next,
        }
    }

    /// Consumes all records that are complete in `bytes` and hands over their packets, a few at once;
    /// returns how many bytes that was and how many are needed for one step more (`None`: stop).
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl Sink) -> (u64, Option<usize>) {
        let mut batch = [Packet::default(); BATCH];
        let (mut done, mut held) = (self.begin(), 0);
        let wanted = loop {
            let rest = usize::try_from(done).ok().and_then(|n| bytes.get(n..)).unwrap_or_default();
            let record = match self.step(rest) {
                Ok(record) => record,
                Err(Next::More(wanted)) => break Some(wanted),
                Err(Next::Stop) => break None,
                Err(Next::Skipped(n) | Next::Packet(n) | Next::Datagram(n, _)) => {
                    done += n;
                    continue;
                }
            };
            done += record.size;
            match self.decode(&record, rest, &mut batch[held]) {
                Decoded::Tcp => held += 1,
                Decoded::Udp(Payload { at, len }) => sink.datagram(&batch[held], &rest[at..at + len]),
                Decoded::Neither => {}
            }
            if held == BATCH {
                self.hand_over(&batch, sink);
                held = 0;
            }
        };
        self.hand_over(&batch[..held], sink);
        (done, wanted)
    }

    /// Steps over all complete records without decoding them: the unit of the benchmark.
    pub fn walk(&mut self, bytes: &[u8]) -> (u64, Option<usize>) {
        let mut done = 0u64;
        loop {
            let rest = usize::try_from(done).ok().and_then(|n| bytes.get(n..)).unwrap_or_default();
            match self.record(rest) {
                Ok(record) => done += record.size,
                Err(Next::More(wanted)) => return (done, Some(wanted)),
                Err(Next::Stop) => return (done, None),
                Err(Next::Skipped(n) | Next::Packet(n) | Next::Datagram(n, _)) => done += n,
            }
        }
    }

    #[inline]
    fn hand_over(&mut self, packets: &[Packet], sink: &mut impl Sink) {
        self.info.tcp_packets += packets.len() as u64;
        sink.packets(packets);
    }

    /// Consumes the file header, once.
    fn begin(&mut self) -> u64 {
        let size = std::mem::take(&mut self.header) as u64;
        self.offset += size;
        size
    }

    /// The next record, or what is there instead.
    #[inline]
    fn record(&mut self, bytes: &[u8]) -> Result<Record, Next> {
        match self.begin() {
            0 => self.step(bytes),
            size => Err(Next::Skipped(size)),
        }
    }

    /// The same behind the file header.
    #[inline(always)]
    fn step(&mut self, bytes: &[u8]) -> Result<Record, Next> {
        let step = match &mut self.format {
            Format::Pcap(pcap) => pcap.step(bytes),
            Format::Pcapng(pcapng) => pcapng.step(bytes, &mut self.info, &mut self.stats),
        };
        match step {
            Step::Packet(mut record) => {
                if !TIMES.contains(&record.ts_ns) {
                    record.ts_ns = record.ts_ns.clamp(TIMES.start, TIMES.end);
                    self.stats.count(Loss::BadTimestamps, self.info.records + 1);
                }
                self.note(&record);
                Ok(record)
            }
            Step::Skip(size) => {
                self.offset += size;
                Err(Next::Skipped(size))
            }
            Step::More(wanted) => Err(Next::More(wanted)),
            Step::Damaged(why) => Err(self.damaged(&why)),
        }
    }

    #[inline(always)]
    fn note(&mut self, record: &Record) {
        self.info.records += 1;
        self.offset += record.size;
        self.info.first_ns.get_or_insert(record.ts_ns);
        self.info.last_ns = Some(record.ts_ns);
    }

    #[inline(always)]
    fn decode(&mut self, record: &Record, bytes: &[u8], packet: &mut Packet) -> Decoded {
        let frame = self.info.records;
        packet.frame = frame;
        packet.offset = self.offset - record.size;
        packet.ts_ns = record.ts_ns;
        packet.interface = record.interface;
        packet.captured_len = record.captured_len;
        packet.wire_len = record.wire_len;
        match decode::frame(record.link_type, record.bytes(bytes), record.wire_len, packet) {
            Outcome::Tcp => Decoded::Tcp,
            Outcome::OddTcp(loss) => {
                self.stats.count(loss, frame);
                Decoded::Tcp
            }
            Outcome::Part(part) => self.fragment(&part, packet),
            Outcome::Udp(payload) => {
                self.info.udp_packets += 1;
                Decoded::Udp(Payload { at: record.data + payload.at, ..payload })
            }
            Outcome::Not(loss) => {
                self.stats.count(loss, frame);
                Decoded::Neither
            }
        }
    }

    /// A packet when all its fragments are here.
    #[cold]
    fn fragment(&mut self, part: &Fragment, packet: &mut Packet) -> Decoded {
        let (whole, given_up) = self.fragments.add(part, packet);
        self.stats.add(Loss::IpFragments, given_up);
        let Some(whole) = whole else { return Decoded::Neither };
        *packet = whole;
        Decoded::Tcp
    }

    fn damaged(&mut self, why: &str) -> Next {
        let (offset, frame) = (self.offset, self.info.records);
        self.info.complete = false;
        self.stats.add(Loss::DamagedFile, 1);
        self.stats.explain(Loss::DamagedFile, || format!("At byte {offset}, after frame {frame}: {why}."));
        Next::Stop
    }

    /// To be called at the end of input, with how many bytes were left over.
    pub fn finish(&mut self, left: u64) {
        self.stats.add(Loss::IpFragments, self.fragments.left());
        if let Format::Pcapng(pcapng) = &self.format {
            self.stats.set(Loss::CaptureDrops, pcapng.drops());
        }
        if left > 0 {
            let frame = self.info.records;
            self.info.complete = false;
            self.stats.add(Loss::TruncatedFile, 1);
            self.stats.explain(Loss::TruncatedFile, || {
                format!("The file ends inside a record after frame {frame} ({left} bytes of it are there).")
            });
        }
    }
}

/// What a file that is no capture looks like, for the error message.
fn describe(start: &[u8]) -> String {
    if start.is_empty() {
        return "the file is empty".into();
    }
    let text = start.iter().all(|&b| b == b'\t' || b == b'\n' || b == b'\r' || (32..127).contains(&b));
    let zeros = start.iter().all(|&b| b == 0);
    match (text, zeros) {
        (true, _) => "text, not a pcap or pcapng capture".into(),
        (_, true) => "begins with zero bytes, not a pcap or pcapng capture".into(),
        _ => "not a pcap or pcapng capture".into(),
    }
}
