//! The same conversation in two captures, by what its datagrams hold: a NAT between them changes its addresses and
//! ports, and clocks that are far apart its time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{UdpFlow, UdpFlows};

/// Sampled datagrams that two conversations have in common at least: one or two may be the same greeting.
const ENOUGH: usize = 4;

/// Gives conversations of different captures that carry the same datagrams one number, and one client.
///
/// `numbers` are those by addresses, by capture and kept conversation. One that has a partner already keeps it.
pub fn by_content(mut captures: Vec<&mut UdpFlows>, numbers: &mut [Vec<u32>]) {
    if captures.len() < 2 {
        return;
    }
    let first = numbers.iter().flatten().copied().min().unwrap_or(0);
    let kept: Vec<Vec<&UdpFlow>> = captures.iter().map(|udp| udp.kept().collect()).collect();
    let pairs = pairs(&kept, numbers);
    let mut turned: Vec<Vec<bool>> = numbers.iter().map(|flows| vec![false; flows.len()]).collect();
    // Pairs come by their first capture: when one gives its number away, that is settled.
    let (mut moved, mut taken) = (HashSet::new(), HashSet::new());
    for ([(source, flow), place], crossed) in pairs {
        let number = numbers[source][flow];
        if moved.contains(&place) || !taken.insert((place.0, number)) {
            continue;
        }
        moved.insert(place);
        turned[place.0][place.1] = turned[source][flow] != crossed;
        numbers[place.0][place.1] = number;
    }
    for (udp, turned) in captures.iter_mut().zip(turned) {
        udp.kept_mut().zip(turned).filter(|(_, turned)| *turned).for_each(|(flow, _)| flow.turn());
    }
    if !moved.is_empty() {
        close_gaps(numbers, first);
    }
}

type Place = (usize, usize);

/// Conversations without a partner that share datagrams, and whether the client of one is the server of the other: by
/// their first capture, and those that share most before others.
fn pairs(captures: &[Vec<&UdpFlow>], numbers: &[Vec<u32>]) -> Vec<([Place; 2], bool)> {
    let mut seen: HashMap<u32, usize> = HashMap::new();
    numbers.iter().flatten().for_each(|&number| *seen.entry(number).or_default() += 1);
    let mut holders: HashMap<u64, Vec<(Place, usize)>> = HashMap::new();
    for (source, flows) in captures.iter().enumerate() {
        for (flow, kept) in flows.iter().enumerate().filter(|(flow, _)| seen[&numbers[source][*flow]] == 1) {
            for (side, sample) in kept.samples.iter().enumerate() {
                let digests = sample.distinct().map(|one| one.digest);
                digests.for_each(|digest| {
                    let known = holders.entry(digest).or_default();
                    // Two of one capture, and one more, tell no more than two.
                    if known.len() <= captures.len() {
                        known.push(((source, flow), side));
                    }
                });
            }
        }
    }
    let mut shared: BTreeMap<([Place; 2], bool), usize> = BTreeMap::new();
    // What two conversations of one capture hold tells none apart; the holders come by their captures.
    for known in holders.values().filter(|known| known.windows(2).all(|two| two[0].0 .0 < two[1].0 .0)) {
        for (at, &(place, side)) in known.iter().enumerate() {
            for &(later, later_side) in &known[at + 1..] {
                *shared.entry(([place, later], side != later_side)).or_default() += 1;
            }
        }
    }
    let mut found: Vec<_> = shared.into_iter().filter(|(_, count)| *count >= ENOUGH).collect();
    found.sort_by_key(|&((pair, crossed), count)| (pair[0].0, Reverse(count), pair, crossed));
    found.into_iter().map(|(pair, _)| pair).collect()
}

/// Numbers from the `first` on that nothing has any more are left to those that follow.
fn close_gaps(numbers: &mut [Vec<u32>], first: u32) {
    let known: BTreeSet<u32> = numbers.iter().flatten().copied().collect();
    let new: HashMap<u32, u32> = known.into_iter().zip(first..).collect();
    numbers.iter_mut().flatten().for_each(|number| *number = new[number]);
}
