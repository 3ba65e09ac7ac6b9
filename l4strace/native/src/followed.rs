//! One more pass over a capture: packets with their place in their conversation and what they did there.

use crate::numbered::{Numbering, Place};
use crate::packet::Packet;
use crate::read::{PacketStream, ReadError};
use crate::track::{Effect, Effects};

/// Packets that are read at once: rows enough for a table, few enough for the cache.
const BATCH: usize = 32_768;

/// Packets in a row that are later than a time, which is over then: more than queues of a capture hold back.
const PART: usize = BATCH / 4;

/// Some of the packets.
#[derive(Clone, Debug, Default)]
pub struct Stretch {
    /// Those of these conversations, in ascending order; None: all, and those of none.
    pub flows: Option<Vec<u32>>,
    /// Those of this time, on the capture's own clock.
    pub span_ns: Option<(i64, i64)>,
    /// Behind this frame, nothing more is looked for where that time is over. Without it, later packets may be of an
    /// earlier time: sections, interfaces and clocks that are set each have their own.
    pub ends_behind: Option<u64>,
}

/// A packet, where its conversation was kept its place there, and what it did.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub packet: Packet,
    pub place: Option<Place>,
    pub effect: Effect,
}

pub struct Followed {
    pub stream: PacketStream,
    numbering: Numbering,
    /// None: packets are not followed, and did nothing.
    effects: Option<Effects>,
    /// The packets to hand on; those that are over are gone.
    wanted: Vec<Stretch>,
    /// Only those that acknowledge.
    acks: bool,
}

impl Followed {
    pub fn new(stream: PacketStream, numbering: Numbering, follow: bool, wanted: Vec<Stretch>) -> Self {
        Followed { stream, numbering, effects: follow.then(Effects::default), wanted, acks: false }
    }

    /// Hands on only packets that acknowledge.
    pub fn acks(self) -> Self {
        Followed { acks: true, ..self }
    }

    /// Rows of the next packets; None when no more can come.
    pub fn batch(&mut self) -> Result<Option<Vec<Row>>, ReadError> {
        let (mut rows, mut parts) = (Vec::new(), 0);
        while parts < BATCH / PART && !self.wanted.is_empty() && self.part(&mut rows)? {
            parts += 1;
        }
        if let Some(effects) = &mut self.effects {
            effects.forget_rounds();
        }
        Ok((parts > 0).then_some(rows))
    }

    /// Adds rows of the next packets; false when there are none.
    fn part(&mut self, rows: &mut Vec<Row>) -> Result<bool, ReadError> {
        // The first packet of this part, and the earliest.
        let (mut frame, mut first_ns) = (None, i64::MAX);
        for _ in 0..PART {
            let Some(packet) = self.stream.next()? else { break };
            frame.get_or_insert(packet.frame);
            first_ns = first_ns.min(packet.ts_ns);
            let place = self.numbering.place(packet);
            let mut stretches = self.wanted.iter().filter(|one| one.is_of(place.as_ref())).peekable();
            if stretches.peek().is_none() {
                continue;
            }
            let wanted = stretches.any(|one| one.is_at(packet));
            let effect = match (&mut self.effects, &place) {
                (Some(effects), Some(at)) => effects.of(packet, at, wanted),
                _ => Effect::default(),
            };
            if wanted && (!self.acks || effect.acked.is_some()) {
                rows.push(Row { packet: *packet, place, effect });
            }
        }
        self.wanted.retain(|one| !frame.is_some_and(|frame| one.is_over(frame, first_ns)));
        Ok(frame.is_some())
    }
}

impl Stretch {
    fn is_of(&self, place: Option<&Place>) -> bool {
        let Some(flows) = &self.flows else { return true };
        place.is_some_and(|place| flows.binary_search(&place.flow).is_ok())
    }

    fn is_at(&self, packet: &Packet) -> bool {
        self.span_ns.is_none_or(|(start, end)| (start..=end).contains(&packet.ts_ns))
    }

    /// Whether no packet is wanted from this frame on, none of which is of an earlier time.
    fn is_over(&self, frame: u64, first_ns: i64) -> bool {
        let is_behind = self.ends_behind.is_some_and(|last| frame > last);
        is_behind && self.span_ns.is_some_and(|(_, end)| first_ns > end)
    }
}
