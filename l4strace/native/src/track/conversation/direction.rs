//! One direction of a conversation: its counters, and what the other side reports of it.

use super::seq::SeqSpace;
use crate::packet::{ecn, flag, AccEcnOption, Packet};
use crate::track::dscp::Dscps;
use crate::track::feedback::Feedback;
use crate::track::prefetch::prefetch;
use crate::track::sending::echo::Echoes;
use crate::track::sending::sender::Sender;

/// A timestamp that runs back further than this is a clock step, not reordering in the capture.
pub const CLOCK_STEP_NS: i64 = 1_000_000;

/// Packets in a row behind the time before them from which the clock was stepped: a step lasts, and one packet
/// that was recorded late, or the two of a delayed ACK, are no step.
const LASTING_STEP: u8 = 3;

/// Counters over the whole direction; names as in the `directions` table.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub payload_bytes: u64,
    /// Packets with payload and without, by codepoint: Not-ECT, ECT(1), ECT(0), CE.
    pub data_ecn: [u64; 4],
    bare_ecn: [u64; 4],
    pub ce_payload_bytes: u64,
    /// Packets on the wire, as hosts count them.
    pub retransmits: u64,
    pub retransmitted_bytes: u64,
    pub out_of_order: u64,
    pub duplicates: u64,
    pub max_payload: u32,
    pub super_packets: u64,
    /// Absent in most directions.
    rare: Option<Box<Rare>>,
    pub ece_acks: u64,
    pub cwr_packets: u64,
    pub acks: u64,
    pub options_cut: u64,
    pub clock_steps: u32,
    pub first_frame: u64,
    pub last_frame: u64,
    pub first_ns: i64,
    pub last_ns: i64,
    pub first_ce: Option<(i64, u64)>,
    pub dscps: Dscps,
    pub fin: bool,
    /// Packets in a row that lie behind `last_ns`.
    behind: u8,
    /// IP ids of the last packet and of the one before it.
    ip_ids: [u16; 2],
}

/// Counts that few directions have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rare {
    /// Tunnelled packets whose outer and inner codepoint differ.
    pub outer_differs: u64,
    /// Of those with CE outside and ECT inside: marked within the tunnel.
    pub outer_ce: u64,
    /// Of those with Not-ECT outside: not to be marked within the tunnel.
    pub outer_not_ect: u64,
    /// Packets far outside of the window.
    pub out_of_window: u64,
    /// What super-packets are more than one each on the wire, and those of them with CE.
    pub merged: u64,
    pub merged_ce: u64,
    /// By how much the clock of the capture was set forward, in sum.
    pub clock_ahead_ns: i64,
}

impl Rare {
    fn tunnelled(&mut self, outer: u8, inner: u8) {
        self.outer_differs += 1;
        let ect = inner == ecn::ECT0 || inner == ecn::ECT1;
        self.outer_ce += u64::from(outer == ecn::CE && ect);
        self.outer_not_ect += u64::from(outer == ecn::NOT_ECT);
    }
}

/// What the direction's own packets showed of the counter and the option that they carry.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    pub ace_first: Option<u8>,
    /// Bit i: ACE value i was seen.
    pub ace_seen: u8,
    pub ae_seen: bool,
    zero_run: u64,
    pub zero_run_max: u64,
    pub option: Option<Box<CarriedOption>>,
}

/// The AccECN options of one direction.
#[derive(Clone, Debug, Default)]
pub struct CarriedOption {
    pub packets: u64,
    pub kind: u8,
    pub exid: Option<u16>,
    pub first_frame: u64,
    pub last_frame: u64,
    pub zeroed: u64,
    pub implausible: u64,
    pub contradicts: u64,
    pub fault_frame: Option<u64>,
}

/// One direction.
#[derive(Debug, Default)]
pub struct Direction {
    pub space: SeqSpace,
    pub totals: Totals,
    pub carried: Carried,
    /// What the other side reports of this direction.
    pub feedback: Feedback,
    pub echoes: Echoes,
    /// Present once the direction sent data.
    pub sender: Option<Box<Sender>>,
    /// Highest acknowledgement that the other side sent for this direction.
    pub acked: i64,
    pub handshake_rtt_ns: Option<i64>,
}

impl Totals {
    /// Counts one packet, whatever it is.
    #[inline(always)]
    pub fn packet(&mut self, p: &Packet) {
        if self.first_frame == 0 {
            (self.first_frame, self.first_ns, self.last_ns) = (p.frame, p.ts_ns, p.ts_ns);
        }
        self.ip_ids = [p.ip_id.unwrap_or(0), self.ip_ids[0]];
        self.last_frame = p.frame;
        self.time(p.ts_ns);
        self.dscps.add(p.dscp);
        if p.options_cut {
            self.options_cut += 1;
        }
        if let Some(outer) = p.outer_ecn {
            self.tunnelled(outer, p.ip_ecn);
        }
        if p.ip_ecn == ecn::CE {
            self.first_ce.get_or_insert((p.ts_ns, p.frame));
        }
        if p.payload_len > 0 {
            return self.data(p);
        }
        self.bare_ecn[usize::from(p.ip_ecn & 3)] += 1;
        if p.flags & (flag::SYN | flag::FIN | flag::RST | flag::ACK) == flag::ACK {
            self.acks += 1;
        }
    }

    pub fn packets(&self) -> u64 {
        self.ecn().iter().sum()
    }

    pub fn data_packets(&self) -> u64 {
        self.data_ecn.iter().sum()
    }

    /// Packets by codepoint: Not-ECT, ECT(1), ECT(0), CE.
    pub fn ecn(&self) -> [u64; 4] {
        std::array::from_fn(|codepoint| self.data_ecn[codepoint] + self.bare_ecn[codepoint])
    }

    /// The last packet's IP id is the one before it plus one: no packet of this direction is missing.
    #[inline]
    pub fn is_gapless(&self) -> bool {
        let [id, before] = self.ip_ids;
        id != 0 && id == before.wrapping_add(1)
    }

    #[cold]
    fn tunnelled(&mut self, outer: u8, inner: u8) {
        if outer != inner {
            self.rarely().tunnelled(outer, inner);
        }
    }

    /// Counts a clock that was set back, once the packets after it stay behind.
    #[inline(always)]
    fn time(&mut self, ts_ns: i64) {
        if ts_ns >= self.last_ns - CLOCK_STEP_NS {
            (self.last_ns, self.behind) = (ts_ns, 0);
            return;
        }
        self.behind += 1;
        if self.behind == LASTING_STEP {
            self.clock_steps += 1;
            (self.last_ns, self.behind) = (ts_ns, 0);
        }
    }

    /// A data packet that stands for `weight` on the wire, which are more than one.
    #[cold]
    pub fn merged(&mut self, weight: u16, ip_ecn: u8) {
        let more = u64::from(weight) - 1;
        let rare = self.rarely();
        rare.merged += more;
        rare.merged_ce += if ip_ecn == ecn::CE { more } else { 0 };
    }

    /// Data packets on the wire, and those with CE.
    pub fn segments(&self) -> (u64, u64) {
        let rare = self.rare();
        (self.data_packets() + rare.merged, self.data_ecn[usize::from(ecn::CE)] + rare.merged_ce)
    }

    pub fn rare(&self) -> Rare {
        self.rare.as_deref().copied().unwrap_or_default()
    }

    #[cold]
    pub fn rarely(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    #[inline(always)]
    fn data(&mut self, p: &Packet) {
        self.payload_bytes += u64::from(p.payload_len);
        self.data_ecn[usize::from(p.ip_ecn & 3)] += 1;
        self.max_payload = self.max_payload.max(p.payload_len);
        if p.ip_ecn == ecn::CE {
            self.ce_payload_bytes += u64::from(p.payload_len);
        }
    }
}

impl Direction {
    /// Acknowledged cumulatively or by SACK. Without the data in the capture the acknowledgements still show
    /// them, counted from the SYN.
    pub fn acked_bytes(&self) -> u64 {
        match &self.sender {
            Some(sender) => sender.acked_bytes,
            None => (self.acked - 1).max(0) as u64,
        }
    }

    /// What lies behind this struct, once the struct itself is here.
    pub fn prefetch(&self) {
        self.sender.as_deref().into_iter().for_each(prefetch);
        self.carried.option.as_deref().into_iter().for_each(prefetch);
        self.feedback.bytes.as_deref().into_iter().for_each(prefetch);
        self.echoes.prefetch();
    }

    /// What the sender keeps of its packets, once the sender is here.
    pub fn prefetch_sent(&self) {
        if let Some(sender) = &self.sender {
            sender.segments.prefetch();
            sender.round.prefetch();
        }
    }
}

impl Carried {
    /// A packet that carries the counter.
    #[inline(always)]
    pub fn ace(&mut self, ace: u8) {
        self.ace_first.get_or_insert(ace);
        self.ace_seen |= 1 << ace;
        self.ae_seen |= ace & 4 != 0;
        self.ace_again(ace);
    }

    /// One with a value that was seen before.
    #[inline(always)]
    pub fn ace_again(&mut self, ace: u8) {
        if ace != 0 {
            self.zero_run = 0;
            return;
        }
        self.zero_run += 1;
        self.zero_run_max = self.zero_run_max.max(self.zero_run);
    }

    #[inline(always)]
    pub fn option(&mut self, option: &AccEcnOption, frame: u64) -> &mut CarriedOption {
        let seen = self.option.get_or_insert_default();
        if seen.packets == 0 {
            (seen.kind, seen.exid, seen.first_frame) = (option.kind, option.exid, frame);
        }
        seen.packets += 1;
        seen.last_frame = frame;
        seen
    }
}
