//! RTP (RFC 3550 section 5.1) by version, source and sequence numbers; RTCP (section 6.1) by its types and lengths.

/// Packets that continue the numbers of their source; one in so many may not.
const CONTINUED: u16 = 6;
const ODD_ONE_IN: u16 = 4;
/// Sources of one direction that are followed: sound, picture, their repairs.
const SOURCES: usize = 4;
/// Numbers that one may be ahead of the last, or behind it.
const NEAR: u16 = 64;

/// What the first bytes of a datagram of RTP are.
pub(super) enum Header {
    /// RTCP on the same port: types 192 to 223 (RFC 5761 section 4).
    Control,
    Packet {
        source: u32,
        number: u16,
    },
}

impl Header {
    /// `None` where it was cut off.
    pub fn of(payload: &[u8]) -> Option<Self> {
        if payload.get(1).is_some_and(|kind| (192..224).contains(kind)) {
            return Some(Header::Control);
        }
        let head = payload.first_chunk::<12>()?;
        let number = u16::from_be_bytes([head[2], head[3]]);
        Some(Header::Packet { source: u32::from_be_bytes([head[8], head[9], head[10], head[11]]), number })
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Rtp {
    /// Source and last number of each.
    sources: [Option<(u32, u16)>; SOURCES],
    next: usize,
    continued: u16,
    odd: u16,
    /// Source of the first report.
    reporter: Option<u32>,
    reports: u16,
}

impl Rtp {
    /// A datagram whose first two bits are the version of RTP.
    #[inline]
    pub fn look(&mut self, payload: &[u8], length: u32) {
        let Some(Header::Packet { source, number }) = Header::of(payload) else {
            return self.control(payload, length);
        };
        let known = self.sources.iter_mut().flatten().find(|(known, _)| *known == source);
        let Some((_, last)) = known else {
            self.odd = self.odd.saturating_add(1);
            self.sources[self.next] = Some((source, number));
            self.next = (self.next + 1) % SOURCES;
            return;
        };
        let near = number != *last && number.wrapping_sub(*last).wrapping_add(NEAR) <= 2 * NEAR;
        let counter = if near { &mut self.continued } else { &mut self.odd };
        *counter = counter.saturating_add(1);
        *last = number;
    }

    /// The first report of a datagram: its length in words, and the source that all of its kind have.
    fn control(&mut self, payload: &[u8], length: u32) {
        let Some(head) = payload.first_chunk::<8>() else { return };
        let size = 4 * (u32::from(u16::from_be_bytes([head[2], head[3]])) + 1);
        let source = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        let same = *self.reporter.get_or_insert(source) == source;
        if (192..224).contains(&head[1]) && (8..=length).contains(&size) && same {
            self.reports = self.reports.saturating_add(1);
        } else {
            self.odd = self.odd.saturating_add(1);
        }
    }

    pub fn is_shown(&self) -> bool {
        let hits = self.continued + self.reports;
        hits >= CONTINUED && hits / ODD_ONE_IN >= self.odd
    }
}
