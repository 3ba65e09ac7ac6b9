//! When a round ends, and with which row; when a conversation ends.

use super::round::{Limit, RoundRow};
use super::rows::Rows;
use super::thin::MOST_ROWS;
use crate::packet::{flag, Packet};
use crate::track::conversation::flow::{Ended, Flow};
use crate::track::handshake::Mode;
use crate::track::sending::sender::{Context, Sender, Wait};

impl Sender {
    /// Keeps the row of a round that ended, and its place for the next ACK.
    fn keep(&mut self, row: RoundRow, rows: &mut Rows) -> Option<u32> {
        let (flow, forward) = (row.flow, row.forward);
        let place = rows.push(row);
        self.rows += 1;
        if self.rows >= MOST_ROWS {
            self.rows = rows.thin(flow, forward, MOST_ROWS);
        }
        place
    }
}

impl Flow {
    /// Data follows a round that had drained: if it follows at once, the window was the limit after all.
    #[inline]
    pub(in crate::track) fn settle_limit(&mut self, side: usize, now_ns: i64, rows: &mut Rows) {
        let Some(sender) = self.dirs[side].sender.as_ref().filter(|s| !s.round.open) else { return };
        let Some(at) = self.ended_row[side] else { return };
        if sender.went_on(now_ns) && rows.at(at).limited_by == Limit::App {
            rows.at(at).limited_by = Limit::Cwnd;
        }
    }

    /// An acknowledgement came: the round ends if that was all it waits for.
    #[inline(always)]
    pub(in crate::track) fn settle_round(&mut self, p: &Packet, side: usize, rows: &mut Rows) {
        if self.dirs[side].sender.as_ref().is_some_and(|s| s.wait == Wait::Ack && s.round_is_acked()) {
            self.round_acked(p, side, rows);
        }
    }

    /// The round's data is acknowledged: it is over here, or once the sender has reacted.
    fn round_acked(&mut self, p: &Packet, side: usize, rows: &mut Rows) {
        if !self.vantage.is_far(side == 0) {
            return self.end_round(side, p, rows);
        }
        let half = self.halves()[side ^ 1].unwrap_or(0);
        if let Some(sender) = self.dirs[side].sender.as_mut() {
            sender.wait = match p.timestamps {
                Some((tsval, _)) => Wait::Echo(tsval),
                None => Wait::Until(p.ts_ns + half),
            };
        }
    }

    pub(in crate::track) fn end_round(&mut self, side: usize, p: &Packet, rows: &mut Rows) {
        self.look_around();
        let context = self.context(side);
        if let Some(sender) = self.dirs[side].sender.as_mut() {
            let row = sender.end_round(p.ts_ns, p.frame, &context);
            self.ended_row[side] = row.and_then(|row| sender.keep(row, rows));
        }
    }

    /// Another ACK comes: what left since the one that ended a round shows the window behind that.
    #[inline(always)]
    pub(in crate::track) fn settle_window(&mut self, side: usize, rows: &mut Rows) {
        if let Some(at) = self.ended_row[side].take() {
            self.show_window(side, rows, at);
        }
    }

    fn show_window(&self, side: usize, rows: &mut Rows, at: u32) {
        let Some(sender) = self.dirs[side].sender.as_ref() else { return };
        if rows.at(at).limited_by == Limit::Cwnd {
            rows.at(at).cwnd_packets = sender.window.before_ack().into();
        }
    }

    /// Ends the round that runs at `before_ns`; what is in flight goes on in one that begins now, untimed.
    pub(in crate::track) fn split_round(&mut self, side: usize, p: &Packet, before_ns: i64, rows: &mut Rows) {
        let context = self.context(side);
        let Some(sender) = self.dirs[side].sender.as_mut() else { return };
        sender.segments.forget_times();
        if sender.round.open {
            if let Some(row) = sender.end_round(before_ns, p.frame, &context) {
                sender.keep(row, rows);
            }
            sender.round.start_ns = p.ts_ns;
        }
        self.ended_row[side] = None;
    }

    /// A FIN or RST.
    #[cold]
    pub(in crate::track) fn close(&mut self, p: &Packet, side: usize) {
        if p.flags & flag::RST != 0 {
            if self.ended == Ended::Open {
                self.ended = Ended::Rst;
            }
            return;
        }
        self.dirs[side].totals.fin = true;
        if self.dirs.iter().all(|d| d.totals.fin) && self.ended == Ended::Open {
            self.ended = Ended::Fin;
        }
    }

    /// Ends the rounds that still run at the end of the capture.
    pub fn finish(&mut self, rows: &mut Rows) {
        self.forget_held();
        self.look_around();
        for side in 0..2 {
            let context = self.context(side);
            let last_ns = self.last_ns;
            if let Some(sender) = self.dirs[side].sender.as_mut().filter(|s| s.round.open) {
                if let Some(row) = sender.end_round(last_ns, context.last_frame, &context) {
                    rows.push(row);
                }
            }
        }
    }

    /// The rows of the rounds so far are gone.
    pub(in crate::track) fn forget_rounds(&mut self) {
        self.ended_row = [None; 2];
        self.dirs.iter_mut().filter_map(|dir| dir.sender.as_mut()).for_each(|sender| sender.rows = 0);
    }

    pub(in crate::track) fn context(&self, side: usize) -> Context {
        let mode = self.mode();
        Context {
            flow: self.id,
            forward: side == 0,
            accecn: mode == Mode::AccEcn,
            far: self.vantage.is_far(side == 0),
            mss: self.mss[side],
            last_frame: self.last_frame,
        }
    }
}
