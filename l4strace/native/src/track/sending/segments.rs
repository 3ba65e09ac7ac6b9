//! Outstanding segments of one direction: what was sent, acknowledged, SACKed and retransmitted.

use super::data::Data;
use super::holes::Holes;
use super::queue::Queue;
use crate::track::prefetch::prefetch;
use parts::Parts;
use segment::{Segment, COPIED, RETRANSMITTED, SACKED};

mod copies;
mod parts;
mod segment;

/// What a data packet turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    New,
    /// Its bytes had been sent before.
    Retransmit,
    /// Late here, sent once.
    OutOfOrder,
}

/// Room for 256k segments a direction: 375 MB in flight. A capture without the ACKs of a flow must not
/// let the list grow without end; the oldest are then forgotten.
const MOST: usize = 1 << 18;

/// Bytes that a window can hold (RFC 7323): SACK of later ones is nonsense.
const FARTHEST: i64 = 1 << 30;

/// Segments that may be looked at again for every one that was sent: SACK blocks and retransmissions go
/// over the same ones a few times, an attack without end.
const LOOKS: u64 = 64;

/// What one ACK delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    pub bytes: u64,
    pub packets: u32,
    /// RTT of the newest segment acknowledged, where Karn's rule and an exact match allow it.
    pub rtt_ns: Option<i64>,
    /// When the newest segment was sent that SACK reports, once and not before.
    pub sacked_sent_ns: Option<i64>,
    /// Time since the segment was sent, once, that filled a hole below bytes that SACK reported.
    pub filled_ns: Option<i64>,
    /// Shortest payload among the delivered segments; 0 when none were delivered.
    pub shortest: u32,
    /// Some of it was captured as an offload super-packet.
    pub merged: bool,
}

/// What a plain ACK delivers, in how many segments, of which the last was sent then.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    got: Delivered,
    number: usize,
    sent_ns: i64,
}

/// The send side of one direction, as it can be followed at the capture point.
#[derive(Debug, Default)]
pub struct Segments {
    queue: Queue<Segment>,
    /// Highest byte sent; lowest byte not acknowledged.
    pub max: i64,
    pub una: i64,
    holes: Holes,
    /// Packets whose first copy was lost before this point: a later one filled the gap that it left.
    lost_before: u64,
    sack_before: [(i64, i64); 4],
    /// Highest byte that an ACK reported, cumulatively or by SACK.
    reported: i64,
    /// Highest byte that SACK reported while the capture had not seen it sent.
    unseen: i64,
    /// Packets reported after a later one, although sent once: the path let others overtake them.
    pub overtaken: u64,
    sacked_bytes: u64,
    sacked_packets: u32,
    packets: u32,
    /// IP id of the last packet that brought new bytes.
    pub newest_id: u16,
    /// Looks that are left.
    looks: u64,
    /// From the first one on.
    parts: Option<Box<Parts>>,
}

impl Segments {
    pub fn new(at: i64) -> Self {
        Segments { max: at, una: at, reported: at, ..Segments::default() }
    }

    /// The segments that come next: an ACK takes from the front, data goes to the back.
    pub fn prefetch(&self) {
        self.queue.first().into_iter().chain(self.queue.last()).for_each(prefetch);
    }

    /// Unacknowledged and not SACKed.
    pub fn inflight_bytes(&self) -> u64 {
        ((self.max - self.una).max(0) as u64).saturating_sub(self.sacked_bytes)
    }

    pub fn inflight_packets(&self) -> u32 {
        self.packets - self.sacked_packets
    }

    pub fn sacked_packets(&self) -> u32 {
        self.sacked_packets
    }

    pub fn holes(&self) -> &Holes {
        &self.holes
    }

    /// Packets lost before this point, with those whose gaps nothing has filled.
    pub fn lost_before(&self, mss: u32) -> u64 {
        self.lost_before + self.holes.missing(mss)
    }

    /// Takes note of a data packet. `patience_ns`: how late a packet may be to count as reordered.
    #[inline(always)]
    pub fn send(&mut self, data: &Data, patience_ns: i64) -> Sent {
        if data.start >= self.max {
            // At the receiver all before the gap is acknowledged as a rule: a gap is one all the same.
            if data.start > self.max {
                self.holes.open(self.max, data);
            }
            self.send_next(data);
            return Sent::New;
        }
        self.send_again(data, patience_ns)
    }

    /// The same for data that begins where all before it ends.
    #[inline(always)]
    pub fn send_next(&mut self, data: &Data) {
        self.max = data.end;
        self.newest_id = data.ip_id;
        self.push(data, 0);
    }

    #[inline(always)]
    fn push(&mut self, data: &Data, marks: u16) {
        if self.queue.len() >= MOST {
            self.forget_oldest();
        }
        self.looks += LOOKS;
        self.queue.push(Segment::new(data, marks));
        self.packets += u32::from(data.weight);
    }

    fn forget_oldest(&mut self) {
        if let Some(&old) = self.queue.first() {
            self.queue.take(1);
            self.account(&old);
            self.una = self.una.max(old.end());
        }
    }

    fn account(&mut self, gone: &Segment) {
        self.packets -= u32::from(gone.weight());
        if gone.is(SACKED) {
            self.sacked_bytes -= u64::from(gone.len);
            self.sacked_packets -= u32::from(gone.weight());
        }
    }

    /// A packet that does not advance the sequence: copy, retransmission or late arrival.
    #[cold]
    fn send_again(&mut self, data: &Data, patience_ns: i64) -> Sent {
        if let Some(hole) = self.holes.fill(data) {
            let sent = if hole.came_late(data, patience_ns) { Sent::OutOfOrder } else { Sent::Retransmit };
            self.lost_before += if sent == Sent::Retransmit { u64::from(data.weight) } else { 0 };
            self.insert(data, if sent == Sent::Retransmit { RETRANSMITTED } else { 0 });
            self.max = self.max.max(data.end);
            return sent;
        }
        let at = self.queue.partition_point(|s| s.end() <= data.start);
        let mut part = false;
        for s in &mut self.queue[at..] {
            if s.start >= data.end || self.looks == 0 {
                break;
            }
            self.looks -= 1;
            s.marks = (s.marks | RETRANSMITTED) & !COPIED;
            if data.start <= s.start && s.end() <= data.end {
                // Without an RTT sample, these distinguish a second sighting from another retransmission.
                (s.ts_ns, s.print) = (data.ts_ns, data.print);
            } else {
                // The rest of the segment was not sent now: it may be retransmitted next.
                part = true;
            }
        }
        if part {
            self.parts.get_or_insert_default().remember(data);
        }
        if data.end > self.max {
            let fresh = Data { start: self.max, ..*data };
            self.max = data.end;
            self.push(&fresh, RETRANSMITTED);
        }
        Sent::Retransmit
    }

    /// None of the segments in flight gives an RTT: the clock was set.
    pub fn forget_times(&mut self) {
        self.queue.iter_mut().for_each(|s| s.marks |= RETRANSMITTED);
    }

    fn insert(&mut self, data: &Data, marks: u16) {
        if data.end <= self.una || self.queue.len() >= MOST {
            return;
        }
        let at = self.queue.partition_point(|s| s.end() <= data.start);
        self.queue.insert(at, Segment::new(data, marks));
        self.packets += u32::from(data.weight);
    }

    /// Cumulative acknowledgement; returns what it delivers beyond earlier SACKs. Bytes that the capture
    /// missed count as packets of `mss`.
    #[inline]
    pub fn ack(&mut self, ack: i64, ts_ns: i64, mss: u32) -> Delivered {
        if ack <= self.una {
            return Delivered::default();
        }
        if let Some(plain) = self.plain(ack) {
            return self.take_plain(ack, &plain, ts_ns);
        }
        let got = self.take(ack, ts_ns, mss);
        self.acknowledged(ack);
        got
    }

    #[inline(always)]
    fn acknowledged(&mut self, ack: i64) {
        self.una = ack;
        self.reported = self.reported.max(ack);
        self.max = self.max.max(ack);
        self.holes.forget_below(ack);
    }

    /// What an ACK delivers that covers whole segments alone, all that there is of them, while nothing of them or
    /// behind them is reported, and each was sent once.
    #[inline(always)]
    pub fn plain(&self, ack: i64) -> Option<Plain> {
        let (mut got, mut number) = (Delivered::default(), 0);
        let mut rest = self.queue.iter();
        for s in &mut rest {
            let end = s.end();
            if s.is(SACKED | RETRANSMITTED) || end > ack || end <= self.reported {
                return None;
            }
            got.add(s);
            number += 1;
            if end == ack {
                let overlaps = rest.next().is_some_and(|s| s.start < ack);
                let is_all = got.bytes as i64 == ack - self.una && !overlaps;
                return is_all.then_some(Plain { got, number, sent_ns: s.ts_ns });
            }
        }
        None
    }

    /// Takes what [`Segments::plain`] found.
    #[inline(always)]
    pub fn take_plain(&mut self, ack: i64, plain: &Plain, ts_ns: i64) -> Delivered {
        self.queue.take(plain.number);
        self.packets -= plain.got.packets;
        self.acknowledged(ack);
        Delivered { rtt_ns: Some(ts_ns - plain.sent_ns), ..plain.got }
    }

    /// Takes all segments up to an ACK, whatever they are.
    #[inline(never)]
    fn take(&mut self, ack: i64, ts_ns: i64, mss: u32) -> Delivered {
        let mut got = Delivered::default();
        // End and time of the newest segment, and time of the newest that SACK had not reported.
        let (mut newest, mut filled) = (None, None);
        let mut unseen = ack - self.una;
        let mut retransmitted = false;
        while let Some(s) = self.queue.first().copied().filter(|s| s.start < ack) {
            if s.end() > ack {
                unseen -= ack - s.start;
                self.split_front(ack, &mut got);
                break;
            }
            self.queue.take(1);
            self.account(&s);
            unseen -= i64::from(s.len);
            retransmitted |= s.is(RETRANSMITTED);
            newest = None;
            if !s.is(SACKED) {
                self.overtaken += s.late_after(self.unseen, self.reported);
                got.add(&s);
                (newest, filled) = (Some((s.end(), s.ts_ns)), Some(s.ts_ns));
            }
        }
        // Karn: an ACK that covers a retransmission, or data that came long before a hole was
        // filled (SACKed), shows nothing about the round trip.
        if let Some((_, sent_ns)) = newest.filter(|&(end, _)| end == ack && !retransmitted) {
            got.rtt_ns = Some(ts_ns - sent_ns);
        }
        if !retransmitted && newest.is_none() {
            got.filled_ns = filled.map(|sent_ns| ts_ns - sent_ns);
        }
        // One byte is a SYN or FIN.
        if unseen > 1 {
            got.bytes += unseen as u64;
            got.packets += (unseen as u64).div_ceil(u64::from(mss.max(1))).min(1 << 20) as u32;
        }
        got
    }

    /// Part of an (offload) packet was acknowledged: its rest stays outstanding.
    #[cold]
    fn split_front(&mut self, ack: i64, got: &mut Delivered) {
        let Some(s) = self.queue.first_mut() else { return };
        if ack <= s.start {
            return;
        }
        let done = ack - s.start;
        let weight = ((i64::from(s.weight()) * done) / i64::from(s.len)) as u16;
        got.merged |= s.weight() > 1;
        s.start = ack;
        s.len -= done as u32;
        s.marks -= weight;
        self.packets -= u32::from(weight);
        if s.is(SACKED) {
            self.sacked_bytes -= done as u64;
            self.sacked_packets -= u32::from(weight);
        } else {
            got.bytes += done as u64;
            got.packets += u32::from(weight);
        }
    }

    /// Selective acknowledgement; returns what is newly delivered.
    pub fn sack(&mut self, blocks: &[(i64, i64)], got: &mut Delivered) {
        let mut now = [(0, 0); 4];
        let mut highest = self.reported;
        for (i, &(left, right)) in blocks.iter().take(4).enumerate() {
            now[i] = (left, right);
            if right <= self.una || left >= right {
                continue; // DSACK (RFC 2883), or nonsense
            }
            if right > self.max {
                self.unseen = self.unseen.max(right.min(self.una + FARTHEST));
                continue;
            }
            // Blocks are repeated and grow: look at the new part only, and at the super-packet, if any,
            // that it completes.
            let known = self.sack_before.iter().find(|b| b.0 == left && b.1 <= right && b.1 > b.0);
            self.mark(left, known.map_or(left, |b| b.1), right, got);
            highest = highest.max(right);
        }
        self.sack_before = now;
        self.reported = highest;
    }

    /// All of `left..right` arrived, and is known to have up to `known`.
    fn mark(&mut self, left: i64, known: i64, right: i64, got: &mut Delivered) {
        let at = self.queue.partition_point(|s| s.end() <= known);
        for s in &mut self.queue[at..] {
            if s.end() > right || self.looks == 0 {
                break;
            }
            self.looks -= 1;
            if !s.is(SACKED) && s.start >= left {
                self.overtaken += s.late_after(self.unseen, self.reported);
                s.marks |= SACKED;
                self.sacked_bytes += u64::from(s.len);
                self.sacked_packets += u32::from(s.weight());
                got.add(s);
                if !s.is(RETRANSMITTED) {
                    got.sacked_sent_ns = got.sacked_sent_ns.max(Some(s.ts_ns));
                }
            }
        }
    }
}

impl Delivered {
    #[inline(always)]
    fn add(&mut self, s: &Segment) {
        let weight = u32::from(s.weight());
        self.bytes += u64::from(s.len);
        self.packets += weight;
        self.merged |= weight > 1;
        // Most segments are one packet, which needs no division.
        let each = if weight > 1 { s.len / weight } else { s.len };
        self.shortest = if self.shortest == 0 { each } else { self.shortest.min(each) };
    }
}

#[cfg(test)]
mod tests;
