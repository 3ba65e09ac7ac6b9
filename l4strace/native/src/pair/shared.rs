//! What datagrams that several captures sampled show before all are matched: how the clocks relate, roughly, and which
//! capture stood nearer to the client.

use std::collections::HashMap;

use super::order::Halves;
use crate::track::{Sample, Sampled};

/// What one capture knows of one conversation, compared with the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Time of a datagram that the others show as well.
    pub shared_ns: Option<i64>,
    pub halves: Halves,
}

/// Times by two clocks that differ by more than this show nothing by themselves; as long as a packet may wait.
const ALIKE_NS: i64 = super::link::PATIENCE_NS;

/// One conversation as several captures sampled it, of the client and of the server.
pub fn shared(captures: &[&[Sample; 2]]) -> Vec<Shared> {
    let sets = captures.iter().map(|sides| sides.each_ref().map(by_digest)).collect::<Vec<_>>();
    let anchor = anchor(&sets);
    let of = |set: &[Set<'_>; 2]| Shared {
        shared_ns: anchor.and_then(|(side, digest)| Some(set[side].get(&digest)?.ts_ns)),
        halves: halves(&sets[0], set),
    };
    sets.iter().map(of).collect()
}

type Set<'s> = HashMap<u64, &'s Sampled>;

fn by_digest(sample: &Sample) -> Set<'_> {
    sample.distinct().map(|one| (one.digest, one)).collect()
}

/// The datagram that most captures sampled, two at least.
fn anchor(sets: &[[Set<'_>; 2]]) -> Option<(usize, u64)> {
    let mut seen: HashMap<(usize, u64), usize> = HashMap::new();
    for (side, set) in sets.iter().flat_map(|sides| sides.iter().enumerate()) {
        set.keys().for_each(|&digest| *seen.entry((side, digest)).or_default() += 1);
    }
    let most = seen.into_iter().filter(|(_, captures)| *captures > 1);
    most.max_by_key(|&(key, captures)| (captures, key)).map(|(key, _)| key)
}

/// How far from the server the capture `own` stood, compared with `first`.
///
/// Datagrams of both directions show it whatever the clocks are; those of one by the routers that they passed, or
/// else by the clocks.
fn halves(first: &[Set<'_>; 2], own: &[Set<'_>; 2]) -> Halves {
    let ways = [0, 1].map(|side| Way::between(&first[side], &own[side]));
    let farther = match ways {
        [Some(to), Some(from)] => to.least_ns.saturating_sub(from.most_ns),
        [Some(to), None] => to.farther(),
        [None, Some(from)] => from.farther().saturating_neg(),
        [None, None] => return Halves::default(),
    };
    Halves { to_server_ns: Some(farther.saturating_neg()), to_client_ns: None }
}

/// Datagrams of one direction that two captures sampled, the second minus the first.
struct Way {
    least_ns: i64,
    most_ns: i64,
    /// Routers that the datagrams passed between them, below 0 where they came to the second first.
    hops: i64,
}

impl Way {
    fn between(first: &Set<'_>, second: &Set<'_>) -> Option<Self> {
        let both = first.iter().filter_map(|(digest, one)| Some((one, second.get(digest)?)));
        let steps = both.map(|(one, other)| {
            (other.ts_ns.saturating_sub(one.ts_ns), i64::from(one.ttl) - i64::from(other.ttl))
        });
        steps.fold(None, |way, (ns, hops)| match way {
            None => Some(Way { least_ns: ns, most_ns: ns, hops }),
            Some(way) => Some(Way {
                least_ns: ns.min(way.least_ns),
                most_ns: ns.max(way.most_ns),
                hops: hops.min(way.hops),
            }),
        })
    }

    /// How much farther from the sender the second capture stood; a router counts for more than any clock.
    fn farther(&self) -> i64 {
        let by_clock = if self.least_ns.saturating_abs() < ALIKE_NS { self.least_ns } else { 0 };
        if self.hops == 0 {
            by_clock
        } else {
            self.hops.saturating_mul(ALIKE_NS)
        }
    }
}
