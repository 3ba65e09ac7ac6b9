//! UDP Prague by the types, exact lengths and sequence numbers of its messages (`pkt_format.h` of L4STeam/udp_prague).

/// Data, frame data, acknowledgement of a packet, acknowledgement of a block.
const DATA: [u8; 2] = [1, 2];
const ACK: u8 = 17;
const BLOCK: u8 = 18;
const ACK_BYTES: u32 = 26;
/// Of a block without its reports, which have two bytes each.
const BLOCK_BYTES: u32 = 7;
/// Least data of a sender (option `-m`), and bytes before the payload of a frame.
const LEAST_DATA: u32 = 25;
/// Messages that fit; one in so many may not.
const FIT: u32 = 6;
const ODD_ONE_IN: u32 = 4;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prague {
    last: Option<u32>,
    data: u32,
    acks: u32,
    odd: u32,
}

impl Prague {
    pub fn look(&mut self, payload: &[u8], length: u32) {
        let be32 = |at: usize| Some(u32::from_be_bytes(payload.get(at..at + 4)?.try_into().ok()?));
        let fits = match payload[0] {
            kind if DATA.contains(&kind) && length >= LEAST_DATA => be32(9).map(|number| {
                let follows = self.last.is_none_or(|last| number.wrapping_sub(last).wrapping_sub(1) < 64);
                self.last = Some(number);
                self.data += u32::from(follows);
                follows
            }),
            ACK if length == ACK_BYTES => {
                self.acks += 1;
                Some(true)
            }
            BLOCK => payload.get(5..7).map(|n| {
                let reports = u32::from(u16::from_be_bytes([n[0], n[1]]));
                let exact = length == BLOCK_BYTES + 2 * reports;
                self.acks += u32::from(exact);
                exact
            }),
            _ => Some(false),
        };
        self.odd += u32::from(fits == Some(false));
    }

    /// Data one way and acknowledgements the other, as far as both were captured.
    pub fn is_shown(sides: &[Prague; 2], packets: [u64; 2]) -> bool {
        let fits = |side: &Prague, messages: u32| messages >= FIT && messages / ODD_ONE_IN >= side.odd;
        [(0, 1), (1, 0)].into_iter().any(|(data, acks)| {
            let sent = fits(&sides[data], sides[data].data);
            let answered = fits(&sides[acks], sides[acks].acks);
            (sent || packets[data] == 0) && (answered || packets[acks] == 0)
        })
    }
}
