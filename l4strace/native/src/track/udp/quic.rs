//! QUIC: long headers with a known version (RFC 8999 section 5.1), or else a run of short ones.

use super::spin::Spin;

/// Bytes of a connection ID at most (RFC 9000 section 17.2).
const MOST_ID: u8 = 20;
/// Short headers without an exception that identify a connection whose handshake was not captured, and how many
/// different first bytes they have at least: header protection makes five bits of it random (RFC 9001 section 5.4.1).
const SHORT: u16 = 32;
const DIFFERENT: u32 = 8;

#[derive(Clone, Debug, Default)]
pub(super) struct Quic {
    version: Option<u32>,
    short: [Short; 2],
    pub spin: [Spin; 2],
    /// A datagram that begins with neither header.
    odd: bool,
}

/// Short headers of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Short {
    count: u16,
    /// Bit i: the first byte had i in its lower five bits.
    first_bytes: u32,
    /// The four bytes behind the first one, which are the same where a connection ID stands there.
    id: Option<[u8; 4]>,
    id_changed: bool,
}

impl Quic {
    /// A datagram whose first byte begins with 01, 10 or 11.
    #[inline]
    pub fn look(&mut self, payload: &[u8], side: usize) {
        if payload[0] & 0x80 == 0 {
            self.short[side].look(payload);
        } else if self.version.is_none() {
            match long_header(payload) {
                Some(version) => self.version = Some(version),
                None => self.odd = true,
            }
        }
    }

    /// Takes each side for the other.
    pub fn turn(&mut self) {
        self.short.swap(0, 1);
        self.spin.swap(0, 1);
    }

    pub fn is_shown(&self) -> bool {
        self.version.is_some() || (!self.odd && self.short.iter().any(Short::is_shown))
    }

    /// As the spin bit of a side shows it.
    pub fn base_rtt_us(&self, side: usize) -> Option<u32> {
        self.spin[side].base_rtt_us()
    }

    pub fn version(&self) -> Option<String> {
        Some(match self.version? {
            1 => "1".into(),
            VERSION_2 => "2".into(),
            draft if draft >> 8 == DRAFTS => format!("draft-{}", draft & 0xff),
            other => format!("0x{other:08x}"),
        })
    }
}

impl Short {
    fn look(&mut self, payload: &[u8]) {
        self.count = self.count.saturating_add(1);
        self.first_bytes |= 1 << (payload[0] & 31);
        let Some(id) = payload.get(1..5).and_then(|id| <[u8; 4]>::try_from(id).ok()) else { return };
        self.id_changed |= *self.id.get_or_insert(id) != id;
    }

    fn is_shown(&self) -> bool {
        let same_id = self.id.is_some_and(|id| id != [0; 4]) && !self.id_changed;
        self.count >= SHORT && self.first_bytes.count_ones() >= DIFFERENT && same_id
    }
}

/// RFC 9369 section 3.1.
const VERSION_2: u32 = 0x6b33_43cf;
/// Upper bytes of the drafts' versions (RFC 9000 section 15, draft-ietf-quic-transport).
const DRAFTS: u32 = 0x00ff_0000;
/// Of mvfst, upper three bytes.
const MVFST: u32 = 0x00fa_ceb0;

/// The version of a long header whose connection IDs are as long as they may be.
fn long_header(payload: &[u8]) -> Option<u32> {
    let version = u32::from_be_bytes(payload.get(1..5)?.try_into().ok()?);
    let known = matches!(version, 1 | VERSION_2) || matches!(version >> 8, DRAFTS | MVFST);
    if !known || payload[0] & 0x40 == 0 {
        return None;
    }
    let to = *payload.get(5)?;
    // What the snapshot length cut off cannot contradict.
    let from = payload.get(6 + usize::from(to)).copied().unwrap_or(0);
    (to <= MOST_ID && from <= MOST_ID).then_some(version)
}
