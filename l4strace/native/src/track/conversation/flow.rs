//! One conversation: hands each packet to the parts that follow it.

use super::clock::{Suspicion, PAUSE_NS};
use super::direction::Direction;
use super::several::Several;
use super::strays::Held;
use super::twice::Remembered;
use crate::packet::{flag, Interface, Packet, Tunnel};
use crate::track::handshake::vantage::Vantage;
use crate::track::handshake::{Handshake, Mode};
use crate::track::rounds::rows::Rows;
use crate::track::sending::data::{first_byte, Data};
use crate::track::sending::segments::{Delivered, Sent};
use crate::track::sending::sender::Sender;

/// Reordering that lasts longer than this is taken for a retransmission while no RTT is known
/// (Wireshark's choice, too).
const PATIENCE_NS: i64 = 3_000_000;

/// Longest segment when the SYN did not state it.
const DEFAULT_MSS: u32 = 1460;

/// How a conversation ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ended {
    Fin,
    Rst,
    #[default]
    Open,
}

impl Ended {
    pub fn name(self) -> &'static str {
        match self {
            Ended::Fin => "fin",
            Ended::Rst => "rst",
            Ended::Open => "open",
        }
    }
}

/// One conversation as one capture saw it; side 0 is the client.
#[derive(Debug)]
pub struct Flow {
    pub id: u32,
    /// Conversations that began before it, whether they were kept or not: never changes.
    pub serial: u32,
    pub dirs: [Direction; 2],
    pub handshake: Box<Handshake>,
    pub tunnel: Tunnel,
    pub ended: Ended,
    pub timestamps: bool,
    pub vantage: Vantage,
    pub first_ns: i64,
    pub last_ns: i64,
    pub first_frame: u64,
    /// Its last packet, before the one that is being followed.
    pub(in crate::track) last_frame: u64,
    /// The capture saw SYN and SYN/ACK, so the AccECN counters at their initial values.
    pub(in crate::track) from_start: bool,
    /// `None` until the handshake is over.
    pub(in crate::track) mode: Option<Mode>,
    pub(in crate::track) patience_ns: i64,
    /// Payload per packet on the wire, by side.
    pub(in crate::track) mss: [u32; 2],
    pub(in crate::track) shift: [Option<u8>; 2],
    /// Nothing is predicted: see [`crate::track::Tracker::general`].
    pub(in crate::track) general: bool,
    /// Nothing waits to be decided, as the last packet left it that was not predicted.
    pub(super) is_settled: bool,
    /// Row of the round that ended last, by side, until the next ACK: only what is sent by then shows the window.
    pub(in crate::track) ended_row: [Option<u32>; 2],
    /// By side; present once the capture showed a packet twice.
    pub(in crate::track) remembered: Option<Box<[Remembered; 2]>>,
    /// That of its first packet.
    pub(in crate::track) interface: Interface,
    /// Present once another interface showed packets, or the one of several repeats some.
    pub(in crate::track) several: Option<Box<Several>>,
    /// Packets far outside of the window, until it is clear what they are.
    pub(in crate::track) held: Option<Box<Held>>,
    /// The clock may have been set, until later packets show it.
    pub(in crate::track) suspicion: Option<Box<Suspicion>>,
    /// The conversation that took over its ports without a SYN.
    pub(in crate::track) successor: Option<u32>,
}

/// How one packet relates to those before it.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// It carries bytes beyond all before.
    new_data: bool,
    /// Its timestamp is newer than all before.
    new_stamp: bool,
}

impl Flow {
    pub fn new(id: u32, serial: u64, p: &Packet) -> Self {
        Flow {
            id,
            serial: serial as u32,
            dirs: Default::default(),
            handshake: Box::default(),
            tunnel: p.tunnel,
            ended: Ended::Open,
            timestamps: false,
            vantage: Vantage::Unknown,
            first_ns: p.ts_ns,
            last_ns: p.ts_ns,
            first_frame: p.frame,
            last_frame: p.frame,
            from_start: false,
            mode: None,
            patience_ns: PATIENCE_NS,
            mss: [DEFAULT_MSS; 2],
            shift: [None; 2],
            general: false,
            is_settled: false,
            ended_row: [None; 2],
            remembered: None,
            interface: p.interface,
            several: None,
            held: None,
            suspicion: None,
            successor: None,
        }
    }

    /// Mode as far as it is known by now.
    pub fn mode(&self) -> Mode {
        self.mode.unwrap_or_else(|| self.handshake.decide().0)
    }

    /// Packets that are known to lie where the conversation is.
    pub(in crate::track) fn all(&mut self, packets: &Held, rows: &mut Rows) {
        packets.iter().for_each(|(p, side)| self.here(p, *side, rows));
        self.settle();
    }

    /// A packet that lies where the conversation is.
    pub(super) fn here(&mut self, p: &Packet, side: usize, rows: &mut Rows) {
        let pauses = self.pauses(p);
        let before_ns = std::mem::replace(&mut self.last_ns, p.ts_ns);
        if pauses {
            self.paused(p, side, before_ns, rows);
        }
        if self.suspicion.is_some() {
            self.look_at_clock(p, side);
        }
        if let Some(before_ns) = self.seen_before(p, side) {
            return self.seen_twice(side, p.ts_ns.wrapping_sub(before_ns));
        }
        self.dirs[side].totals.packet(p);
        if p.flags & flag::SYN != 0 {
            self.syn(p, side);
        } else if self.mode.is_none() {
            self.open(side);
        }
        let mut place = self.sequence(p, side, rows);
        place.new_stamp = self.echo(p, side);
        if p.flags & flag::ACK != 0 && p.flags & flag::RST == 0 {
            self.acknowledge(p, side, place, rows);
        }
        if p.flags & (flag::FIN | flag::RST) != 0 {
            self.close(p, side);
        }
        self.last_frame = p.frame;
    }

    /// The packet comes long after the one before it.
    #[inline]
    pub(in crate::track) fn pauses(&self, p: &Packet) -> bool {
        p.ts_ns.wrapping_sub(self.last_ns) > PAUSE_NS
    }

    /// Its timestamps; true when the one of its sender is newer than all before.
    #[inline(always)]
    pub(in crate::track) fn echo(&mut self, p: &Packet, side: usize) -> bool {
        let Some((tsval, tsecr)) = p.timestamps else { return false };
        self.timestamps = true;
        if p.flags & flag::ACK != 0 {
            self.dirs[side ^ 1].echoes.echoed(tsecr, p.ts_ns);
        }
        self.dirs[side].echoes.send(tsval, p.ts_ns)
    }

    /// A SYN or SYN/ACK: places the sequence spaces and feeds the handshake.
    #[cold]
    fn syn(&mut self, p: &Packet, side: usize) {
        self.handshake.syn_packet(p, side);
        self.from_start = self.handshake.syn.is_some() && self.handshake.synack.is_some();
        self.mode = None;
        self.dirs[side].space.start(p.seq, 0);
        self.dirs[side].space.advance(p.seq.wrapping_add(1), 1);
        if p.has(flag::ACK) {
            let peer = &mut self.dirs[side ^ 1];
            peer.space.start(p.ack.wrapping_sub(1), 0);
            peer.space.advance(p.ack, 1);
            if side == 1 && self.handshake.syn_count == 1 && self.handshake.synack_count == 1 {
                let syn = self.handshake.syn.map(|s| s.ts_ns);
                self.dirs[0].handshake_rtt_ns = syn.map(|t| p.ts_ns - t);
            }
        }
    }

    /// The first packet after the handshake's SYNs: fixes what they agreed.
    #[cold]
    fn open(&mut self, side: usize) {
        self.mode = Some(self.handshake.decide().0);
        if side == 0 && self.handshake.synack.is_some() {
            self.handshake.established = true;
        }
        let stamps = if self.timestamps { 12 } else { 0 };
        for side in 0..2 {
            let mss = self.handshake.mss[side ^ 1].map_or(DEFAULT_MSS, u32::from);
            self.mss[side] = mss.saturating_sub(stamps).max(1);
        }
        if self.from_start {
            self.shift = self.handshake.shifts();
        }
    }

    /// Places the packet in its direction's sequence space; data goes to the sender.
    #[inline]
    fn sequence(&mut self, p: &Packet, side: usize, rows: &mut Rows) -> Place {
        let dir = &mut self.dirs[side];
        if !dir.space.started() {
            dir.space.start(p.seq, 0);
        }
        if p.payload_len == 0 {
            if p.flags & flag::SYN == 0 {
                dir.feedback.expect(1);
            }
            return Place::default();
        }
        let syn = p.flags & flag::SYN;
        let start = dir.space.unwrap(p.seq) + i64::from(syn != 0);
        let data = Data::of(p, start, self.mss[side]);
        let raw_end = p.seq.wrapping_add(p.payload_len).wrapping_add(u32::from(syn != 0));
        dir.space.advance(raw_end, data.end);
        self.data(p, side, &data, rows)
    }

    #[inline]
    fn data(&mut self, p: &Packet, side: usize, data: &Data, rows: &mut Rows) -> Place {
        let came_round =
            self.dirs[side].sender.as_ref().is_some_and(|s| s.came_round(p.timestamps.map(|t| t.1), p.ts_ns));
        if came_round {
            self.end_round(side, p, rows);
        }
        self.settle_limit(side, p.ts_ns, rows);
        let (from_start, mss) = (self.from_start, self.mss[side]);
        let dir = &mut self.dirs[side];
        let begin = || if from_start { first_byte(data.start, dir.acked, mss) } else { data.start };
        let handshake_ns = dir.handshake_rtt_ns;
        let sender = dir.sender.get_or_insert_with(|| Box::new(Sender::new(begin(), handshake_ns)));
        if data.is_probe(&sender.segments) {
            dir.feedback.expect(1);
            return Place::default();
        }
        let sent = sender.send(data, p.ip_ecn, p.frame, self.patience_ns);
        self.merged(p, side, data.weight);
        let dir = &mut self.dirs[side];
        match sent {
            Sent::New => return Place { new_data: true, new_stamp: false },
            Sent::OutOfOrder => dir.totals.out_of_order += 1,
            Sent::Retransmit => {
                dir.totals.retransmits += u64::from(data.weight);
                dir.totals.retransmitted_bytes += u64::from(p.payload_len);
                dir.feedback.expect(1);
            }
        }
        Place::default()
    }

    /// Counts a super-packet of that `weight`.
    #[inline(always)]
    pub(in crate::track) fn merged(&mut self, p: &Packet, side: usize, weight: u16) {
        if weight > 1 && p.payload_len > self.said_mss(side) {
            self.dirs[side].totals.super_packets += 1;
            self.dirs[side].totals.merged(weight, p.ip_ecn);
        }
    }

    /// Payload that one packet of the side can carry on the wire.
    pub fn segment(&self, side: usize) -> u32 {
        self.mss[side]
    }

    fn said_mss(&self, side: usize) -> u32 {
        self.handshake.mss[side ^ 1].map_or(DEFAULT_MSS, u32::from)
    }

    /// The ACK half of a packet from `side`: it reports on the other side's data.
    #[inline]
    fn acknowledge(&mut self, p: &Packet, side: usize, place: Place, rows: &mut Rows) {
        let peer = &mut self.dirs[side ^ 1];
        if !peer.space.started() {
            peer.space.start(p.ack, 0);
        }
        let ack = peer.space.unwrap(p.ack);
        let old = ack < peer.acked;
        let advances = ack > peer.acked;
        let advance = ack - peer.acked;
        if advances {
            peer.acked = ack;
            peer.space.advance(p.ack, ack);
        }
        let mut got = Delivered::default();
        if let Some(sender) = peer.sender.as_mut() {
            let (blocks, count) = match p.sack.count {
                0 => ([(0, 0); 4], 0),
                count => (peer.space.blocks(&p.sack), usize::from(count).min(4)),
            };
            got = sender.ack(ack, &blocks[..count], p.ts_ns, self.mss[side ^ 1]);
            if let (Some(shift), 0) = (self.shift[side], p.flags & flag::SYN) {
                sender.offered(u32::from(p.window) << shift);
            }
        }
        if got.packets > 0 {
            self.settle_window(side ^ 1, rows);
        }
        if self.dirs[side ^ 1].sender.is_none() && advance > 1 {
            // The data took another way, past this capture.
            got.packets = (advance as u64).div_ceil(u64::from(self.mss[side ^ 1])).min(1 << 20) as u32;
        }
        self.expect_behind_hole(p, side, advances || old);
        // A socket in TIME_WAIT keeps no counter (tcp_timewait_sock): it answers a repeated FIN from there, and
        // the first one (ACE 000) if it was closed in FIN_WAIT2.
        if self.ended == Ended::Fin && p.payload_len == 0 && (!advances || p.ace() == 0) {
            return self.dirs[side ^ 1].feedback.expect(got.packets);
        }
        let newer = !old && (advances || got.packets > 0 || place.new_data || place.new_stamp);
        self.feedback(p, side, ack, newer, &got);
        self.settle_round(p, side ^ 1, rows);
    }

    /// Smallest RTT seen from here to the receiver of each side and back.
    pub fn halves(&self) -> [Option<i64>; 2] {
        [0, 1].map(|side| {
            let dir = &self.dirs[side];
            let data =
                dir.sender.as_ref().map(|s| s.rtt()).filter(|rtt| rtt.samples > 0).map(|rtt| rtt.min_ns);
            [dir.handshake_rtt_ns, data, dir.echoes.min_ns].into_iter().flatten().min()
        })
    }

    /// Where the capture stands, and how long reordering may last, from the RTTs so far.
    pub(in crate::track) fn look_around(&mut self) {
        let [to_server, to_client] = self.halves();
        self.vantage = Vantage::from_halves(to_server, to_client);
        if let (Some(a), Some(b)) = (to_server, to_client) {
            // A retransmission needs at least one round trip; half of it separates the two well.
            self.patience_ns = (a.saturating_add(b) / 2).max(500_000);
        }
    }

    /// Packets of a side of which nothing was reported at the end: they matter where marks are to be expected.
    pub fn unreported(&self, side: usize) -> u64 {
        let dir = &self.dirs[side];
        if dir.feedback.ce.hi == 0 {
            return 0;
        }
        let data = dir.sender.as_ref().map_or(0, |s| s.segments.inflight_packets());
        u64::from(data) + u64::from(dir.feedback.extra)
    }

    /// The capture shows what the receiver of each side reports, from the first counter on.
    pub fn is_from_start(&self) -> bool {
        self.from_start
    }

    /// Mode, and the sentence that gives the reason, once everything is known.
    pub fn verdict(&self) -> (Mode, String) {
        let (mode, reason) = self.handshake.decide();
        let shown = match (mode, self.mode) {
            (Mode::Unknown, Some(Mode::AccEcn)) => "AE or an AccECN option in later packets shows AccECN.",
            (Mode::Unknown, Some(Mode::Classic)) => "ECE that ends in later packets shows classic ECN.",
            _ => return (mode, reason),
        };
        (self.mode(), format!("{reason} {shown}"))
    }
}
