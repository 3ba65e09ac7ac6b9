//! Conversations without data beyond a limit are counted and dropped: a scan or a flood of SYNs must not
//! fill the memory.

use crate::track::conversation::flow::Flow;
use crate::track::Tracker;

/// Conversations without data that are kept: as many as half of all ports of one address, at some 2 kB each.
pub const MOST_BARE: usize = 1 << 16;

/// Share of that many new conversations at least between two looks, each of which goes over all of them.
const APART: usize = 4;

impl Tracker {
    /// Conversations that were dropped.
    pub fn folded(&self) -> u64 {
        self.folded
    }

    /// Drops the quietest conversations without data down to half the limit, once there are too many.
    /// Those that stay are numbered anew.
    #[cold]
    pub(in crate::track) fn fold(&mut self) {
        self.flush();
        let bare = self.flows.iter().filter(|flow| flow.is_bare());
        let mut bare: Vec<(i64, u32)> = bare.map(|flow| (flow.last_ns, flow.id)).collect();
        let most = MOST_BARE;
        let many = bare.len().saturating_sub(most / 2);
        if bare.len() > most {
            bare.select_nth_unstable(many - 1);
            bare.truncate(many);
            self.drop_flows(bare.iter().map(|(_, id)| *id));
            self.folded += many as u64;
            bare.clear();
        }
        self.fold_at = self.flows.len() + (most + 1).saturating_sub(bare.len()).max(most / APART);
    }

    fn drop_flows(&mut self, gone: impl Iterator<Item = u32>) {
        let mut numbers: Vec<Option<u32>> = vec![Some(0); self.flows.len()];
        gone.for_each(|id| numbers[id as usize] = None);
        for (number, id) in numbers.iter_mut().flatten().zip(0..) {
            *number = id;
        }
        let new = |id: u32| numbers[id as usize];
        self.flows.retain(|flow| new(flow.id).is_some());
        for flow in &mut self.flows {
            flow.id = new(flow.id).unwrap_or_default();
            flow.successor = flow.successor.and_then(new);
        }
        self.resumed.retain_mut(|(_, id)| {
            let kept = new(*id);
            *id = kept.unwrap_or_default();
            kept.is_some()
        });
        for row in self.rounds.iter_mut() {
            row.flow = new(row.flow).unwrap_or_default();
        }
        self.table.keep(&numbers);
    }
}

impl Flow {
    /// Neither side sent data, nor acknowledged more than SYN and FIN.
    pub(in crate::track) fn is_bare(&self) -> bool {
        self.dirs.iter().all(|dir| dir.sender.is_none() && dir.acked <= 2)
    }
}
