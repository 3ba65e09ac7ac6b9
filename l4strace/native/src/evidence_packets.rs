//! The packets behind findings, from one more pass over a capture: see `l4strace/evidence_packets/search.py`.

use std::collections::{HashMap, HashSet};

use crate::numbered::{Numbering, Place};
use crate::packet::{ecn, flag, Packet};
use crate::read::{PacketStream, ReadError};

/// Packets that are looked at together: what changed is known within them, as is whether a span is over.
const BATCH: usize = 32_768;

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct Lookup {
    /// Frames that are wanted in any case.
    pub frames: HashSet<u64>,
    /// The flow whose telling packets are wanted, too.
    pub flow: Option<u32>,
    /// When they have to have passed.
    pub span_ns: Option<(i64, i64)>,
    /// Retransmissions tell something.
    pub losses: bool,
    /// Feedback of the flow is AccECN's.
    pub accecn: bool,
    /// How many more telling packets are wanted.
    pub around: usize,
}

/// A packet that a lookup wants, and what changed against the one before in its direction.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub lookup: u32,
    pub packet: Packet,
    pub place: Option<Place>,
    pub changes: Changes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// None at the first, and in the handshake, where ACE is a code and no counter.
    pub ace_before: Option<u8>,
    pub ceb_before: Option<u32>,
    /// All its bytes passed before.
    pub repeats: bool,
    /// A final ACK.
    pub code: bool,
}

/// What a direction showed so far in this batch.
#[derive(Default)]
struct Side {
    ace: Option<u8>,
    ceb: Option<u32>,
    end: Option<i64>,
}

/// All lookups in one capture. `codes` are frames of final ACKs, `offset_ns` takes the capture's clock to
/// that of the run.
pub struct Search {
    pub stream: PacketStream,
    pub numbering: Numbering,
    pub lookups: Vec<Lookup>,
    pub codes: HashSet<u64>,
    pub offset_ns: i64,
    pub found: Vec<Found>,
}

impl Search {
    /// Searches the next batch; false when there is nothing left to find.
    pub fn batch(&mut self) -> Result<bool, ReadError> {
        let open = || self.lookups.iter().filter(|one| one.is_open());
        let mut flows: Vec<u32> = open().filter_map(|one| one.flow).collect();
        flows.sort_unstable();
        flows.dedup();
        let mut frames: Vec<u64> = open().flat_map(|one| one.frames.iter().copied()).collect();
        frames.sort_unstable();
        let mut sides: HashMap<Option<(u32, bool)>, Side> = HashMap::new();
        let (mut last, mut first_ns) = (None, i64::MAX);
        for _ in 0..BATCH {
            let Some(packet) = self.stream.next()? else { break };
            let place = self.numbering.place(packet);
            let ts_ns = packet.ts_ns + self.offset_ns;
            (last, first_ns) = (Some(packet.frame), first_ns.min(ts_ns));
            let flow = place.map(|place| place.flow);
            // A packet between two that are looked at changes what is known of the later.
            if !flow.is_some_and(|flow| flows.contains(&flow)) && frames.binary_search(&packet.frame).is_err()
            {
                continue;
            }
            let packet = Packet { ts_ns, ..*packet };
            let side = sides.entry(place.map(|place| (place.flow, place.forward))).or_default();
            let changes = side.next(&packet, place.as_ref(), self.codes.contains(&packet.frame));
            for (lookup, one) in self.lookups.iter_mut().enumerate() {
                let telling = one.around > 0 && one.is_told_by(&packet, flow, changes);
                one.around -= usize::from(telling);
                if telling || one.frames.contains(&packet.frame) {
                    self.found.push(Found { lookup: lookup as u32, packet, place, changes });
                }
            }
        }
        let Some(last) = last else { return Ok(false) };
        for one in &mut self.lookups {
            // What a span has not shown by its end it will not show later.
            if one.span_ns.is_some_and(|(_, end)| end < first_ns) {
                one.around = 0;
            }
            one.frames.retain(|&frame| frame > last);
        }
        Ok(self.lookups.iter().any(Lookup::is_open))
    }
}

impl Lookup {
    /// Whether more packets may be found.
    fn is_open(&self) -> bool {
        self.around > 0 || !self.frames.is_empty()
    }

    /// Whether a packet of the flow, in the span, shows more than that data went by.
    fn is_told_by(&self, packet: &Packet, flow: Option<u32>, changes: Changes) -> bool {
        if flow.is_none() || flow != self.flow {
            return false;
        }
        let ace = packet.ace();
        // Under classic ECN the first packet without ECE or CWR shows nothing.
        let changed = changes.ace_before.is_some_and(|before| before != ace) && (self.accecn || ace != 0);
        let control = packet.flags & (flag::SYN | flag::RST) != 0;
        let shown = changed || control || changes.code || packet.ip_ecn == ecn::CE;
        let shown = shown || (changes.repeats && self.losses);
        shown && self.span_ns.is_none_or(|(start, end)| (start..=end).contains(&packet.ts_ns))
    }
}

impl Side {
    fn next(&mut self, packet: &Packet, place: Option<&Place>, code: bool) -> Changes {
        let counts = packet.flags & flag::SYN == 0 && !code;
        let ceb = packet.accecn.and_then(|option| option.ceb);
        let end = place.map(|place| place.seq + i64::from(packet.payload_len));
        let repeats = packet.payload_len > 0 && end.zip(self.end).is_some_and(|(end, before)| end <= before);
        let ace_before = self.ace.filter(|_| counts);
        let changes = Changes { ace_before, ceb_before: self.ceb, repeats, code };
        if counts {
            self.ace = Some(packet.ace());
        }
        self.ceb = ceb.or(self.ceb);
        self.end = self.end.max(end);
        changes
    }
}
