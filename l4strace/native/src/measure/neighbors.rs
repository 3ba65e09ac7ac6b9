//! What the other flows of a path saw while a direction sent.
//!
//! Slots are as long as two rounds of the slowest flow.

use std::collections::BTreeMap;
use std::ops::Range;

use super::numbers::{correlation, least, mean, median, most, quantile, rank_correlation, sum, Sum};
use super::rating::Rating;
use super::rounds::Codepoint;
use super::waits::{above, Directed, Round};
use super::{packet_us, slot_of, APART_PACKETS, APART_US};

/// Quantile in place of the smallest, which one odd second decides. By eye.
const LOW: f64 = 0.1;

/// Times of a packet that every packet of a flow waits, where some of it are always queued: one that
/// finds no other of its flow waits for the packet being sent and, in fair queueing, for its turn.
const BACKLOG_PACKETS: f64 = 2.0;

/// What a direction saw of the others of one class, ECT(1) or the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Neighbors {
    /// Slots that are compared.
    pub slots: i64,
    /// Medians over these of both queues, and the least that the others ever waited.
    pub queue_us: Option<f64>,
    pub own_queue_us: Option<f64>,
    pub least_us: Option<f64>,
    /// Correlation of the two, and their mean difference in parts of the longer of the two.
    pub corr: Option<f64>,
    pub gap: Option<f64>,
    /// Marks of the others, and slots with any.
    pub marks: i64,
    pub marked_slots: i64,
    /// Slots of others that can be marked.
    pub ect0: i64,
    /// Queue at which marks set in: a tenth of the slots lie below.
    pub mark_delay_us: Option<f64>,
    /// Rank correlation of the two about their means of each phase of the path; None where it has one
    /// phase only: a change moves queues of their own together.
    pub within: Option<f64>,
    /// Part of the slots in which not one packet of another flow waited as long as any of its own.
    pub apart: Option<f64>,
    /// Slots in which both always had packets queued, and how far their rates and their RTTs differ there:
    /// root mean square of the logarithm of the ratio.
    pub waiting: i64,
    pub uneven: Option<f64>,
    pub unlike: Option<f64>,
}

/// One direction, its neighbors that send ECT(1) and all others; None where none was there.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    pub of: usize,
    pub scalable: Option<Neighbors>,
    pub classic: Option<Neighbors>,
}

/// A direction in one slot.
#[derive(Default)]
struct Slot {
    slot: i64,
    ect1: bool,
    ect0: bool,
    queue_us: f64,
    marks: i64,
    mark_queue_us: Option<f64>,
    phase: Option<u32>,
    least_seen_us: Option<f64>,
    least_us: Option<f64>,
    most_us: Option<f64>,
    waiting_rate: Option<f64>,
    waiting_rtt: Option<f64>,
}

/// All directions of one class in one slot of a path.
#[derive(Default)]
struct All {
    count: i64,
    queue_us: Sum,
    least_seen_us: Sum,
    marks: i64,
    waiting: i64,
    waiting_rate: Sum,
    waiting_rtt: Sum,
    mark_queue_us: Option<f64>,
    ect0: i64,
    least_us: Option<f64>,
    most_us: Option<f64>,
}

/// What a direction saw in one slot of the others of a class.
struct Others {
    queue_us: f64,
    least_us: Option<f64>,
    marks: i64,
    ect0: bool,
    mark_queue_us: Option<f64>,
    apart: Option<bool>,
    /// Logarithm of the direction's value over the mean of the others.
    waiting_rate: Option<f64>,
    waiting_rtt: Option<f64>,
}

/// Directions of one path that have slots after their start.
#[derive(Default)]
pub struct Slots {
    slots: Vec<Slot>,
    /// Those of each direction.
    owned: Vec<(usize, Range<usize>)>,
}

impl Slots {
    /// All directions of a path have slots of this `width`.
    pub fn add(&mut self, direction: &Directed, rating: &Rating, width: f64) {
        let before = self.slots.len();
        add_slots(direction, rating, width, &mut self.slots);
        if self.slots.len() > before {
            self.owned.push((direction.of, before..self.slots.len()));
        }
    }

    pub fn neighbors(&self) -> Vec<Beside> {
        let slots = &self.slots;
        let mut by_slot: Vec<usize> = (0..slots.len()).collect();
        by_slot.sort_by_key(|i| slots[*i].slot);
        // One class at a time: what is seen of others is as much as the slots.
        let [scalable, classic] = [true, false].map(|ect1| {
            let others = others(slots, &by_slot, ect1);
            let seen = |(_, own): &(_, Range<usize>)| of_class(&slots[own.clone()], &others[own.clone()]);
            self.owned.iter().map(seen).collect::<Vec<_>>()
        });
        let beside = |((of, scalable), classic)| Beside { of, scalable, classic };
        let directions = self.owned.iter().map(|(of, _)| *of);
        directions.zip(scalable).zip(classic).map(beside).collect()
    }
}

/// The slots of one direction.
fn add_slots(direction: &Directed, rating: &Rating, width: f64, slots: &mut Vec<Slot>) {
    let rounds = direction.steady().iter();
    let mut rounds: Vec<(i64, &Round)> =
        rounds.map(|round| (slot_of(round.start_ns, width), round)).collect();
    rounds.sort_by_key(|(slot, _)| *slot);
    for part in rounds.chunk_by(|a, b| a.0 == b.0) {
        slots.extend(of_rounds(direction, part, rating));
    }
}

/// None where no round has a queue delay.
fn of_rounds(direction: &Directed, rounds: &[(i64, &Round)], rating: &Rating) -> Option<Slot> {
    let (slot, first) = rounds[0];
    let (ect1, ect0) = (direction.codepoint == Codepoint::Ect1, direction.codepoint == Codepoint::Ect0);
    let base = direction.base_us;
    let queues = || rounds.iter().filter_map(|(_, round)| round.queue_us.get());
    let mut found = Slot { slot, ect1, ect0, queue_us: mean(queues())?, ..Slot::default() };
    found.phase = first.phase;
    found.least_seen_us = above(direction.floor_us, base);
    let (mut bytes, mut length, mut margin) = (0, 0, 0f64);
    let (mut holds, mut held) = (true, false);
    for (_, round) in rounds {
        let packet = packet_us(rating.bps(round));
        found.marks += round.marks.unwrap_or(0);
        found.mark_queue_us = least(found.mark_queue_us, round.marking_us.get());
        bytes += round.acked_bytes;
        length += round.end_ns - round.start_ns;
        margin = margin.max(APART_US.max(APART_PACKETS * packet));
        let wait = round.least_us(base);
        holds &= wait.is_none_or(|wait| wait > BACKLOG_PACKETS * packet);
        held |= round.limit.held();
        found.least_us = least(found.least_us, wait);
        found.most_us = most(found.most_us, above(round.rtt_max_us.get(), base));
    }
    found.most_us = found.most_us.map(|us| us + margin);
    if rounds.len() < 2 {
        // One round may lie at the edge of the slot, where others have none.
        (found.least_us, found.most_us) = (None, None);
    }
    if holds && !held {
        found.waiting_rate = (length > 0).then(|| bytes as f64 * 8e9 / length as f64);
        found.waiting_rtt = base.and_then(|base| mean(queues().map(|queue| base + queue)));
    }
    Some(found)
}

impl All {
    fn add(&mut self, slot: &Slot) {
        self.count += 1;
        self.queue_us += slot.queue_us;
        self.least_seen_us += slot.least_seen_us.unwrap_or(0.0);
        self.marks += slot.marks;
        self.waiting += i64::from(slot.waiting_rate.is_some());
        self.waiting_rate += slot.waiting_rate.unwrap_or(0.0);
        self.waiting_rtt += slot.waiting_rtt.unwrap_or(0.0);
        self.mark_queue_us = least(self.mark_queue_us, slot.mark_queue_us);
        self.ect0 += i64::from(slot.ect0);
        self.least_us = most(self.least_us, slot.least_us);
        self.most_us = least(self.most_us, slot.most_us);
    }

    /// Without the direction's own part, where it is one of them.
    fn without(&self, slot: &Slot, member: bool) -> Option<Others> {
        let own = f64::from(u8::from(member));
        let one = i64::from(member);
        let count = self.count - one;
        if count <= 0 {
            return None;
        }
        let waiting = self.waiting - one * i64::from(slot.waiting_rate.is_some());
        let mean = |all: Sum, mine: f64, count: i64| (all.total - own * mine) / count as f64;
        let ratio = |all: Sum, mine: Option<f64>, count: i64| {
            let mean = mean(all, mine?, count);
            (count > 0 && mine? > 0.0 && mean > 0.0).then_some((mine? / mean).ln())
        };
        let longer = self.least_us.zip(slot.most_us).map(|(least, most)| least > most);
        let shorter = slot.least_us.zip(self.most_us).map(|(least, most)| least > most);
        Some(Others {
            queue_us: mean(self.queue_us, slot.queue_us, count),
            least_us: slot.least_seen_us.map(|mine| mean(self.least_seen_us, mine, count)),
            marks: self.marks - one * slot.marks,
            ect0: self.ect0 > one * i64::from(slot.ect0),
            mark_queue_us: self.mark_queue_us,
            apart: either(longer, shorter),
            waiting_rate: ratio(self.waiting_rate, slot.waiting_rate, waiting),
            waiting_rtt: ratio(self.waiting_rtt, slot.waiting_rtt, waiting),
        })
    }
}

/// None where that is not known.
fn either(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

/// Of each slot, the others of one class; None where there are none.
fn others(slots: &[Slot], by_slot: &[usize], ect1: bool) -> Vec<Option<Others>> {
    let mut found: Vec<Option<Others>> = slots.iter().map(|_| None).collect();
    for same in by_slot.chunk_by(|a, b| slots[*a].slot == slots[*b].slot) {
        let mut all = All::default();
        let member = |i: &&usize| slots[**i].ect1 == ect1;
        same.iter().filter(member).for_each(|i| all.add(&slots[*i]));
        for i in same {
            found[*i] = all.without(&slots[*i], slots[*i].ect1 == ect1);
        }
    }
    found
}

/// What a direction saw in all its slots.
fn of_class(own: &[Slot], others: &[Option<Others>]) -> Option<Neighbors> {
    let both: Vec<(&Slot, &Others)> =
        own.iter().zip(others).filter_map(|(own, other)| Some((own, other.as_ref()?))).collect();
    if both.is_empty() {
        return None;
    }
    let values =
        |of: &dyn Fn(&(&Slot, &Others)) -> Option<f64>| both.iter().filter_map(of).collect::<Vec<f64>>();
    let count = |of: &dyn Fn(&Slot, &Others) -> bool| {
        both.iter().filter(|(own, other)| of(own, other)).count() as i64
    };
    let (mut queues, mut waits) =
        (values(&|(own, _)| Some(own.queue_us)), values(&|(_, other)| Some(other.queue_us)));
    let apart = sum(queues.iter().zip(&waits).map(|(a, b)| (a - b).abs()));
    let longest = sum(queues.iter().zip(&waits).map(|(a, b)| a.max(*b)));
    let (corr, within) = (correlation(&queues, &waits), within(&both));
    let marked = |other: &Others| other.marks > 0;
    let delay = quantile(&mut values(&|(_, other)| other.mark_queue_us.filter(|_| marked(other))), LOW);
    let (uneven, unlike) =
        (values(&|(_, other)| other.waiting_rate), values(&|(_, other)| other.waiting_rtt));
    Some(Neighbors {
        slots: both.len() as i64,
        queue_us: median(&mut waits),
        own_queue_us: median(&mut queues),
        least_us: median(&mut values(&|(_, other)| other.least_us)),
        corr,
        gap: Some(apart / longest).filter(|gap| !gap.is_nan()),
        marks: both.iter().map(|(_, other)| other.marks).sum(),
        marked_slots: count(&|_, other| marked(other)),
        ect0: count(&|_, other| other.ect0),
        mark_delay_us: delay,
        within,
        apart: mean(both.iter().filter_map(|(_, other)| Some(f64::from(u8::from(other.apart?))))),
        waiting: uneven.len() as i64,
        uneven: root_mean_square(&uneven),
        unlike: root_mean_square(&unlike),
    })
}

fn root_mean_square(values: &[f64]) -> Option<f64> {
    mean(values.iter().map(|value| value * value)).map(f64::sqrt)
}

/// Rank correlation of the two about their means of each phase; None in one phase only.
fn within(both: &[(&Slot, &Others)]) -> Option<f64> {
    let mut sums: BTreeMap<Option<u32>, (Sum, Sum, f64)> = BTreeMap::new();
    for (own, other) in both {
        let (owns, others, count) = sums.entry(own.phase).or_default();
        *owns += own.queue_us;
        *others += other.queue_us;
        *count += 1.0;
    }
    if sums.len() < 2 {
        return None;
    }
    let moves = both.iter().map(|(own, other)| {
        let (owns, others, count) = sums[&own.phase];
        (own.queue_us - owns.total / count, other.queue_us - others.total / count)
    });
    let (own, other): (Vec<f64>, Vec<f64>) = moves.unzip();
    rank_correlation(&own, &other)
}

#[cfg(test)]
mod tests;
