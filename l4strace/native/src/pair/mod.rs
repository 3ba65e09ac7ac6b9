//! Several captures of the same conversations: every packet followed from the capture nearer to its
//! sender to the one nearer to its receiver.
//!
//! A second pass over the files, in step by time, after tracking has shown which conversations they
//! share and where each capture stood. Memory is bounded by the packets on their way between them.

mod bursts;
mod clock;
mod datagram;
mod delay;
mod hash;
mod histogram;
mod interfaces;
mod key;
mod link;
mod order;
mod path;
mod plan;
mod shared;
mod window;

pub use clock::Offset;
pub use delay::{Delay, RoundDelay, Rounds};
pub use interfaces::{Apart, Interfaces};
pub use link::Span;
pub use order::Halves;
pub use path::Path;
pub use plan::Facts;
pub use shared::{shared, Shared};

use std::collections::HashMap;

use datagram::Datagram;
use key::{Keyed, Segment, Sighting};
use link::{Match, Seen};
use plan::{spread, Plan, Way};
use window::Waiting;

use crate::packet::Packet;
use crate::read::{self, Input, PacketStream, ReadError, Sink};
use crate::track::{Retrace, UdpRetrace};

/// Packets that must have kept their IP id before another id means another packet.
const KEPT_IDS: u64 = 8;
/// What so many packets showed of their ids counts; what came before them counts half.
const RECENT_IDS: u64 = 1024;

/// One capture, as tracking left it.
pub struct Tracked {
    pub input: Input,
    pub span: Span,
    /// By local flow; those of UDP follow those of TCP.
    pub facts: Vec<Facts>,
    /// First frame of each local flow of TCP.
    pub starts: Vec<(u64, u32)>,
    pub udp: UdpRetrace,
    pub rounds: Rounds,
}

/// What comes of it.
pub struct Pairing {
    /// Clock of each source against that of the first; half the smallest round trip between two
    /// captures bounds the error.
    pub clocks: Vec<Offset>,
    pub paths: Vec<Path>,
    /// By source and row of its rounds.
    pub delays: Vec<Vec<Option<RoundDelay>>>,
}

/// A second reader of one capture.
struct Reader {
    stream: PacketStream,
    flows: Retrace,
    udp: UdpRetrace,
    /// Timestamp of the last packet, on the capture's own clock; `None` at the end.
    reached_ns: Option<i64>,
    rough_clock_ns: i64,
}

/// Matches captures step by step.
pub struct Pairer {
    plan: Plan,
    readers: Vec<Reader>,
    rounds: Vec<Rounds>,
}

impl Pairer {
    /// `None` when no conversation was seen twice, or an input cannot be read a second time.
    pub fn new(mut inputs: Vec<Tracked>) -> Result<Option<Self>, ReadError> {
        let facts: Vec<_> = inputs.iter().map(|input| input.facts.clone()).collect();
        let spans: Vec<_> = inputs.iter().map(|input| input.span).collect();
        let plan = Plan::new(&facts, &spans);
        if plan.links.is_empty() || !inputs.iter().all(|tracked| tracked.input.is_readable_again()) {
            return Ok(None);
        }
        let clocks = plan.rough_clocks(inputs.len());
        let mut readers = Vec::with_capacity(inputs.len());
        for (input, rough_clock_ns) in inputs.iter_mut().zip(clocks) {
            readers.push(Reader {
                stream: read::open(&input.input)?,
                flows: Retrace::new(std::mem::take(&mut input.starts)),
                udp: std::mem::take(&mut input.udp),
                reached_ns: Some(input.span.first_ns),
                rough_clock_ns,
            });
        }
        let rounds = inputs.into_iter().map(|input| input.rounds).collect();
        Ok(Some(Pairer { plan, readers, rounds }))
    }

    /// Reads one buffer of the capture that is behind; false when all are at their end.
    pub fn step(&mut self) -> Result<bool, ReadError> {
        let behind = |reader: &Reader| reader.reached_ns.map(|ns| ns.saturating_sub(reader.rough_clock_ns));
        let readers = self.readers.iter().enumerate();
        let next = readers.filter_map(|(s, reader)| behind(reader).map(|ns| (ns, s))).min();
        let Some((_, source)) = next else { return Ok(false) };
        let Reader { stream, flows, udp, reached_ns, .. } = &mut self.readers[source];
        let (plan, rounds) = (&mut self.plan, &mut self.rounds);
        let mut sight = Sight { plan, rounds, source: source as u16, flows, udp, reached: *reached_ns };
        let more = stream.next_batch(&mut sight)?;
        let reached = sight.reached;
        *reached_ns = if more { reached } else { None };
        self.expire(source as u16);
        Ok(true)
    }

    /// Packets of the other captures that this one should have seen by now.
    fn expire(&mut self, source: u16) {
        let reached = self.readers[usize::from(source)].reached_ns;
        let ways = &mut self.plan.ways;
        for link in self.plan.links.iter_mut().filter(|link| link.sources.contains(&source)) {
            let sources = link.sources;
            let waiting_side = link.side(source) ^ 1;
            link.expire(waiting_side, reached, |missing| {
                let path = &mut ways[missing.path as usize].path;
                let near = path.near == sources[missing.side];
                *(if near { &mut path.lost } else { &mut path.appeared }) += 1;
            });
        }
    }

    pub fn finish(mut self) -> Pairing {
        for source in 0..self.readers.len() as u16 {
            self.readers[usize::from(source)].reached_ns = None;
            self.expire(source);
        }
        let offset = |link: &link::Link| link.bounds.offset().ns;
        let clocks = spread(self.readers.len(), &self.plan.links, offset);
        let delays = self.delays();
        let uncertainty = |source: usize| {
            let links = self.plan.links.iter().filter(|l| l.sources.contains(&(source as u16)));
            links.filter_map(|l| l.bounds.offset().uncertainty_ns).min()
        };
        let clocks: Vec<Offset> = clocks
            .into_iter()
            .enumerate()
            .map(|(source, ns)| Offset { ns, uncertainty_ns: uncertainty(source) })
            .collect();
        let paths = self.plan.ways.into_iter().map(|way| on_one_clock(way.path, &clocks)).collect();
        Pairing { clocks, paths, delays }
    }

    /// Delays above the smallest that any packet of the same two captures and the same way had.
    fn delays(&mut self) -> Vec<Vec<Option<RoundDelay>>> {
        let mut least: HashMap<(u16, u16), i64> = HashMap::new();
        for path in self.plan.ways.iter().map(|way| &way.path) {
            if let Some(ns) = path.owd_min_ns {
                least.entry((path.near, path.far)).and_modify(|l| *l = ns.min(*l)).or_insert(ns);
            }
        }
        let mut bases: Vec<HashMap<u32, i64>> = vec![HashMap::new(); self.rounds.len()];
        for way in &mut self.plan.ways {
            let Some(&ns) = least.get(&(way.path.near, way.path.far)) else { continue };
            way.path.base_ns = Some(ns);
            bases[usize::from(way.path.near)].insert(way.ids[0], ns);
            if way.ends {
                bases[usize::from(way.path.far)].insert(way.ids[1], ns);
            }
        }
        let rounds = self.rounds.iter().zip(&bases);
        rounds.map(|(rounds, base)| rounds.above_us(|id| base.get(&id).copied())).collect()
    }
}

/// The packets of one capture, each on every link of its conversation.
struct Sight<'p> {
    plan: &'p mut Plan,
    rounds: &'p mut [Rounds],
    source: u16,
    flows: &'p mut Retrace,
    udp: &'p mut UdpRetrace,
    reached: Option<i64>,
}

impl Sink for Sight<'_> {
    fn packets(&mut self, packets: &[Packet]) {
        for packet in packets {
            self.reached = self.reached.max(Some(packet.ts_ns));
            if let Some(at) = self.flows.place(packet) {
                self.see(&Segment(packet), at.flow, at.forward);
            }
        }
    }

    fn datagram(&mut self, packet: &Packet, payload: &[u8]) {
        self.reached = self.reached.max(Some(packet.ts_ns));
        if let Some((flow, forward)) = self.udp.place(packet) {
            self.see(&Datagram(packet, payload), flow, forward);
        }
    }
}

impl Sight<'_> {
    #[inline]
    fn see(&mut self, keyed: &impl Keyed, flow: u32, forward: bool) {
        let Sight { plan, rounds, source, .. } = self;
        let Some(legs) = plan.legs[usize::from(*source)].get(flow as usize) else { return };
        let side = usize::from(!forward);
        for leg in legs {
            let link = &mut plan.links[leg.link as usize];
            let path = leg.paths[side];
            let way = &mut plan.ways[path as usize];
            let link_side = link.side(*source);
            keyed.keys(leg, side, |segment, key| {
                let seen = Sighting::new(keyed.packet(), segment, leg.segment_size[side]);
                match link.see(link_side, key, Waiting { seen, path }, way.keeps_ids()) {
                    Seen::Twice(found) => way.matched(link, &found, rounds),
                    Seen::OtherId => way.learn_id(false),
                    Seen::Once => {}
                }
            });
        }
    }
}

impl Way {
    /// Packets arrive with the IP id that they left with, as far as most of them showed lately.
    #[inline]
    fn keeps_ids(&self) -> bool {
        self.ids_kept > self.ids_changed.max(KEPT_IDS)
    }

    #[inline]
    fn learn_id(&mut self, kept: bool) {
        *(if kept { &mut self.ids_kept } else { &mut self.ids_changed }) += 1;
        if self.ids_kept + self.ids_changed > RECENT_IDS {
            self.ids_kept /= 2;
            self.ids_changed /= 2;
        }
    }

    #[inline]
    fn matched(&mut self, link: &mut link::Link, found: &Match, rounds: &mut [Rounds]) {
        let near_side = link.side(self.path.near);
        let (near, far) = (&found.seen[near_side], &found.seen[near_side ^ 1]);
        let sure = !self.is_ambiguous(found, near, far);
        self.path.matched(near, far, sure);
        if !sure {
            return;
        }
        let owd_ns = far.ts_ns - near.ts_ns;
        if near_side == 0 {
            link.bounds.outward(owd_ns);
        } else {
            link.bounds.homeward(owd_ns);
        }
        let marked = path::is_mark(near.ecn, far.ecn);
        rounds[usize::from(self.path.near)].add(self.ids[0], near.ts_ns, owd_ns, marked);
        // A capture between two others has one delay a round: that of its onward way.
        if self.ends {
            rounds[usize::from(self.path.far)].add(self.ids[1], far.ts_ns, owd_ns, marked);
        }
        self.path.delayed(owd_ns, marked);
        self.path.bursts.add(near.ts_ns, near.frame, marked);
    }

    /// Karn's rule between two captures: a packet that was lost on the way and its retransmission have one
    /// key where no timestamps tell them apart, and their difference is no delay. On a path that keeps
    /// IP ids another id is another packet.
    #[inline]
    fn is_ambiguous(&mut self, found: &Match, near: &Sighting, far: &Sighting) -> bool {
        if near.ip_id == 0 || far.ip_id == 0 || near.ip_id == far.ip_id {
            if near.ip_id != 0 && near.ip_id == far.ip_id {
                self.learn_id(true);
            }
            return found.ambiguous;
        }
        self.learn_id(false);
        found.ambiguous || self.ids_kept > self.ids_changed
    }
}

fn on_one_clock(mut path: Path, clocks: &[Offset]) -> Path {
    path.clock_offset_ns = clocks[usize::from(path.far)].ns.saturating_sub(clocks[usize::from(path.near)].ns);
    path.owd_min_ns = path.owd_min_ns.map(|ns| ns.saturating_sub(path.clock_offset_ns));
    path
}
