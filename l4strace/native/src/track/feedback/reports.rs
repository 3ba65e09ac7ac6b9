//! What packets report on the other side's data: ACE, ECE and the AccECN option.

use super::ace::{ACE_START, ACE_WRAPS};
use crate::packet::{flag, AccEcnOption, Packet};
use crate::track::conversation::flow::Flow;
use crate::track::handshake::Mode;
use crate::track::sending::segments::Delivered;
use crate::track::sending::sender::Sender;

/// ACE, read as a number, where ECE is set without AE and CWR.
const ECE_ALONE: u8 = 0b001;

impl Flow {
    /// ACE, ECE and the AccECN option of a packet from `side`, which report on the other side.
    #[inline(always)]
    pub(in crate::track) fn feedback(
        &mut self,
        p: &Packet,
        side: usize,
        ack: i64,
        newer: bool,
        got: &Delivered,
    ) {
        if p.flags & flag::SYN != 0 {
            if let Some(option) = &p.accecn {
                self.option(p, option, side, newer);
            }
            return;
        }
        if self.is_code(p, side, ack) {
            return self.code(p, side);
        }
        match self.mode() {
            Mode::None => return,
            Mode::Classic => return self.classic(p, side, got),
            Mode::AccEcn => {}
            Mode::Unknown => self.unknown(p, side, newer, got),
        }
        self.counter(p, side, newer, got);
    }

    /// A repeated acknowledgement without SACK: a packet came that only a later one covers.
    #[inline]
    pub(in crate::track) fn expect_behind_hole(&mut self, p: &Packet, side: usize, moved: bool) {
        if !moved && self.hides(p, side) {
            self.dirs[side ^ 1].feedback.behind_hole();
        }
    }

    /// Packets may have come that the ACK does not cover, and could not show.
    #[inline]
    fn hides(&self, p: &Packet, side: usize) -> bool {
        let open = |s: &Sender| s.segments.inflight_packets() > 0;
        p.payload_len == 0
            && self.dirs[side ^ 1].sender.as_deref().is_some_and(open)
            && !self.handshake.has_sack()
    }

    #[inline(always)]
    fn classic(&mut self, p: &Packet, side: usize, got: &Delivered) {
        let ece = p.flags & flag::ECE != 0;
        self.dirs[side].totals.ece_acks += u64::from(ece);
        self.dirs[side].totals.cwr_packets += u64::from(p.flags & flag::CWR != 0);
        let peer = &mut self.dirs[side ^ 1];
        let echoing = std::mem::replace(&mut peer.feedback.echoing, ece);
        if ece {
            if let Some(sender) = peer.sender.as_mut() {
                sender.round.ece_acks += 1;
                sender.window.marked(sender.segments.max);
                if !echoing {
                    sender.marked_rtt(got);
                }
            }
            peer.totals.first_ce.get_or_insert((p.ts_ns, p.frame));
        }
    }

    /// Without a handshake, AE or the option show AccECN, and ECE that ends shows classic ECN: a counter
    /// that stands at 1 needs seven more marks to stand at 0.
    fn unknown(&mut self, p: &Packet, side: usize, newer: bool, got: &Delivered) {
        self.dirs[side].totals.ece_acks += u64::from(p.flags & flag::ECE != 0);
        self.dirs[side].totals.cwr_packets += u64::from(p.flags & flag::CWR != 0);
        if p.flags & flag::AE != 0 || p.accecn.is_some() {
            self.mode = Some(Mode::AccEcn);
        } else if newer && p.payload_len == 0 {
            let echoing = &mut self.dirs[side ^ 1].feedback.echoing;
            let echoed = std::mem::replace(echoing, p.ace() == ECE_ALONE);
            if echoed && p.ace() == 0 && got.packets < ACE_WRAPS - 1 {
                self.mode = Some(Mode::Classic);
            }
        }
    }

    /// A bare ACK of the SYN/ACK before any data: its ACE is a handshake code (RFC 9768 table 4).
    #[inline]
    fn is_code(&self, p: &Packet, side: usize, ack: i64) -> bool {
        ack == 1
            && p.payload_len == 0
            && self.dirs[side].sender.is_none()
            && self.handshake.synack.is_some()
            && ((side == 0 && self.handshake.final_acks < self.handshake.synack_count)
                || self.handshake.simultaneous)
    }

    #[cold]
    fn code(&mut self, p: &Packet, side: usize) {
        if let Some(option) = &p.accecn {
            self.option(p, option, side, true);
        }
        if side != 0 {
            return;
        }
        if let (Some(synack), 1, None) =
            (self.handshake.synack, self.handshake.synack_count, self.handshake.final_ack)
        {
            self.dirs[1].handshake_rtt_ns = Some(p.ts_ns - synack.ts_ns);
            self.look_around();
        }
        self.handshake.answer(p);
        let ce = &mut self.dirs[1].feedback.ce;
        if p.ace() == 0b110 && !ce.started() {
            // The SYN/ACK arrived with CE: the counter begins at 6 (RFC 9768 section 3.2.2).
            ce.start(ACE_START + 1);
            (ce.lo, ce.hi, ce.best, ce.naive) = (1, 1, 1, 1);
        }
    }

    #[inline(always)]
    fn counter(&mut self, p: &Packet, side: usize, newer: bool, got: &Delivered) {
        let ace = p.ace();
        let from_start = self.from_start;
        let hidden = got.packets > 0 && self.hides(p, side);
        let [client, server] = &mut self.dirs;
        let (me, peer) = if side == 0 { (client, server) } else { (server, client) };
        me.carried.ace(ace);
        let ce = &mut peer.feedback.ce;
        ce.start(if from_start { ACE_START } else { ace });
        ce.sum_naively(ace);
        let gapless = me.totals.is_gapless();
        let step = if newer {
            peer.feedback.ace(ace, got, gapless, hidden)
        } else {
            peer.feedback.repeated(ace, gapless)
        };
        if step.best > 0 {
            peer.totals.first_ce.get_or_insert((p.ts_ns, p.frame));
        }
        let mut ce = [step.best, step.lo, step.hi].map(i64::from);
        if let Some(sender) = peer.sender.as_mut().filter(|_| newer || step.best > 0) {
            sender.marked(got, step);
        }
        if let Some(option) = &p.accecn {
            let [lo, hi, best] = self.option(p, option, side, newer);
            for (sum, moved) in ce.iter_mut().zip([best, lo, hi]) {
                *sum += moved;
            }
        }
        if let Some(sender) = self.dirs[side ^ 1].sender.as_mut() {
            sender.tick(got, ce, p.ts_ns);
        }
    }

    /// Returns by how much the option moves the CE count: lo, hi, best.
    #[inline(always)]
    fn option(&mut self, p: &Packet, option: &AccEcnOption, side: usize, newer: bool) -> [i64; 3] {
        let from_start = self.from_start;
        let [client, server] = &mut self.dirs;
        let (me, peer) = if side == 0 { (client, server) } else { (server, client) };
        let seen = me.carried.option(option, p.frame);
        if !newer {
            return [0; 3];
        }
        let longest = peer.totals.max_payload.min(self.mss[side ^ 1]);
        // The acknowledgements show what the capture missed.
        let most = peer.totals.payload_bytes.max(peer.acked.max(0) as u64);
        let acked = peer.acked.max(0);
        let says = peer.feedback.option(option, (most, acked), from_start, longest);
        if says.zeroed || says.implausible || says.contradicts {
            seen.zeroed += u64::from(says.zeroed);
            seen.implausible += u64::from(says.implausible);
            seen.contradicts += u64::from(says.contradicts);
            seen.fault_frame.get_or_insert(p.frame);
        }
        if let Some(sender) = peer.sender.as_mut() {
            for (sum, moved) in sender.round.ce.iter_mut().zip(says.moved) {
                *sum += moved;
            }
            if let Some(bytes) = says.ce_bytes {
                *sender.round.ce_bytes.get_or_insert(0) += u64::from(bytes);
            }
        }
        says.moved
    }
}
