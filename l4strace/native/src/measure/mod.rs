//! What rounds show: one file a question, each a pass over the rounds of a direction or the slots of a path.
//!
//! Rounds come as columns, in the order of their direction. What is decided from it is Python's.

pub mod alphas;
mod base_rtt;
pub mod beside;
mod capacity;
mod changes;
pub mod coexistence;
mod column;
mod counting;
pub mod cuts;
pub mod delays;
pub mod detector;
pub mod during;
mod falls;
pub mod features;
pub mod first;
pub mod floors;
mod full;
pub mod laws;
pub mod logged;
mod marking_gaps;
pub mod neighbors;
pub mod networks;
pub mod noise;
pub mod numbers;
pub mod overall;
mod own;
pub mod phases;
pub mod policer;
pub mod queue_waits;
pub mod rates;
pub mod rating;
pub mod responding;
pub mod rounds;
pub mod scores;
pub mod slots;
pub mod spikes;
mod start_up;
pub mod starvation;
#[cfg(test)]
mod stretches;
pub mod sums;
mod surges;
#[cfg(test)]
mod tests;
pub mod usage;
pub mod waits;
pub mod windows;

pub use column::{Bits, Column};
pub use full::{HELD_BACK, QUEUE_US};
pub use own::{DEEP_US, FAR_US};

/// Shortest slot in which queue delays of two flows are compared: four of Prague's target RTTs (25 ms),
/// so that each flow has some rounds in it.
const BIN_NS: f64 = 100e6;

/// Two ranges of delays of a slot do not meet where they are that far apart: a step of DualPI2
/// (sch_dualpi2.c), or the packets for which one flow waits behind the other.
const APART_US: f64 = 1000.0;
const APART_PACKETS: f64 = 2.0;

/// A full Ethernet frame without FCS: 14 + 1500 bytes.
pub const FRAME_BYTES: u32 = 1514;
const FRAME_BITS: f64 = FRAME_BYTES as f64 * 8.0;

/// Rounds after the start from which a direction is looked at: three marks and two rounds without. By eye;
/// a flow through a long queue has few rounds and many packets.
pub const MIN_STEADY: usize = 5;

/// Packets in those rounds: with 100, a marked share is known to a tenth. Half of what starvation and the
/// like ask for, as a bottleneck needs no rate.
pub const MIN_STEADY_PACKETS: u64 = 100;

/// Fewer show nothing of a queue: the control connections of iperf3 and the like stay unjudged. By eye.
pub const MIN_ROUNDS: usize = 20;
pub const MIN_ACKED_PACKETS: u64 = 200;

/// Time (us) of a full packet at `rate_bps`; 0 where no rate is known.
fn packet_us(rate_bps: Option<f64>) -> f64 {
    rate_bps.filter(|rate| *rate > 0.0).map_or(0.0, |rate| FRAME_BITS * 1e6 / rate)
}

/// Length (ns) of slots that hold two rounds of these lengths.
fn slot_width(lengths: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = |(all, short), length: f64| (all + 1, short + usize::from(2.0 * length <= BIN_NS));
    let (all, short) = lengths.clone().fold((0, 0), count);
    // Where most rounds are that short, so is the median.
    if 2 * short > all {
        return BIN_NS;
    }
    numbers::median(&mut lengths.collect::<Vec<_>>()).map_or(BIN_NS, |usual| BIN_NS.max(2.0 * usual))
}

/// Number of the slot of a moment.
fn slot_of(ns: i64, width_ns: f64) -> i64 {
    floor(ns as f64 / width_ns)
}

/// A number rounded down: `f64::floor` is a call into libm.
pub fn floor(number: f64) -> i64 {
    number as i64 - i64::from(number < number as i64 as f64)
}
