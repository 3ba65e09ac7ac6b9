//! The conversations of a capture in lanes, each of which is tracked by itself: all packets between two ends
//! are in one lane, whatever their direction and network. The lanes are the same on any number of threads,
//! and so is what they find.

use super::mix::Mix;
use super::waiting::MOST_WAITING;
use crate::packet::{Address, FlowKey};
use crate::track::rounds::thin::{ALL_ROWS, LANE_ROWS};
use crate::track::table::fold::MOST_BARE;
use crate::track::{Flow, FlowTable, Tracker};

/// Lanes of a capture, and so the threads that can track it at the same time.
pub const LANES: usize = 16;

/// As many conversations stay in a second-level cache by themselves.
pub const CACHED: usize = 128;

/// An odd number without a pattern: 2^64 divided by the golden ratio.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// How much one tracker holds.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Packets that wait.
    pub waiting: usize,
    /// Conversations without data.
    pub bare: usize,
    /// Rows of rounds.
    pub rows: usize,
}

impl Limits {
    const fn part(lanes: usize) -> Self {
        Limits {
            waiting: MOST_WAITING / lanes,
            bare: MOST_BARE / lanes,
            rows: if lanes > 1 { LANE_ROWS } else { ALL_ROWS },
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits::part(1)
    }
}

/// The lane of a packet's conversation. Strangers can choose it, as they choose addresses: a lane that
/// gets all packets is as fast as one thread, and drops floods of SYNs earlier.
#[inline]
pub fn lane(key: &FlowKey) -> usize {
    let word = |a: &Address, i: usize| u64::from_ne_bytes(a[8 * i..8 * i + 8].try_into().unwrap());
    // The same for both directions.
    let both = |i: usize| word(&key.src, i) ^ word(&key.dst, i);
    let ports = u64::from(key.src_port ^ key.dst_port);
    let mixed = (both(1) ^ both(0).rotate_left(16) ^ ports).wrapping_mul(MIX);
    ((mixed ^ (mixed >> 32)).wrapping_mul(MIX) >> (u64::BITS - LANES.ilog2())) as usize
}

impl Tracker {
    /// A tracker for the packets of one lane.
    pub fn of_lane() -> Self {
        Tracker { limits: Limits::part(LANES), mix: Mix::new(CACHED / LANES), ..Tracker::default() }
    }

    /// What lanes that are finished found, as one: conversations numbered by their first frame. It follows no
    /// more packets.
    pub fn merged(mut lanes: Vec<Tracker>) -> Self {
        let frames = lanes.iter().enumerate().flat_map(|(lane, tracker)| {
            tracker.flows.iter().map(move |flow| (flow.first_frame, (lane, flow.id)))
        });
        let mut frames: Vec<(u64, (usize, u32))> = frames.collect();
        frames.sort_unstable();
        let order: Vec<(usize, u32)> = frames.into_iter().map(|(_, place)| place).collect();
        let mut numbers: Vec<Vec<u32>> = lanes.iter().map(|lane| vec![0; lane.flows.len()]).collect();
        for (&(lane, old), new) in order.iter().zip(0..) {
            numbers[lane][old as usize] = new;
        }
        let tables: Vec<_> = lanes.iter_mut().map(|lane| std::mem::take(&mut lane.table)).collect();
        let mut merged = Tracker {
            table: FlowTable::merged(&tables, &order, &numbers),
            flows: Vec::with_capacity(order.len()),
            folded: lanes.iter().map(|lane| lane.folded).sum(),
            ..Tracker::default()
        };
        let mut flows: Vec<Vec<Option<Box<Flow>>>> = Vec::with_capacity(lanes.len());
        for (mut lane, numbers) in lanes.into_iter().zip(&numbers) {
            let new = |old: u32| numbers[old as usize];
            lane.rounds.iter_mut().for_each(|row| row.flow = new(row.flow));
            merged.rounds.append(lane.rounds);
            merged.resumed.extend(lane.resumed.into_iter().map(|(frame, old)| (frame, new(old))));
            flows.push(lane.flows.into_iter().map(Some).collect());
        }
        for (lane, old) in order {
            if let Some(mut flow) = flows[lane][old as usize].take() {
                flow.renumber(&numbers[lane]);
                merged.flows.push(flow);
            }
        }
        if merged.rounds.len() >= ALL_ROWS {
            merged.thin();
        }
        merged
    }
}
