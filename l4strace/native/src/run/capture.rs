//! What one capture gave.

use crate::pair::{Apart, Facts, Halves, Offset, RoundDelay, Rounds, Span, Tracked};
use crate::read::{Input, SourceInfo};
use crate::stats::{Loss, StatRow, Stats};
use crate::track::{Flow, Initiator, Member, Totals, Tracker, UdpFlow, UdpFlows, UdpRetrace};

/// One capture, read and tracked.
pub struct Capture {
    pub info: SourceInfo,
    /// What reading could not use.
    pub read: Stats,
    pub tracker: Tracker,
    pub udp: UdpFlows,
    /// Clock against that of the first capture: already subtracted from all timestamps.
    pub clock: Offset,
    /// Two of its interfaces whose clocks differ.
    pub apart: Option<Apart>,
    /// One-way delays by row of the tracker's rounds; empty when the capture was not paired.
    pub delays: Vec<Option<RoundDelay>>,
    /// The same of rounds over UDP.
    pub udp_delays: Vec<Option<RoundDelay>>,
}

impl Capture {
    pub fn new(info: SourceInfo, read: Stats, tracker: Tracker, udp: UdpFlows) -> Self {
        let (delays, udp_delays) = Default::default();
        Capture { info, read, tracker, udp, clock: Offset::default(), apart: None, delays, udp_delays }
    }

    /// Its conversations, for numbering them over all captures.
    pub fn members(&self) -> Vec<Member> {
        let member = |flow: &Flow| Member {
            key: *self.tracker.table.key(flow.id),
            client_isn: self.tracker.table.client_isn(flow.id),
            first_ns: flow.first_ns,
            last_ns: flow.last_ns,
        };
        self.tracker.flows.iter().map(|flow| member(flow)).collect()
    }

    /// The same of UDP.
    pub fn udp_members(&self) -> Vec<Member> {
        let member = |flow: &UdpFlow| Member {
            key: flow.key,
            client_isn: None,
            first_ns: flow.first_ns,
            last_ns: flow.last_ns,
        };
        self.udp.kept().map(member).collect()
    }

    /// Rows of `stats`: what reading and tracking could not use.
    pub fn stats(&self) -> Vec<StatRow> {
        let mut stats = self.read.clone();
        let sum = |count: fn(&Totals) -> u64| {
            self.tracker.flows.iter().flat_map(|flow| &flow.dirs).map(|dir| count(&dir.totals)).sum()
        };
        stats.add(Loss::ClockSteps, sum(|totals| u64::from(totals.clock_steps)));
        stats.add(Loss::SeenTwice, sum(|totals| totals.duplicates));
        stats.add(Loss::OutOfWindow, sum(|totals| totals.rare().out_of_window));
        stats.add(Loss::FlowsFolded, self.tracker.folded());
        stats.add(Loss::UdpShort, self.udp.left_out());
        stats.explain(Loss::ClockSteps, || {
            "Timestamps of a flow direction ran back by over 1 ms, or were set forward.".into()
        });
        stats.rows()
    }

    /// Subtracts `clock` from every timestamp that a table shows.
    pub fn shift(&mut self, clock: Offset) {
        self.clock = clock;
        let ns = clock.ns;
        let off = |stamp: &mut i64| *stamp = stamp.saturating_sub(ns);
        [&mut self.info.first_ns, &mut self.info.last_ns].into_iter().flatten().for_each(off);
        for flow in &mut self.tracker.flows {
            [&mut flow.first_ns, &mut flow.last_ns].into_iter().for_each(off);
            for totals in flow.dirs.iter_mut().map(|dir| &mut dir.totals) {
                [&mut totals.first_ns, &mut totals.last_ns].into_iter().for_each(off);
                totals.first_ce.iter_mut().for_each(|(stamp, _)| off(stamp));
            }
        }
        self.udp.shift(ns);
        for round in self.tracker.rounds.iter_mut() {
            [&mut round.start_ns, &mut round.end_ns].into_iter().for_each(off);
        }
    }

    /// What matching needs of it.
    pub fn tracked(&self, input: &Input, numbers: &[u32], udp: Vec<Facts>) -> Tracked {
        let tracker = &self.tracker;
        let facts = tracker.flows.iter().zip(numbers).map(|(flow, &number)| self.facts(flow, number));
        Tracked {
            input: input.clone(),
            span: Span {
                first_ns: self.info.first_ns.unwrap_or_default(),
                last_ns: self.info.last_ns.unwrap_or_default(),
            },
            facts: facts.chain(udp).collect(),
            starts: tracker.starts(),
            udp: UdpRetrace::new(self.udp.kept(), tracker.flows.len() as u32),
            rounds: Rounds::new(self.rounds()),
        }
    }

    /// Local flow, direction and span of each round; those over UDP follow those of TCP.
    fn rounds(&self) -> impl Iterator<Item = (u32, bool, i64, i64)> + '_ {
        let over_tcp = self.tracker.rounds.iter().map(|row| (row.flow, row));
        let over_udp = self.udp.kept().zip(self.tracker.flows.len() as u32..).flat_map(|(flow, id)| {
            [0, 1].into_iter().flat_map(|side| flow.reported(side)).map(move |row| (id, row))
        });
        over_tcp.chain(over_udp).map(|(id, row)| (id, row.forward, row.start_ns, row.end_ns))
    }

    fn facts(&self, flow: &Flow, number: u32) -> Facts {
        let syn = self.tracker.table.initiator(flow.id) == Initiator::Syn;
        let [to_server_ns, to_client_ns] = flow.halves();
        Facts {
            number,
            shared_ns: syn.then_some(flow.first_ns),
            halves: Halves { to_server_ns, to_client_ns },
            max_payload: [0, 1].map(|side| flow.dirs[side].totals.max_payload),
            offloaded: [0, 1].map(|side| flow.dirs[side].totals.super_packets > 0),
            segment: [0, 1].map(|side| flow.segment(side)),
            digest_bytes: [0; 2],
            udp: false,
        }
    }
}
