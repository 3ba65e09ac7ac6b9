//! The messages of UDP Prague by type and exact length (`pkt_format.h` of L4STeam/udp_prague); numbers are big-endian.

const BULK: u8 = 1;
const FRAME: u8 = 2;
const ACK: u8 = 17;
const BLOCK: u8 = 18;
const ACK_BYTES: u32 = 26;
/// Of a block without its reports, which have two bytes each.
const BLOCK_BYTES: usize = 7;
/// Least data of a sender (option `-m`), and bytes before the payload of a frame.
const LEAST_DATA: u32 = 25;

/// One message as far as the capture holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    Data(Data),
    Ack(Ack),
    Block(Block<'a>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Clock of the sender (us), and the receiver's that it echoes; 0: none yet.
    pub stamp: u32,
    pub echoed: u32,
    /// From 1.
    pub number: u32,
    /// Of a transfer, which takes what the path gives; frames come at their own rate.
    pub bulk: bool,
}

/// Of one packet: counters of all that arrived so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    pub number: u32,
    pub stamp: u32,
    pub echoed: u32,
    pub received: u32,
    pub ce: u32,
    /// Falls when a packet arrives late.
    pub lost: u32,
    /// A packet arrived with neither ECT(1) nor CE.
    pub error: bool,
}

/// Of the packets from a number on, two bytes each, of which the capture may hold fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    pub begin: u32,
    pub count: u16,
    pub reports: &'a [u8],
}

impl<'a> Message<'a> {
    /// The message in a datagram of `length`; `None` where it is none, or the capture cut off what tells.
    #[inline]
    pub fn parse(payload: &'a [u8], length: u32) -> Option<Self> {
        match *payload.first()? {
            kind @ (BULK | FRAME) if length >= LEAST_DATA => {
                let fields = payload.get(1..)?.first_chunk::<12>()?;
                Some(Message::Data(Data {
                    stamp: be32(fields, 0),
                    echoed: be32(fields, 4),
                    number: be32(fields, 8),
                    bulk: kind == BULK,
                }))
            }
            ACK if length == ACK_BYTES => payload.get(1..)?.first_chunk().map(ack).map(Message::Ack),
            BLOCK => {
                let count = u16::from_be_bytes([*payload.get(5)?, *payload.get(6)?]);
                let exact = length as usize == BLOCK_BYTES + 2 * usize::from(count);
                let reports = &payload[BLOCK_BYTES..];
                exact.then_some(Message::Block(Block { begin: be32(payload, 1), count, reports }))
            }
            _ => None,
        }
    }
}

fn ack(fields: &[u8; ACK_BYTES as usize - 1]) -> Ack {
    Ack {
        number: be32(fields, 0),
        stamp: be32(fields, 4),
        echoed: be32(fields, 8),
        received: be32(fields, 12),
        ce: be32(fields, 16),
        lost: be32(fields, 20),
        error: fields[24] != 0,
    }
}

#[inline(always)]
fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
