//! Who is matched with whom: the captures that share conversations, and their order on the path.

use std::collections::BTreeMap;

use super::clock::median;
use super::link::{Link, Span};
use super::order::{from_client, Halves};
use super::path::Path;

/// What tracking knows of one conversation of one capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Number of the conversation over all captures.
    pub number: u32,
    /// Time of a packet that the other captures show as well: its SYN where that is the first, or a datagram that
    /// nothing else can be taken for.
    pub shared_ns: Option<i64>,
    pub halves: Halves,
    pub udp: bool,
    /// By side of the sender, client first: largest payload seen, whether it is a super-packet, and
    /// the payload that one packet on the wire can hold.
    pub max_payload: [u32; 2],
    pub offloaded: [bool; 2],
    pub segment: [u32; 2],
    /// Over UDP, the bytes that datagrams are compared by: what the capture holds of each.
    pub digest_bytes: [u8; 2],
}

/// One conversation of one capture on one link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leg {
    pub link: u32,
    /// Paths of the two directions, client to server first.
    pub paths: [u32; 2],
    pub segment_size: [Option<u32>; 2],
    /// Of each datagram, what all captures hold.
    pub digest_bytes: [u8; 2],
}

/// A path and the local directional ids of its two captures.
#[derive(Clone, Debug)]
pub struct Way {
    pub path: Path,
    /// Directional id (2 * flow + direction) in the near and in the far capture.
    pub ids: [u32; 2],
    /// The far capture is the last on the path.
    pub ends: bool,
    /// Matches by key whose IP ids agree, and those whose ids do not.
    pub ids_kept: u64,
    pub ids_changed: u64,
}

/// The whole set-up.
#[derive(Debug, Default)]
pub struct Plan {
    pub links: Vec<Link>,
    pub ways: Vec<Way>,
    /// By source and local flow.
    pub legs: Vec<Vec<Vec<Leg>>>,
}

type Place = (u16, u32);

impl Plan {
    pub fn new(sources: &[Vec<Facts>], spans: &[Span]) -> Self {
        let mut flows: BTreeMap<u32, Vec<Place>> = BTreeMap::new();
        for (source, facts) in sources.iter().enumerate() {
            for (flow, fact) in facts.iter().enumerate() {
                flows.entry(fact.number).or_default().push((source as u16, flow as u32));
            }
        }
        let legs = sources.iter().map(|facts| vec![Vec::new(); facts.len()]).collect();
        let mut plan = Plan { legs, ..Plan::default() };
        for (&number, places) in flows.iter().filter(|(_, places)| places.len() > 1) {
            plan.conversation(number, places, sources, spans);
        }
        plan.rough_offsets(sources);
        plan
    }

    /// Links every two neighbors on the way from client to server.
    fn conversation(&mut self, number: u32, places: &[Place], sources: &[Vec<Facts>], spans: &[Span]) {
        let facts = |place: &Place| &sources[usize::from(place.0)][place.1 as usize];
        let halves = places.iter().map(|place| (place.0, facts(place).halves)).collect();
        let order = from_client(halves);
        let place = |source: u16| *places.iter().find(|p| p.0 == source).unwrap_or(&places[0]);
        let segment_size = [0, 1].map(|side| segment_size(places.iter().map(facts), side));
        let held = |side: usize| places.iter().map(|place| facts(place).digest_bytes[side]).min();
        let digest_bytes = [0, 1].map(|side| held(side).unwrap_or_default());
        for (at, pair) in order.windows(2).enumerate() {
            let (client_side, server_side) = (place(pair[0]), place(pair[1]));
            let link = self.link(pair[0], pair[1], spans);
            let paths = [self.ways.len() as u32, self.ways.len() as u32 + 1];
            self.way(number, true, [client_side, server_side], at + 2 == order.len());
            self.way(number, false, [server_side, client_side], at == 0);
            for (path, side) in paths.into_iter().zip([0, 1]) {
                let parts = facts(&client_side).udp && segment_size[side].is_some();
                self.ways[path as usize].path.in_part = parts;
            }
            for (source, flow) in [client_side, server_side] {
                self.legs[usize::from(source)][flow as usize].push(Leg {
                    link,
                    paths,
                    segment_size,
                    digest_bytes,
                });
            }
        }
    }

    fn way(&mut self, flow: u32, forward: bool, places: [Place; 2], ends: bool) {
        let path = Path { flow, forward, near: places[0].0, far: places[1].0, ..Path::default() };
        let ids = places.map(|place| 2 * place.1 + u32::from(!forward));
        self.ways.push(Way { path, ids, ends, ids_kept: 0, ids_changed: 0 });
    }

    fn link(&mut self, a: u16, b: u16, spans: &[Span]) -> u32 {
        let pair = [a.min(b), a.max(b)];
        let found = self.links.iter().position(|link| link.sources == pair);
        let at = found.unwrap_or_else(|| {
            self.links.push(Link::new(pair, pair.map(|s| spans[usize::from(s)]), 0));
            self.links.len() - 1
        });
        at as u32
    }

    /// Lines captures up by packets that both saw; captures without any are taken to agree.
    fn rough_offsets(&mut self, sources: &[Vec<Facts>]) {
        for link in &mut self.links {
            let shared = |side: usize| {
                let facts = &sources[usize::from(link.sources[side])];
                facts.iter().filter_map(|f| f.shared_ns.map(|ns| (f.number, ns))).collect::<BTreeMap<_, _>>()
            };
            let (left, right) = (shared(0), shared(1));
            let differences = left.iter().filter_map(|(n, a)| right.get(n).map(|b| b.wrapping_sub(*a)));
            link.rough_offset_ns = median(differences.collect()).unwrap_or(0);
        }
    }

    /// Rough clock of each source against that of source 0.
    pub fn rough_clocks(&self, sources: usize) -> Vec<i64> {
        spread(sources, &self.links, |link| link.rough_offset_ns)
    }
}

/// Carries the offsets of the links on from the first source of each group of linked ones.
pub fn spread(sources: usize, links: &[Link], offset: impl Fn(&Link) -> i64) -> Vec<i64> {
    let mut clocks: Vec<Option<i64>> = vec![None; sources];
    for start in 0..sources {
        clocks[start].get_or_insert(0);
        for _ in 0..links.len() {
            for link in links {
                let [a, b] = link.sources.map(usize::from);
                match (clocks[a], clocks[b]) {
                    (Some(clock), None) => clocks[b] = Some(clock.saturating_add(offset(link))),
                    (None, Some(clock)) => clocks[a] = Some(clock.saturating_sub(offset(link))),
                    _ => {}
                }
            }
        }
    }
    clocks.into_iter().map(Option::unwrap_or_default).collect()
}

/// Payload at which super-packets are to be cut up; `None` when no capture shows any.
fn segment_size<'a>(facts: impl Iterator<Item = &'a Facts> + Clone, side: usize) -> Option<u32> {
    if !facts.clone().any(|f| f.offloaded[side]) {
        return None;
    }
    let real = facts.clone().filter(|f| !f.offloaded[side] && f.max_payload[side] > 0);
    real.map(|f| f.max_payload[side]).min().or_else(|| facts.map(|f| f.segment[side]).min())
}
