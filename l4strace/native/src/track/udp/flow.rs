//! One UDP conversation: what each direction carried, and which transport it is.

use super::content::{Content, Transport};
use super::feedback::{Feedback, Message, Sending};
use super::runs::Runs;
use super::sample::Sample;
use super::series::{Series, Slot};
use super::spacing::Spacing;
use crate::packet::{ecn, FlowKey, Packet, Tunnel};
use crate::track::dscp::Dscps;
use crate::track::handshake::vantage::Vantage;
use crate::track::rounds::round::{Limit, RoundRow};

/// Bytes of an IP packet on Ethernet (RFC 894). A longer datagram that no fragments brought is what segmentation
/// offload sends, or receive offload merged.
const ETHERNET_MTU: u32 = 1500;
const HEADERS_V4: u32 = 20 + 8;
const HEADERS_V6: u32 = 40 + 8;

/// Bytes of a payload that tell datagrams apart: no two of 100,000 of each transport tried had these in common.
const COMPARED: u8 = 32;

/// Counters of one direction; names as in the `directions` table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub packets: u64,
    pub data_packets: u64,
    pub payload_bytes: u64,
    /// By codepoint: Not-ECT, ECT(1), ECT(0), CE.
    pub ecn: [u64; 4],
    pub data_ecn: [u64; 4],
    pub ce_payload_bytes: u64,
    pub max_payload: u32,
    /// Link-layer address from which all packets came, if it was one.
    pub station: Option<[u8; 6]>,
    /// Largest TTL or hop limit.
    pub max_ttl: u8,
    pub super_packets: u64,
    pub outer_differs: u64,
    pub outer_ce: u64,
    pub outer_not_ect: u64,
    pub first_frame: u64,
    pub last_frame: u64,
    pub first_ns: i64,
    pub last_ns: i64,
    pub first_ce: Option<(i64, u64)>,
    pub dscps: Dscps,
}

impl Tally {
    fn add(&mut self, p: &Packet) {
        if self.packets == 0 {
            (self.first_frame, self.first_ns) = (p.frame, p.ts_ns);
            self.station = Some(p.station).filter(|&station| station != [0; 6]);
        }
        self.station = self.station.filter(|&station| station == p.station);
        (self.last_frame, self.last_ns) = (p.frame, p.ts_ns);
        let (codepoint, bytes) = (usize::from(p.ip_ecn & 3), u64::from(p.payload_len));
        let data = u64::from(bytes > 0);
        self.packets += 1;
        self.data_packets += data;
        self.payload_bytes += bytes;
        self.ecn[codepoint] += 1;
        self.data_ecn[codepoint] += data;
        self.max_payload = self.max_payload.max(p.payload_len);
        self.dscps.add(p.dscp);
        self.max_ttl = self.max_ttl.max(p.ttl);
        let headers = if p.ip_version == 6 { HEADERS_V6 } else { HEADERS_V4 };
        self.super_packets += u64::from(p.payload_len + headers > ETHERNET_MTU);
        if p.ip_ecn == ecn::CE {
            self.ce_payload_bytes += bytes;
            self.first_ce.get_or_insert((p.ts_ns, p.frame));
        }
        if let Some(outer) = p.outer_ecn.filter(|&outer| outer != p.ip_ecn) {
            self.outer_differs += 1;
            let ect = p.ip_ecn == ecn::ECT0 || p.ip_ecn == ecn::ECT1;
            self.outer_ce += u64::from(outer == ecn::CE && ect);
            self.outer_not_ect += u64::from(outer == ecn::NOT_ECT);
        }
    }
}

/// One conversation.
#[derive(Clone, Debug)]
pub struct UdpFlow {
    /// In the direction client to server.
    pub key: FlowKey,
    /// Number among the kept conversations, in the order in which they became long enough.
    pub serial: u32,
    pub tunnel: Tunnel,
    pub first_ns: i64,
    pub last_ns: i64,
    /// Client to server [0] and server to client [1].
    pub dirs: [Tally; 2],
    series: [Series; 2],
    runs: [Runs; 2],
    spacing: [Spacing; 2],
    pub samples: [Sample; 2],
    /// Of each datagram of a direction, so many of the first bytes of its payload were captured, or all of it.
    pub held: [u8; 2],
    /// What was subtracted from all times.
    shift_ns: i64,
    content: Content,
    pub(super) feedback: Feedback,
    last_frame: u64,
}

impl UdpFlow {
    pub(super) fn new(key: FlowKey, first: &Packet) -> Self {
        UdpFlow {
            key,
            serial: 0,
            tunnel: first.tunnel,
            first_ns: first.ts_ns,
            last_ns: first.ts_ns,
            dirs: Default::default(),
            series: Default::default(),
            runs: Default::default(),
            spacing: Default::default(),
            samples: Default::default(),
            held: [COMPARED; 2],
            shift_ns: 0,
            content: Content::default(),
            feedback: Feedback::default(),
            last_frame: 0,
        }
    }

    pub(super) fn take(&mut self, packet: &Packet, payload: &[u8], side: usize) {
        self.last_ns = packet.ts_ns;
        self.dirs[side].add(packet);
        self.series[side].add(packet);
        self.runs[side].add(packet);
        self.spacing[side].add(packet);
        self.samples[side].add(packet, payload);
        if payload.len() < usize::from(self.held[side]) && (payload.len() as u32) < packet.payload_len {
            self.held[side] = payload.len() as u8;
        }
        let message = Message::parse(payload, packet.payload_len);
        self.content.look(payload, message.as_ref(), packet, side);
        self.feedback.take(packet, payload, message.as_ref(), side);
        self.last_frame = packet.frame;
    }

    pub fn packets(&self) -> u64 {
        self.dirs[0].packets + self.dirs[1].packets
    }

    pub(super) fn is_short(&self) -> bool {
        self.packets() < super::ENOUGH
    }

    pub fn transport(&self) -> Transport {
        self.content.transport(self.dirs.map(|dir| dir.packets))
    }

    /// What keeps a side from sending more, as far as its messages or, where keys show them, its packets show.
    pub fn limit(&self, side: usize) -> Limit {
        let is_bulk = match self.transport() {
            Transport::UdpPrague => self.content.is_bulk(side),
            Transport::Quic => self.sending(side).is_some() && self.feedback.is_bulk(side),
            Transport::Rtp | Transport::Udp => false,
        };
        if is_bulk {
            Limit::Cwnd
        } else {
            Limit::Unknown
        }
    }

    /// Version of QUIC, as its long headers state it.
    pub fn version(&self) -> Option<String> {
        (self.transport() == Transport::Quic).then(|| self.content.quic.version()).flatten()
    }

    /// Near the RTT of an empty queue, as the spin bit of QUIC shows it in what a side sent.
    pub fn spin_rtt_us(&self, side: usize) -> Option<u32> {
        (self.transport() == Transport::Quic).then(|| self.content.quic.base_rtt_us(side)).flatten()
    }

    /// What a side sent and what was reported of it, where the feedback is read.
    pub fn sending(&self, side: usize) -> Option<&Sending> {
        let packets = self.dirs.map(|dir| dir.packets);
        self.feedback.sending(self.transport(), packets).map(|sides| &sides[side])
    }

    /// Rounds of a direction whose receiver reports in clear.
    pub fn reported(&self, side: usize) -> impl Iterator<Item = &RoundRow> {
        let sending = self.sending(side).filter(|sending| sending.counts.is_reported());
        sending.into_iter().flat_map(|sending| sending.rows.iter())
    }

    /// Where the capture stands, as far as the feedback shows it.
    pub fn vantage(&self) -> Vantage {
        self.feedback.vantage(self.transport())
    }

    /// Ends the rounds that still run.
    pub(super) fn finish(&mut self) {
        let (last_ns, last_frame) = (self.last_ns, self.last_frame);
        self.feedback.sides().for_each(|side| side.finish(last_ns, last_frame));
    }

    /// Begin, end and what a side sent, of slots with traffic.
    pub fn slots(&self, side: usize) -> impl Iterator<Item = (i64, i64, &Slot)> {
        self.series[side].slots(self.shift_ns)
    }

    /// Codepoints of a side in their order.
    pub fn runs(&self, side: usize) -> &Runs {
        &self.runs[side]
    }

    /// How close to each other a side's packets arrived, marked and unmarked.
    pub fn spacing(&self, side: usize) -> &Spacing {
        &self.spacing[side]
    }

    /// Since when a side sends no ECT any more, and the frame.
    pub fn given_up(&self, side: usize) -> Option<(i64, u64)> {
        self.runs[side].given_up(self.shift_ns)
    }

    /// Takes the server for the client and the client for the server.
    pub(super) fn turn(&mut self) {
        self.key = self.key.reversed();
        self.dirs.swap(0, 1);
        self.series.swap(0, 1);
        self.runs.swap(0, 1);
        self.spacing.swap(0, 1);
        self.samples.swap(0, 1);
        self.held.swap(0, 1);
        self.content.turn();
        self.feedback.turn();
    }

    pub(super) fn shift(&mut self, ns: i64) {
        self.shift_ns = self.shift_ns.saturating_add(ns);
        self.feedback.sides().for_each(|side| side.shift(ns));
        let off = |stamp: &mut i64| *stamp = stamp.saturating_sub(ns);
        [&mut self.first_ns, &mut self.last_ns].into_iter().for_each(off);
        for dir in &mut self.dirs {
            [&mut dir.first_ns, &mut dir.last_ns].into_iter().for_each(off);
            dir.first_ce.iter_mut().for_each(|(stamp, _)| off(stamp));
        }
    }
}
