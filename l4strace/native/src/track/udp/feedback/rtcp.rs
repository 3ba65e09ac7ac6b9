//! Congestion control feedback in RTCP (RFC 8888 section 3.1), among the packets of a compound datagram.

/// Payload type of transport-layer feedback, and the format that RFC 8888 defines.
const TRANSPORT_FEEDBACK: u8 = 205;
const CONGESTION_CONTROL: u8 = 11;
/// Header and the reporter's SSRC; what a source begins with; the report's timestamp.
const HEAD: usize = 8;
const SOURCE: usize = 8;
const STAMP: usize = 4;
/// Packets of a datagram and sources of a report that are looked at.
const MOST_PACKETS: usize = 16;
const MOST_SOURCES: usize = 16;

/// The reports on one source: of packets from a number on, two bytes each, of which the capture may hold fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    pub ssrc: u32,
    pub begin: u16,
    pub count: u16,
    pub reports: &'a [u8],
}

/// What a datagram of RTCP holds of RFC 8888.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// The bytes behind the reporter's SSRC, without the timestamp.
    Report(&'a [u8]),
    /// A report whose content is none: SRTCP encrypts all but the first eight bytes (RFC 3711 section 3.4).
    Hidden,
}

/// Report of a datagram of `length`, as far as the capture holds it.
pub fn find(payload: &[u8], length: u32) -> Option<Found<'_>> {
    let (mut at, length) = (0, length as usize);
    for _ in 0..MOST_PACKETS {
        let head = payload.get(at..at + 4)?;
        let size = 4 * (usize::from(u16::from_be_bytes([head[2], head[3]])) + 1);
        if head[0] >> 6 != 2 || at + size > length {
            return None;
        }
        if head[1] == TRANSPORT_FEEDBACK && head[0] & 0x1f == CONGESTION_CONTROL {
            return Some(content(payload, at, size));
        }
        at += size;
    }
    None
}

fn content(payload: &[u8], at: usize, size: usize) -> Found<'_> {
    let Some(length) = size.checked_sub(HEAD + STAMP) else { return Found::Hidden };
    let from = (at + HEAD).min(payload.len());
    let bytes = &payload[from..(from + length).min(payload.len())];
    if fits(bytes, length) {
        Found::Report(bytes)
    } else {
        Found::Hidden
    }
}

/// The sources fill the length exactly, as far as the capture shows.
fn fits(bytes: &[u8], length: usize) -> bool {
    let mut at = 0;
    for source in sources(bytes) {
        at += padded(&source);
    }
    at == length || (at > bytes.len().saturating_sub(SOURCE) && bytes.len() < length && at < length)
}

/// Reports are padded to whole words.
fn padded(source: &Source) -> usize {
    SOURCE + 4 * usize::from(source.count).div_ceil(2)
}

/// The sources of a report, one after the other.
pub fn sources(bytes: &[u8]) -> impl Iterator<Item = Source<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let head = bytes.get(at..at + SOURCE)?;
        let be16 = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let (begin, count) = (be16(4), be16(6));
        let ssrc = u32::from(be16(0)) << 16 | u32::from(be16(2));
        let reports = &bytes[at + SOURCE..bytes.len().min(at + SOURCE + 2 * usize::from(count))];
        let source = Source { ssrc, begin, count, reports };
        at += padded(&source);
        Some(source)
    })
    .take(MOST_SOURCES)
}
