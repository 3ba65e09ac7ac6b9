//! Which slots of a path show that it was full: what these deliver is its capacity.

use super::capacity::quantile;
use super::phases::{HIDES, NOTED_US};
use super::slots::Slot;
use super::FRAME_BITS;

/// Slots that a new level must last (0.5 s or ten rounds). By eye: one cut does not last as long.
pub const LASTING: usize = 5;

/// Levels against the capacity before: above the noise of slots (about 10 %). A sender that backs off to
/// half its rate every few seconds stays above the first in some of the slots. By eye.
pub const FELL: f64 = 0.7;
pub const ROSE: f64 = 1.25;

/// Level of the packet trains after a fall: they are no faster than the path. By eye, above `FELL` by the
/// 15 % that schedulers add to trains.
pub const FELL_TRAINS: f64 = 0.85;

/// Part of the slots of a new lower level that must be busy. By eye.
pub const BUSY_PART: f64 = 0.6;

/// Busy slots that are remembered: enough for quantiles, and a run of any length stays linear.
pub const RECENT: usize = 100;

/// Waiting of the fastest packet that shows a standing queue: twice the step of DualPI2 (sch_dualpi2.c)
/// and, on slow links, more than the packet that is just being sent.
pub const QUEUE_US: f64 = 2000.0;
pub const QUEUE_PACKETS: f64 = 1.5;

/// How far trains and what a slot delivers may differ where packets follow each other without gaps: half
/// a packet of the eight that a train counts.
const GAPLESS: f64 = 0.06;

/// Wait, in times of a packet, that a full path leaves on average. By eye.
const HALF_PACKET: f64 = 0.5;

/// Share of a slot from which senders count as limited by themselves: most of it.
pub const HELD_BACK: f64 = 0.5;

impl Slot {
    /// The path itself limited what was delivered in the slot: marks, or that even the fastest packet
    /// waited. Though a window limits one flow, a queue in which the packets of all wait fills the path.
    ///
    /// Jitter of a step gathers packets to bursts that wait and are marked, however little the path carries:
    /// then marks count where even the fastest packet waited.
    pub fn fills(&self) -> bool {
        let waited = self.queue_us.unwrap_or(0.0);
        let stands = waited >= QUEUE_US.max(self.noise_us).max(QUEUE_PACKETS * self.packet_us());
        if self.held_back < HELD_BACK {
            (self.marks > 0.0 && (self.noise_us < HIDES * NOTED_US || self.stands())) || stands
        } else {
            stands && self.floor_us.unwrap_or(0.0) >= QUEUE_US
        }
    }

    /// Time (us) of a full packet at what the slot delivered.
    pub fn packet_us(&self) -> f64 {
        FRAME_BITS / self.delivered_bps.max(1.0) * 1e6
    }

    /// Even the fastest packet waited for more than the one that was just being sent.
    pub fn waits(&self) -> bool {
        self.queue_us.unwrap_or(0.0) >= QUEUE_US.max(self.packet_us()).max(self.noise_us)
    }

    /// Even the fastest packet waited for longer than marks alone explain.
    pub fn stands(&self) -> bool {
        self.queue_us.unwrap_or(0.0) >= QUEUE_US
    }

    /// Packets left at the rate of their trains all the time, and some of them waited: the queue was
    /// never empty for long, though the shortest of its delays is near 0.
    pub fn gapless(&self) -> bool {
        let apart = (self.train_bps.unwrap_or(0.0) - self.delivered_bps).abs();
        let waited = self.peak_us.unwrap_or(0.0) >= QUEUE_US.max(QUEUE_PACKETS * self.packet_us());
        self.held_back < HELD_BACK && apart <= GAPLESS * self.delivered_bps && waited
    }
}

/// Half of the full ones of `slots` left a queue, as a path that is full does. Marks alone also come to
/// the packets of a burst on a path that is far from full.
pub fn queued(slots: &[Slot]) -> bool {
    let busy = || slots.iter().rev().filter(|slot| slot.busy).take(RECENT);
    let waited = |slot: &&Slot| slot.peak_us.is_none_or(|peak| peak >= HALF_PACKET * slot.packet_us());
    2 * busy().filter(waited).count() >= busy().count()
}

/// What the last slots delivered.
pub fn used(past: &[Slot]) -> f64 {
    quantile(last(past).iter().map(|slot| slot.delivered_bps).collect(), 0.5)
}

/// As many slots as a level must last.
pub fn last(past: &[Slot]) -> &[Slot] {
    &past[past.len().saturating_sub(LASTING)..]
}

/// Their rates are those of their own time: a round that repairs losses smears its own.
pub fn whole(slots: &[Slot]) -> bool {
    let trains = slots.iter().filter(|slot| slot.train_bps.is_some()).count();
    trains as f64 >= BUSY_PART * slots.len() as f64
}

#[cfg(test)]
mod tests {
    use super::super::stretches::{slots, Stretch, FULL};
    use super::{used, whole};

    fn busy(change: fn(&mut super::Slot)) -> bool {
        slots(&[FULL.with(change)])[0].busy
    }

    #[test]
    fn a_slot_is_busy() {
        assert!(busy(|s| s.marks = 2.0));
        assert!(!busy(|s| s.marks = 0.0), "neither marks nor queue");
        assert!(busy(|s| (s.marks, s.queue_us) = (0.0, Some(5000.0))), "even the fastest packet waits");
        assert!(!busy(|s| (s.marks, s.queue_us, s.noise_us) = (0.0, Some(5000.0), 6e3)), "jitter");
        assert!(!busy(|s| (s.marks, s.noise_us) = (2.0, 3e3)), "marks of bursts that jitter made");
        assert!(!busy(|s| (s.queue_us, s.noise_us) = (Some(1.9e3), 5e3)), "whose first packet hardly waits");
        assert!(busy(|s| (s.queue_us, s.noise_us) = (Some(2e3), 5e3)), "marks of a queue in jitter");
        assert!(busy(|s| (s.marks, s.noise_us) = (2.0, 2e3)));
        assert!(!busy(|s| s.held_back = 1.0), "marks of a flow that its window holds");
        let all = |s: &mut super::Slot| (s.held_back, s.queue_us, s.floor_us) = (1.0, Some(5e3), Some(4e3));
        assert!(busy(all), "all flows wait");
    }

    #[test]
    fn one_packet_at_the_rate_of_the_slot() {
        let slot = slots(&[FULL.with(|s| s.delivered_bps = 12.112e6)])[0];
        assert!((slot.packet_us() - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn the_last_slots_show_the_use() {
        let slow = FULL.times(9).with(|s| s.delivered_bps = 1e6);
        assert_eq!(used(&slots(&[slow, FULL.times(5).with(|s| s.delivered_bps = 3e6)])), 3e6);
    }

    #[test]
    fn repairs_smear_their_rates() {
        let repair = |count| -> Stretch { FULL.times(count).with(|s| s.train_bps = None) };
        assert!(whole(&slots(&[FULL.times(3), repair(2)])));
        assert!(!whole(&slots(&[FULL.times(2), repair(3)])));
    }
}
