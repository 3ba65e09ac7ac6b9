//! One-way delays summed per round, for the `owd_*` columns of `rounds`.

/// Where the rounds of one capture lie in time.
#[derive(Debug, Default)]
pub struct Rounds {
    /// By directional id (2 * flow, plus one for server to client): start, end and row, by start.
    spans: Vec<Vec<(i64, i64, usize)>>,
    /// By directional id, the round that was looked up last: packets come by time.
    last: Vec<usize>,
    delays: Vec<Delay>,
}

/// Far minus near of the packets of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    pub count: u64,
    pub min_ns: i64,
    pub max_ns: i64,
    pub sum_ns: i128,
    /// Smallest of the packets that were marked on the way.
    pub marked_min_ns: Option<i64>,
}

/// One-way delays of a round in microseconds above the smallest of the two captures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundDelay {
    pub min_us: f64,
    pub mean_us: f64,
    pub max_us: f64,
    pub marked_min_us: Option<f64>,
}

impl Rounds {
    /// Rounds as (local flow, forward, start, end), in the order of the table's rows.
    pub fn new(rounds: impl Iterator<Item = (u32, bool, i64, i64)>) -> Self {
        let mut found = Rounds::default();
        for (row, (flow, forward, start, end)) in rounds.enumerate() {
            found.delays.push(Delay::default());
            let id = 2 * flow as usize + usize::from(!forward);
            if id >= found.spans.len() {
                found.spans.resize(id + 1, Vec::new());
            }
            found.spans[id].push((start, end, row));
        }
        for spans in &mut found.spans {
            spans.sort_unstable();
        }
        found.last = vec![0; found.spans.len()];
        found
    }

    /// Adds one packet's delay to the round in which this capture saw it.
    pub fn add(&mut self, id: u32, ts_ns: i64, owd_ns: i64, marked: bool) {
        let Some((spans, last)) = self.spans.get(id as usize).zip(self.last.get_mut(id as usize)) else {
            return;
        };
        let begun = |at: usize| spans.get(at).is_some_and(|span| span.0 <= ts_ns);
        if !begun(*last) || begun(*last + 1) {
            let after = spans.partition_point(|span| span.0 <= ts_ns);
            let Some(at) = after.checked_sub(1) else { return };
            *last = at;
        }
        let (_, end, row) = spans[*last];
        if ts_ns <= end {
            self.delays[row].add(owd_ns, marked);
        }
    }

    /// One value per row of the table, above the smallest delay that `base` names for a direction.
    pub fn above_us(&self, base: impl Fn(u32) -> Option<i64>) -> Vec<Option<RoundDelay>> {
        let mut found = vec![None; self.delays.len()];
        for (id, spans) in self.spans.iter().enumerate().filter(|(_, spans)| !spans.is_empty()) {
            let Some(base_ns) = base(id as u32) else { continue };
            for &(_, _, row) in spans {
                found[row] = self.delays[row].above_us(base_ns);
            }
        }
        found
    }
}

impl Delay {
    fn add(&mut self, ns: i64, marked: bool) {
        if self.count == 0 {
            (self.min_ns, self.max_ns) = (ns, ns);
        }
        self.count += 1;
        if marked {
            self.marked_min_ns = Some(self.marked_min_ns.map_or(ns, |least| least.min(ns)));
        }
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns += i128::from(ns);
    }

    /// In microseconds above `base_ns`.
    pub fn above_us(&self, base_ns: i64) -> Option<RoundDelay> {
        if self.count == 0 {
            return None;
        }
        let mean = self.sum_ns as f64 / self.count as f64;
        let us = |ns: f64| (ns - base_ns as f64) / 1e3;
        Some(RoundDelay {
            min_us: us(self.min_ns as f64),
            mean_us: us(mean),
            max_us: us(self.max_ns as f64),
            marked_min_us: self.marked_min_ns.map(|ns| us(ns as f64)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_belongs_to_the_round_of_its_stamp() {
        let rows = [(0, true, 100, 200), (0, true, 200, 300), (0, false, 100, 300)];
        let mut rounds = Rounds::new(rows.into_iter());
        rounds.add(0, 150, 7_000, false);
        rounds.add(0, 160, 9_000, true);
        rounds.add(0, 200, 6_000, false);
        rounds.add(0, 299, 6_000, false);
        rounds.add(0, 999, 1, false);
        rounds.add(0, 50, 1, false);
        // One that comes late.
        rounds.add(0, 100, 8_000, false);
        rounds.add(1, 150, 5, false);
        let base = |id| if id == 0 { Some(5_000) } else { None };
        let first = RoundDelay { min_us: 2.0, mean_us: 3.0, max_us: 4.0, marked_min_us: Some(4.0) };
        let second = RoundDelay { min_us: 1.0, mean_us: 1.0, max_us: 1.0, marked_min_us: None };
        assert_eq!(rounds.above_us(base), [Some(first), Some(second), None]);
    }
}
