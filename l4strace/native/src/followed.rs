//! One more pass over a capture: packets with their place in their conversation and what they did there.

use std::collections::HashSet;

use crate::numbered::{Numbering, Place};
use crate::packet::Packet;
use crate::read::{PacketStream, ReadError};
use crate::track::{Effect, Effects};

/// Packets that are read at once: rows enough for a table, few enough for the cache.
const BATCH: usize = 32_768;

/// The packets to hand on.
#[derive(Clone, Debug, Default)]
pub struct Only {
    /// Those of these conversations; None: all, and those of none.
    pub flows: Option<HashSet<u32>>,
    /// Those of this time, on the capture's own clock.
    pub span_ns: Option<(i64, i64)>,
    /// Behind this frame, reading ends where that time is over. Without it, it goes on, as later packets may be of an
    /// earlier time: sections, interfaces and clocks that are set each have their own.
    pub ends_behind: Option<u64>,
    /// Those that acknowledge.
    pub acks: bool,
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
    only: Only,
}

impl Followed {
    pub fn new(stream: PacketStream, numbering: Numbering, follow: bool, only: Only) -> Self {
        Followed { stream, numbering, effects: follow.then(Effects::default), only }
    }

    /// Rows of the next packets; None when no more can come.
    pub fn batch(&mut self) -> Result<Option<Vec<Row>>, ReadError> {
        let (mut rows, mut read) = (Vec::new(), 0);
        // The first packet of this batch, and the earliest.
        let (mut frame, mut first_ns) = (None, i64::MAX);
        while read < BATCH {
            let Some(packet) = self.stream.next()? else { break };
            read += 1;
            frame.get_or_insert(packet.frame);
            first_ns = first_ns.min(packet.ts_ns);
            let place = self.numbering.place(packet);
            if !self.only.is_of(place.as_ref()) {
                continue;
            }
            let effect = match (&mut self.effects, &place) {
                (Some(effects), Some(at)) => effects.of(packet, at),
                _ => Effect::default(),
            };
            if self.only.has(packet, &effect) {
                rows.push(Row { packet: *packet, place, effect });
            }
        }
        if let Some(effects) = &mut self.effects {
            effects.forget_rounds();
        }
        Ok(frame.filter(|&frame| !self.only.is_over(frame, first_ns)).map(|_| rows))
    }
}

impl Only {
    fn is_of(&self, place: Option<&Place>) -> bool {
        self.flows.as_ref().is_none_or(|flows| place.is_some_and(|place| flows.contains(&place.flow)))
    }

    /// Whether no packet is wanted from this frame on, none of which is of an earlier time.
    fn is_over(&self, frame: u64, first_ns: i64) -> bool {
        let is_behind = self.ends_behind.is_some_and(|last| frame > last);
        is_behind && self.span_ns.is_some_and(|(_, end)| first_ns > end)
    }

    fn has(&self, packet: &Packet, effect: &Effect) -> bool {
        let acks = !self.acks || effect.acked.is_some();
        acks && self.span_ns.is_none_or(|(start, end)| (start..=end).contains(&packet.ts_ns))
    }
}
