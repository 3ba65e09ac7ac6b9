//! UDP Prague's controller, replayed from what its sender sent and received: for acknowledgements of single packets
//! exact but for some us between the time of a packet in the capture and in the program. Of blocks the sender knows
//! more: it counts numbers between two of them as lost.

use super::counts::Counts;
use super::message::{Ack, Data};
use crate::packet::Packet;
use crate::prague::udp::{Controller, Counted, Done};
use crate::track::rounds::round::Controlled;

/// Without an acknowledgement for so long, a sender whose window is full begins anew (SND_TIMEOUT).
const TIMEOUT_US: i32 = 1_000_000;
/// Its clock when the controller is made.
const START: i32 = 1;

/// Of one side's data; nothing in a capture that begins later than it.
#[derive(Clone, Debug, Default)]
pub(super) struct Replay {
    controller: Option<Controller>,
    /// Capture time (us) at the sender's time 0: as the data packets show it that left soonest after their timestamp.
    zero_us: Option<i64>,
    sent: i32,
    counted: Counted,
    acked_at: i32,
    reductions: u32,
    by_nothing: u32,
}

impl Replay {
    pub fn send(&mut self, packet: &Packet, data: &Data) {
        if data.number == 1 {
            *self = Replay { controller: Some(Controller::new(START)), acked_at: START, ..Replay::default() };
        }
        let stamp = data.stamp as i32;
        self.zero(packet.ts_ns / 1000 - i64::from(stamp));
        let Some(controller) = &mut self.controller else { return };
        let flying = self.sent.wrapping_sub(self.counted.received).wrapping_sub(self.counted.lost);
        let full = i64::from(flying) >= controller.packet_window() as i64;
        if full && stamp.wrapping_sub(self.acked_at) >= TIMEOUT_US {
            controller.reset(stamp);
            self.acked_at = stamp;
        }
        controller.sends(u64::from(packet.payload_len));
        self.sent = data.number as i32;
    }

    /// What a packet shows of the sender's time 0; one of 64 parts of what it shows later is drift of the clocks.
    fn zero(&mut self, us: i64) {
        let least = self.zero_us.map_or(us, |least| {
            // The sender's clock has 32 bits.
            let later = i64::from(us.wrapping_sub(least) as i32);
            least.saturating_add(if later < 0 { later } else { later / 64 })
        });
        self.zero_us = Some(least);
    }

    fn now(&self, packet: &Packet) -> i32 {
        (packet.ts_ns / 1000).saturating_sub(self.zero_us.unwrap_or(0)) as i32
    }

    pub fn ack(&mut self, packet: &Packet, ack: &Ack) -> Option<Controlled> {
        let now = self.now(packet);
        self.controller.as_mut()?.packet_received(now, ack.stamp as i32, ack.echoed as i32);
        let counted = Counted { received: ack.received as i32, ce: ack.ce as i32, lost: ack.lost as i32 };
        self.count(now, counted)
    }

    /// A round trip of a block acknowledgement; [`Replay::block`] follows.
    pub fn rtt(&mut self, ns: i64) {
        if let Some(controller) = &mut self.controller {
            controller.rtt((ns / 1000) as i32);
        }
    }

    pub fn block(&mut self, packet: &Packet, counts: &Counts) -> Option<Controlled> {
        let [received, ce, lost] = [counts.received as i32, counts.ce as i32, counts.lost as i32];
        self.count(self.now(packet), Counted { received, ce, lost })
    }

    fn count(&mut self, now: i32, counted: Counted) -> Option<Controlled> {
        let controller = self.controller.as_mut()?;
        let done = controller.ack(now, counted, self.sent);
        // No receiver counts so: what follows would be made up.
        if !(0.0..=1.0).contains(&controller.alpha()) {
            self.controller = None;
            return None;
        }
        if let Done::Marked { by } = done {
            self.reductions += 1;
            self.by_nothing += u32::from(by == 0);
        }
        (self.counted, self.acked_at) = (counted, now);
        Some(Controlled {
            alpha: controller.alpha() as f32,
            window: controller.packet_window().min(u64::from(u32::MAX)) as u32,
            rate_bps: controller.rate() as f32 * 8.0,
            reductions: self.reductions,
            by_nothing: self.by_nothing,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_0_stays_where_it_is_when_the_senders_clock_wraps() {
        let (mut replay, began_us) = (Replay::default(), 5_000_000_000_i64);
        for second in [0, 2146, 2147, 2148, 2149, 4294, 4295, 4296] {
            let us = 1_000_000 * second;
            let packet = Packet { ts_ns: 1000 * (began_us + us), ..Packet::default() };
            replay.send(&packet, &Data { stamp: us as u32, ..Data::default() });
            assert_eq!(replay.now(&packet), us as i32, "{second}");
        }
    }
}
