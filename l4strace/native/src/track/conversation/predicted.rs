//! Header prediction: nearly every packet is the next data of its side with the report of the packet before it, or
//! acknowledges more of what the other side sent. Those are followed here, with what they cannot move left out.

use super::flow::{Ended, Flow};
use super::strays::Followed;
use crate::packet::{flag, Packet};
use crate::track::rounds::rows::Rows;
use crate::track::sending::data::Data;
use crate::track::sending::segments::Plain;
use crate::track::sending::sender::Sender;

impl Flow {
    /// Follows one packet of side `side`; a finished round is appended to `rows`.
    #[inline(always)]
    pub fn packet(&mut self, p: &Packet, side: usize, rows: &mut Rows) -> Followed {
        if self.predicted(p, side, rows) {
            return Followed::Here;
        }
        self.unpredicted(p, side, rows)
    }

    /// Follows any other one.
    #[inline(never)]
    fn unpredicted(&mut self, p: &Packet, side: usize, rows: &mut Rows) -> Followed {
        let followed = self.looked_at(p, side, rows);
        self.settle();
        followed
    }

    /// It may be a copy, or lie somewhere else.
    fn looked_at(&mut self, p: &Packet, side: usize, rows: &mut Rows) -> Followed {
        if self.is_copy(p, side) {
            return Followed::Here;
        }
        if self.is_stray(p, side) {
            return self.stray(p, side, rows);
        }
        self.confirm(side);
        self.here(p, side, rows);
        Followed::Here
    }

    /// Follows the packet if it is one of those: the same as [`Flow::here`] for it. False, with nothing changed,
    /// where it may be another one.
    #[inline(always)]
    pub(in crate::track) fn predicted(&mut self, p: &Packet, side: usize, rows: &mut Rows) -> bool {
        if !self.is_quiet(p) || !self.dirs[side].space.stands_at(p.seq) {
            return false;
        }
        if p.payload_len > 0 {
            if !self.sends_next(p, side) {
                return false;
            }
            self.seen(p, side);
            self.next_data(p, side);
        } else {
            let Some(plain) = self.acks_more(p, side) else { return false };
            self.seen(p, side);
            self.next_ack(p, side, &plain, rows);
        }
        self.last_frame = p.frame;
        true
    }

    /// What any packet moves.
    #[inline(always)]
    fn seen(&mut self, p: &Packet, side: usize) {
        self.last_ns = p.ts_ns;
        self.dirs[side].totals.packet(p);
        self.echo(p, side);
    }

    /// Whether the handshake is over and nothing waits to be decided: no packet that is predicted changes that.
    pub(super) fn settle(&mut self) {
        let waits = self.held.is_some() || self.suspicion.is_some() || self.mode.is_none();
        self.is_settled = !waits && !self.is_on_several();
    }

    /// The packet neither opens nor closes, in a conversation where nothing waits to be decided.
    #[inline(always)]
    fn is_quiet(&self, p: &Packet) -> bool {
        let kind = flag::SYN | flag::FIN | flag::RST | flag::ACK;
        let is_plain = p.flags & kind == flag::ACK && p.interface == self.interface;
        self.is_settled && is_plain && !self.general && !self.pauses(p)
    }

    /// Data behind all that was sent, in a round that runs, with the report that stands.
    #[inline(always)]
    fn sends_next(&self, p: &Packet, side: usize) -> bool {
        let me = &self.dirs[side];
        let runs = |sender: &Sender| sender.segments.max == me.space.highest() && sender.goes_on(p);
        me.sender.as_deref().is_some_and(runs) && self.report_stands(p, side)
    }

    #[inline(always)]
    fn next_data(&mut self, p: &Packet, side: usize) {
        let me = &mut self.dirs[side];
        let data = Data::of(p, me.space.highest(), self.mss[side]);
        me.space.advance(p.seq.wrapping_add(p.payload_len), data.end);
        if let Some(sender) = me.sender.as_mut() {
            sender.send_next(&data, p.ip_ecn, p.frame);
        }
        self.merged(p, side, data.weight);
        self.repeat_report(p, side);
    }

    /// More than before is acknowledged, of what was sent, of a capture that has each packet once: whole segments.
    #[inline(always)]
    fn acks_more(&self, p: &Packet, side: usize) -> Option<Plain> {
        if p.sack.count > 0 || self.remembered.is_some() || self.ended != Ended::Open {
            return None;
        }
        let peer = &self.dirs[side ^ 1];
        let ack = peer.space.unwrap(p.ack);
        peer.sender.as_deref().filter(|_| ack > peer.acked)?.segments.plain(ack)
    }

    #[inline(always)]
    fn next_ack(&mut self, p: &Packet, side: usize, plain: &Plain, rows: &mut Rows) {
        self.dirs[side].feedback.expect(1);
        let peer = &mut self.dirs[side ^ 1];
        let ack = peer.space.unwrap(p.ack);
        peer.acked = ack;
        let Some(sender) = peer.sender.as_mut() else { return };
        let got = sender.ack_plain(ack, plain, p.ts_ns);
        if let Some(shift) = self.shift[side] {
            sender.offered(u32::from(p.window) << shift);
        }
        if got.packets > 0 {
            self.settle_window(side ^ 1, rows);
        }
        self.feedback(p, side, ack, true, &got);
        self.settle_round(p, side ^ 1, rows);
    }
}
