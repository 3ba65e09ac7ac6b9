//! Stretches of time in which delays of a path were far above the usual ones: see `derive/spikes.py`.

use std::collections::{BTreeMap, BTreeSet};

use super::delays::{bases, counted, delays, Delay, Way};
use super::numbers::{median, most, weighted_median};
use super::rounds::{Direction, Rounds};
use super::{MIN_ACKED_PACKETS, MIN_ROUNDS};

/// A spike exceeds the usual delay by 15 ms (DualPI2's classic target) and by twice its height.
const ABOVE_US: f64 = 15_000.0;
const ABOVE_RATIO: f64 = 2.0;

/// Packets that wait beyond the limit for a shorter time (ns) are a burst, which the queue is there to absorb.
/// By eye.
const MIN_LENGTH_NS: i64 = 50_000_000;

/// Peaks closer than this (ns) are one spike. By eye.
pub const JOIN_NS: i64 = 250_000_000;

/// How long (ns) before a spike its cause may lie: some round trips of any path. By eye.
pub const LOOK_BACK_NS: i64 = 1_000_000_000;

/// Start of a flow, in which its window may double, the longer of both: slow start reaches 10,000 packets
/// from 10 (RFC 6928) in ten round trips; the same again for queue and recovery.
const EARLY_NS: i64 = 500_000_000;
const EARLY_ROUNDS: u32 = 20;

/// Growth of the flight over three rounds that only slow start makes (it would be 8). By eye.
const DOUBLING: f64 = 3.0;

/// A burst of eight times the usual one, in a spike that nothing else explains. By eye.
const BURST_RATIO: f64 = 8.0;

/// One event of a path, whichever flows it hit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spike {
    /// The direction that it hit hardest, and by when.
    pub of: usize,
    pub highest_ns: i64,
    pub height_us: f64,
    pub usual_us: f64,
    pub one_way: bool,
    pub start_ns: i64,
    pub end_ns: i64,
    pub first_frame: Option<u64>,
    pub last_frame: Option<u64>,
    pub rounds: u32,
    /// Flows that it hit, and what of them was retransmitted meanwhile.
    pub hit: BTreeSet<u32>,
    pub lost: u64,
    pub bursty: bool,
    pub starter: Option<Starter>,
    /// What the flows of the path had in flight until its end: the most of each, added up.
    pub flight_packets: u64,
    /// For how long packets of one direction waited beyond the limit, at the most.
    above_ns: i64,
}

/// A flow that doubled its window before a spike, or else began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Starter {
    pub flow: u32,
    pub grew: bool,
    /// Most packets that it had in flight until the end of the spike.
    pub peak_packets: Option<u32>,
}

/// Of all paths in their order, by time.
pub fn spikes(rounds: &Rounds<'_>, directions: &[Direction], ways: &[Way]) -> Vec<Spike> {
    let bases = bases(rounds, directions, ways);
    let (mut flows, mut peaks) = (Vec::new(), Vec::new());
    for (of, direction) in directions.iter().enumerate() {
        let rows: Vec<usize> = counted(rounds, direction).collect();
        let carried = rows.iter().map(|row| u64::from(rounds.acked_packets.or_zero(*row))).sum();
        let enough = rows.len() >= MIN_ROUNDS || carried >= MIN_ACKED_PACKETS;
        if enough && carried >= MIN_ROUNDS as u64 {
            if rows.iter().any(|row| high(rounds, *row, bases[of])) {
                let delays = delays(rounds, &rows, &ways[of], bases[of]);
                let own = Own { rounds, of, at: direction.at, rows: &rows, delays: &delays };
                peaks.extend(own.peaks());
                peaks.extend(own.peaks_of_trips());
            }
            flows.push(Flow::new(rounds, of, direction, &rows, carried));
        }
    }
    flows.sort_by_key(|flow| flow.at);
    peaks.sort_by_key(|peak| (peak.at, peak.start_ns));
    let of_path = |peaks: &[Peak]| {
        let at = peaks[0].at;
        let flows =
            &flows[flows.partition_point(|flow| flow.at < at)..flows.partition_point(|flow| flow.at <= at)];
        let mut found = events(rounds, peaks);
        count_losses(rounds, directions, flows, &mut found);
        for spike in &mut found {
            spike.starter = starter(rounds, directions, flows, spike);
        }
        add_flights(rounds, directions, flows, &mut found);
        found
    };
    peaks.chunk_by(|a, b| a.at == b.at).flat_map(of_path).collect()
}

/// A round that belongs to a spike.
#[derive(Clone, Debug, Default)]
struct Peak {
    at: u32,
    of: usize,
    row: usize,
    start_ns: i64,
    above_ns: i64,
    us: f64,
    one_way: bool,
    /// Round trips show it, one-way delays only how high it is.
    of_trips: bool,
    usual_us: f64,
    usual_burst: Option<f64>,
}

/// A delay of the round may be a spike's: most flows have none, and no need of `delays`.
fn high(rounds: &Rounds<'_>, row: usize, base_us: Option<f64>) -> bool {
    let rtt_us = most(rounds.rtt_max_us.get(row), rounds.sacked_rtt_max_us.get(row));
    let above_us = rtt_us.zip(base_us).map(|(rtt, base)| rtt - base);
    above_us.is_some_and(|us| us > ABOVE_US / 2.0) || rounds.owd_max_us.get(row).is_some()
}

/// Rounds of one direction with their delays.
struct Own<'a> {
    rounds: &'a Rounds<'a>,
    of: usize,
    at: u32,
    rows: &'a [usize],
    delays: &'a [Delay],
}

impl Own<'_> {
    fn peaks(&self) -> Vec<Peak> {
        let Some(usual_us) = usual_us(self.rounds, self.rows, self.delays, |delay| delay.us) else {
            return Vec::new();
        };
        let limit_us = limit_us(usual_us);
        let above = |i: usize| {
            let Delay { us, one_way, .. } = self.delays[i];
            let us = us.filter(|us| *us > limit_us)?;
            let above_ns = above_ns(self.rounds, self.rows[i], one_way, us - limit_us);
            Some(Peak { us, one_way, ..self.peak(i, above_ns, usual_us) })
        };
        self.with_bursts((0..self.rows.len()).filter_map(above).collect())
    }

    /// Where one-way delays are known: what stands out of the round trips, and of which they bear out the height.
    ///
    /// Packets of a round that wait are in its one-way delays; their ACKs come in it or in the next round.
    fn peaks_of_trips(&self) -> Vec<Peak> {
        if self.delays.iter().all(|delay| !delay.one_way) {
            return Vec::new();
        }
        let Some(usual_us) = usual_us(self.rounds, self.rows, self.delays, |delay| delay.rtt_us) else {
            return Vec::new();
        };
        let limit_us = limit_us(usual_us);
        let one_way = |i: usize| self.delays[i].us.filter(|_| self.delays[i].one_way);
        let above = |i: usize| {
            let rtt_us = self.delays[i].rtt_us.filter(|us| *us > limit_us)?;
            let us = most(one_way(i), i.checked_sub(1).and_then(one_way)).filter(|us| *us > limit_us)?;
            let above_ns = above_ns(self.rounds, self.rows[i], false, rtt_us - limit_us);
            Some(Peak { us, one_way: true, of_trips: true, ..self.peak(i, above_ns, usual_us) })
        };
        self.with_bursts((0..self.rows.len()).filter_map(above).collect())
    }

    fn peak(&self, i: usize, above_ns: i64, usual_us: f64) -> Peak {
        let (row, start_ns) = (self.rows[i], self.rounds.start_ns.or_zero(self.rows[i]));
        Peak { at: self.at, of: self.of, row, start_ns, above_ns, usual_us, ..Peak::default() }
    }

    /// With the usual burst of the direction.
    fn with_bursts(&self, mut peaks: Vec<Peak>) -> Vec<Peak> {
        if !peaks.is_empty() {
            let bursts = self.rows.iter().filter_map(|row| self.rounds.burst_bytes.get(*row));
            let usual_burst = median(&mut bursts.map(f64::from).collect::<Vec<_>>());
            peaks.iter_mut().for_each(|peak| peak.usual_burst = usual_burst);
        }
        peaks
    }
}

/// What most rounds stay at; where that is exceeded for most of the time, as rounds through a long queue are few,
/// what most of the time stays at.
fn usual_us(
    rounds: &Rounds<'_>,
    rows: &[usize],
    delays: &[Delay],
    us: impl Fn(&Delay) -> Option<f64>,
) -> Option<f64> {
    let timed = |(row, delay): (&usize, &Delay)| Some((us(delay)?, rounds.length_ns(*row) as f64));
    let of_time_us = weighted_median(rows.iter().zip(delays).filter_map(timed).collect());
    let of_rounds_us = median(&mut delays.iter().filter_map(&us).collect::<Vec<_>>())?;
    Some(of_time_us.filter(|us| *us > limit_us(of_rounds_us)).unwrap_or(of_rounds_us))
}

/// The longest delay that is usual.
fn limit_us(usual_us: f64) -> f64 {
    usual_us + ABOVE_US.max(ABOVE_RATIO * usual_us)
}

/// For how long (ns) packets of a round arrived that waited beyond the limit, of which the largest delay is
/// `beyond_us` above it: the whole round where all did, else their part of the time that its packets took.
fn above_ns(rounds: &Rounds<'_>, row: usize, one_way: bool, beyond_us: f64) -> i64 {
    let length_ns = rounds.length_ns(row) as f64;
    let (least, most) = match one_way {
        true => (rounds.owd_min_us.get(row), rounds.owd_max_us.get(row)),
        false => (rounds.rtt_min_us.get(row), rounds.rtt_max_us.get(row)),
    };
    let spread_us = most.zip(least).map_or(0.0, |(most, least)| most - least);
    if spread_us <= beyond_us {
        return length_ns as i64;
    }
    let train_bps = rounds.train_bps.get(row).filter(|bps| *bps > 0.0);
    let carried_ns = train_bps.map(|bps| rounds.acked_bytes.or_zero(row) as f64 * 8e9 / bps);
    // Each waits longer than the one before: trains that a link released together do not show that.
    let took_ns = carried_ns.unwrap_or(length_ns).max(spread_us * 1000.0);
    (length_ns.min(took_ns) * beyond_us / spread_us) as i64
}

/// Spikes of a path, by time. A second capture adds to what the sender shows: events that only round trips show stand
/// beside the others, and the flows that these hit belong to them, too.
fn events(rounds: &Rounds<'_>, peaks: &[Peak]) -> Vec<Spike> {
    let (of_trips, others): (Vec<Peak>, Vec<Peak>) = peaks.iter().cloned().partition(|peak| peak.of_trips);
    let mut found = joined(rounds, &others);
    let meets = |one: &Spike, other: &Spike| {
        one.start_ns <= other.end_ns.saturating_add(JOIN_NS)
            && other.start_ns <= one.end_ns.saturating_add(JOIN_NS)
    };
    for one in joined(rounds, &of_trips) {
        match found.iter_mut().find(|other| meets(&one, other)) {
            Some(same) => same.hit.extend(one.hit),
            None => found.push(one),
        }
    }
    found.sort_by_key(|spike| spike.start_ns);
    found
}

/// Peaks of all flows of a path as the spikes that they belong to, unless they are bursts.
fn joined(rounds: &Rounds<'_>, peaks: &[Peak]) -> Vec<Spike> {
    let mut found = Vec::new();
    if peaks.is_empty() {
        return found;
    }
    let (mut first, mut reached) = (0, i64::MIN);
    for (i, peak) in peaks.iter().enumerate() {
        if i > first && peak.start_ns.saturating_sub(reached) > JOIN_NS {
            found.push(spike(rounds, &peaks[first..i]));
            first = i;
        }
        reached = reached.max(rounds.end_ns.or_zero(peak.row));
    }
    found.push(spike(rounds, &peaks[first..]));
    found.retain(|spike| spike.above_ns >= MIN_LENGTH_NS);
    found
}

fn spike(rounds: &Rounds<'_>, peaks: &[Peak]) -> Spike {
    let rows = || peaks.iter().map(|peak| peak.row);
    let highest =
        peaks.iter().fold(&peaks[0], |highest, peak| if peak.us > highest.us { peak } else { highest });
    let burst = rows().filter_map(|row| rounds.burst_bytes.get(row)).max();
    let usual_burst = peaks.iter().fold(None, |burst, peak| most(burst, peak.usual_burst));
    Spike {
        of: highest.of,
        highest_ns: rounds.end_ns.or_zero(highest.row),
        height_us: highest.us,
        usual_us: highest.usual_us,
        one_way: highest.one_way,
        start_ns: peaks[0].start_ns,
        end_ns: peaks.iter().map(|peak| peak.start_ns + peak.above_ns).max().unwrap_or(0),
        above_ns: longest_ns(peaks),
        first_frame: rows().filter_map(|row| rounds.first_frame.get(row)).min(),
        last_frame: rows().filter_map(|row| rounds.last_frame.get(row)).max(),
        rounds: peaks.len() as u32,
        hit: rows().map(|row| rounds.flow.or_zero(row)).collect(),
        bursty: burst.zip(usual_burst).is_some_and(|(most, usual)| f64::from(most) > BURST_RATIO * usual),
        ..Spike::default()
    }
}

/// The longest that packets of one direction waited beyond the limit: the one that waited most may be a burst beside it.
fn longest_ns(peaks: &[Peak]) -> i64 {
    let mut lengths: BTreeMap<usize, i64> = BTreeMap::new();
    peaks.iter().for_each(|peak| *lengths.entry(peak.of).or_default() += peak.above_ns);
    lengths.into_values().max().unwrap_or(0)
}

/// A direction whose rounds count.
struct Flow {
    at: u32,
    of: usize,
    flow: u32,
    began_ns: i64,
    /// End of the last round in which the window doubled: at the start of the flow.
    doubled_ns: Option<i64>,
    carried: u64,
}

impl Flow {
    fn new(rounds: &Rounds<'_>, of: usize, direction: &Direction, rows: &[usize], carried: u64) -> Flow {
        let begins = rows.iter().filter_map(|row| rounds.start_ns.get(*row));
        let began_ns = begins.min().unwrap_or(0);
        let flight = |i: usize| rounds.inflight_max_packets.get(rows[i]).map(f64::from);
        let doubles = |i: &usize| {
            let row = rows[*i];
            let before = i.checked_sub(3).and_then(flight);
            let grown = || flight(*i).zip(before).is_some_and(|(now, before)| now >= DOUBLING * before);
            let early = rounds.start_ns.or_zero(row) - began_ns <= EARLY_NS
                || rounds.round.or_zero(row) <= EARLY_ROUNDS;
            early && (rounds.slow_start[row] == Some(true) || grown())
        };
        let doubled_ns = (0..rows.len()).filter(doubles).filter_map(|i| rounds.end_ns.get(rows[i])).max();
        let flow = rounds.flow.or_zero(direction.rows.start);
        Flow { at: direction.at, of, flow, began_ns, doubled_ns, carried }
    }
}

/// What was retransmitted in each of the spikes of a path, by the flows that it hit. A round that began before
/// a spike may lie in it.
fn count_losses(rounds: &Rounds<'_>, directions: &[Direction], flows: &[Flow], spikes: &mut [Spike]) {
    for flow in flows {
        for row in counted(rounds, &directions[flow.of]) {
            let (lost, end_ns) = (rounds.retransmits.or_zero(row), rounds.end_ns.or_zero(row));
            let begun = || spikes.partition_point(|spike| spike.start_ns <= end_ns);
            let Some(last) = (lost > 0).then(begun).and_then(|begun| begun.checked_sub(1)) else { continue };
            let spike = &mut spikes[last];
            if rounds.start_ns.or_zero(row) <= spike.end_ns && spike.hit.contains(&flow.flow) {
                spike.lost += u64::from(lost);
            }
        }
    }
}

/// What all flows of a path had in flight at most, until the end of each of its spikes.
fn add_flights(rounds: &Rounds<'_>, directions: &[Direction], flows: &[Flow], spikes: &mut [Spike]) {
    for flow in flows {
        let (mut rows, mut largest) = (counted(rounds, &directions[flow.of]).peekable(), None);
        for spike in &mut *spikes {
            while let Some(row) = rows.next_if(|row| rounds.start_ns.or_zero(*row) <= spike.end_ns) {
                largest = largest.max(rounds.inflight_max_packets.get(row));
            }
            spike.flight_packets += u64::from(largest.unwrap_or(0));
        }
    }
}

/// The flow that doubled its window, or else began, in the second before a spike.
///
/// One that doubled its window may begin in the spike, before its highest delay: a small flow that begins
/// earlier only opens the spike (simulated run s8103-047). Of several that doubled their windows, the one
/// that had most in flight.
fn starter<'f>(
    rounds: &Rounds<'_>,
    directions: &[Direction],
    flows: &'f [Flow],
    spike: &Spike,
) -> Option<Starter> {
    let hardest = rounds.flow.or_zero(directions[spike.of].rows.start);
    let near = |flow: &'f Flow| {
        let doubled = flow.doubled_ns.is_some_and(|ns| ns >= spike.start_ns - JOIN_NS);
        let grew = spike.hit.contains(&flow.flow) && doubled;
        let began = flow.began_ns > spike.start_ns - LOOK_BACK_NS
            && flow.began_ns <= spike.start_ns
            && flow.flow != hardest
            && flow.carried >= MIN_ACKED_PACKETS;
        (grew && flow.began_ns <= spike.highest_ns || began).then_some((flow, grew, doubled))
    };
    let ranked = flows.iter().filter_map(near).map(|(flow, grew, doubled)| {
        let seen = counted(rounds, &directions[flow.of]);
        let seen = seen.filter(|row| rounds.start_ns.or_zero(*row) <= spike.end_ns);
        let peak_packets = seen.filter_map(|row| rounds.inflight_max_packets.get(row)).max();
        let hit = spike.hit.contains(&flow.flow);
        let rank = (hit, doubled, peak_packets, -flow.began_ns, u32::MAX - flow.flow);
        (rank, Starter { flow: flow.flow, grew, peak_packets })
    });
    // Of equal ones the first.
    ranked.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, starter)| starter)
}
