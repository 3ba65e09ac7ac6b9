//! Several captures of the same conversations: from tracked captures to matched ones on one clock.

use std::collections::BTreeMap;

use super::capture::Capture;
use super::Watcher;
use crate::pair::{shared, Facts, Pairer, Pairing, Path, Shared};
use crate::read::Input;
use crate::track::{Tally, UdpFlow};

/// Buffers (256 KiB each) between two looks at the watcher.
const STEPS: u32 = 32;

/// Matches the captures packet by packet, puts all their timestamps on the clock of the first, and
/// returns the paths; none when no conversation was seen twice.
pub fn pair<W: Watcher>(
    captures: &mut [Capture],
    inputs: &[Input],
    [numbers, udp_numbers]: [&[Vec<u32>]; 2],
    watcher: &mut W,
) -> Result<Vec<Path>, W::Error> {
    if captures.len() < 2 {
        return Ok(Vec::new());
    }
    let udp = datagrams(captures, udp_numbers);
    let named = captures.iter().zip(inputs).zip(numbers).zip(udp);
    let tracked =
        named.map(|(((capture, input), numbers), udp)| capture.tracked(input, numbers, udp)).collect();
    let Some(mut pairer) = Pairer::new(tracked)? else { return Ok(Vec::new()) };
    let mut more = true;
    while more {
        watcher.pause()?;
        for _ in 0..STEPS {
            more = more && pairer.step()?;
        }
    }
    let Pairing { clocks, paths, delays } = pairer.finish();
    for ((capture, clock), mut delays) in captures.iter_mut().zip(clocks).zip(delays) {
        capture.udp_delays = delays.split_off(capture.tracker.rounds.len().min(delays.len()));
        capture.delays = delays;
        capture.shift(clock);
    }
    Ok(paths)
}

/// What matching needs of the conversations over UDP, by capture.
fn datagrams(captures: &[Capture], numbers: &[Vec<u32>]) -> Vec<Vec<Facts>> {
    let kept: Vec<Vec<&UdpFlow>> = captures.iter().map(|capture| capture.udp.kept().collect()).collect();
    let mut places: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
    for (source, numbers) in numbers.iter().enumerate() {
        for (flow, &number) in numbers.iter().enumerate() {
            places.entry(number).or_default().push((source, flow));
        }
    }
    let mut facts: Vec<Vec<Facts>> = kept.iter().map(|flows| vec![Facts::default(); flows.len()]).collect();
    for (number, places) in places {
        let samples: Vec<_> = places.iter().map(|&(source, flow)| &kept[source][flow].samples).collect();
        // Datagrams as long at every capture passed no offload, however long they are.
        let dirs: Vec<&[Tally; 2]> = places.iter().map(|&(source, flow)| &kept[source][flow].dirs).collect();
        let cut =
            [0, 1].map(|side| dirs.iter().any(|dir| dir[side].max_payload != dirs[0][side].max_payload));
        for (&(source, flow), shared) in places.iter().zip(shared(&samples)) {
            facts[source][flow] = of_datagrams(kept[source][flow], number, shared, cut);
        }
    }
    facts
}

fn of_datagrams(flow: &UdpFlow, number: u32, shared: Shared, cut: [bool; 2]) -> Facts {
    Facts {
        number,
        shared_ns: shared.shared_ns,
        halves: shared.halves,
        max_payload: flow.dirs.map(|dir| dir.max_payload),
        offloaded: [0, 1].map(|side| cut[side] && flow.dirs[side].super_packets > 0),
        segment: [0; 2],
        udp: true,
        digest_bytes: flow.held,
    }
}
