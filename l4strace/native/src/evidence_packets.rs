//! The packets behind findings, from one more pass over a capture: see `l4strace/evidence_packets/search.py`.

use std::collections::{HashMap, HashSet};

use crate::numbered::{Numbering, Place};
use crate::packet::{ecn, flag, Packet};
use crate::read::{PacketStream, ReadError};

/// Packets that are looked at together: what changed is known within them, as are the ends of spans.
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

/// Ends of a batch, and those of its packets that any lookup may want.
struct Batch {
    frames: (u64, u64),
    times: (i64, i64),
    rows: Vec<(Packet, Option<Place>)>,
}

impl Search {
    /// Searches the next batch; false when there is nothing left to find.
    pub fn batch(&mut self) -> Result<bool, ReadError> {
        let Some(batch) = self.read()? else { return Ok(false) };
        for one in &mut self.lookups {
            // What a span has not shown by its end it will not show later.
            if one.span_ns.is_some_and(|(_, end)| end < batch.times.0) {
                one.around = 0;
            }
            one.frames.retain(|&frame| frame >= batch.frames.0);
        }
        if !self.lookups.iter().any(Lookup::is_open) {
            return Ok(false);
        }
        let searched: Vec<bool> = self.lookups.iter().map(|one| one.is_due(&batch)).collect();
        if searched.contains(&true) {
            self.take(&batch, &searched);
        }
        Ok(true)
    }

    fn read(&mut self) -> Result<Option<Batch>, ReadError> {
        let open = || self.lookups.iter().filter(|one| one.is_open());
        let mut flows: Vec<u32> = open().filter_map(|one| one.flow).collect();
        flows.sort_unstable();
        flows.dedup();
        let mut frames: Vec<u64> = open().flat_map(|one| one.frames.iter().copied()).collect();
        frames.sort_unstable();
        let mut batch: Option<Batch> = None;
        for _ in 0..BATCH {
            let Some(packet) = self.stream.next()? else { break };
            let place = self.numbering.place(packet);
            let (frame, at) = (packet.frame, packet.ts_ns + self.offset_ns);
            let batch = batch.get_or_insert_with(|| Batch {
                frames: (frame, frame),
                times: (at, at),
                rows: Vec::new(),
            });
            batch.frames.1 = frame;
            batch.times = (batch.times.0.min(at), batch.times.1.max(at));
            if place.is_some_and(|place| flows.contains(&place.flow)) || frames.binary_search(&frame).is_ok()
            {
                batch.rows.push((Packet { ts_ns: at, ..*packet }, place));
            }
        }
        Ok(batch)
    }

    fn take(&mut self, batch: &Batch, searched: &[bool]) {
        let due = |lookups: &[Lookup], wants: &dyn Fn(&Lookup) -> bool| {
            lookups.iter().zip(searched).any(|(one, due)| *due && wants(one))
        };
        let mut sides: HashMap<Option<(u32, bool)>, Side> = HashMap::new();
        for (packet, place) in &batch.rows {
            let flow = place.map(|place| place.flow);
            // A packet between two that are looked at changes what is known of the later.
            if !due(&self.lookups, &|one| one.names(packet) || (flow.is_some() && one.flow == flow)) {
                continue;
            }
            let side = sides.entry(place.map(|place| (place.flow, place.forward))).or_default();
            let changes = side.next(packet, place.as_ref(), self.codes.contains(&packet.frame));
            for (lookup, one) in self.lookups.iter_mut().enumerate().filter(|(at, _)| searched[*at]) {
                let telling = one.around > 0 && one.is_told_by(packet, flow, changes);
                one.around -= usize::from(telling);
                if telling || one.names(packet) {
                    let lookup = lookup as u32;
                    self.found.push(Found { lookup, packet: *packet, place: *place, changes });
                }
            }
        }
    }
}

impl Lookup {
    /// Whether more packets may be found.
    fn is_open(&self) -> bool {
        self.around > 0 || !self.frames.is_empty()
    }

    fn is_due(&self, batch: &Batch) -> bool {
        let begun = self.span_ns.is_none_or(|(start, _)| start <= batch.times.1);
        let (first, last) = batch.frames;
        (self.around > 0 && begun) || self.frames.iter().any(|frame| (first..=last).contains(frame))
    }

    fn names(&self, packet: &Packet) -> bool {
        self.frames.contains(&packet.frame)
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
