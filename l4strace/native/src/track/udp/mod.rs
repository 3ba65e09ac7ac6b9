//! UDP beside TCP: datagrams in, conversations and their directions out. Memory grows with conversations, never with
//! datagrams; those that stay short (DNS, scans) are counted and not kept.

mod content;
mod dissected;
mod feedback;
mod flow;
mod prague;
mod quic;
mod retrace;
mod rtp;
mod runs;
mod same;
mod sample;
mod series;
mod spacing;
mod spin;

pub use content::Transport;
pub use dissected::{Dissected, FIELDS as DISSECTED_FIELDS};
pub use feedback::{Counts, Sending, Stated, Statements};
pub use flow::{Tally, UdpFlow};
pub use retrace::UdpRetrace;
pub use same::by_content;
pub use sample::{Sample, Sampled};
pub use series::Slot;

use super::rounds::thin::ALL_ROWS;
use super::table::keys::Keys;
use crate::packet::{FlowKey, Packet};

/// Fewer datagrams than this are a question and its answer, or a scan.
const ENOUGH: u64 = 8;

/// Short conversations that are kept while more datagrams may come: as many as of TCP without data.
const MOST_SHORT: usize = 1 << 16;

/// Rows of rounds that all conversations have together, and those that each direction may have at least; datagrams from
/// one count of them to the next.
const MOST_ROWS: usize = ALL_ROWS / 4;
const LEAST_ROWS: usize = 512;
const BETWEEN_COUNTS: u32 = 1 << 16;

/// The UDP conversations of one capture.
#[derive(Default)]
pub struct UdpFlows {
    keys: Keys,
    flows: Vec<UdpFlow>,
    /// Conversations without [`ENOUGH`] datagrams.
    short: usize,
    /// Conversations that have as many.
    kept: u32,
    /// Datagrams of those that were dropped.
    dropped: u64,
    /// Datagrams since rows were counted.
    uncounted: u32,
    /// What is decrypted of their datagrams.
    dissected: Dissected,
}

impl UdpFlows {
    /// With what a dissector shows of the capture.
    pub fn with(dissected: Dissected) -> Self {
        UdpFlows { dissected, ..UdpFlows::default() }
    }

    /// Takes datagrams in the order of the capture.
    pub fn datagram(&mut self, packet: &Packet, payload: &[u8]) {
        let id = match self.keys.again(&packet.key) {
            Some(id) => id,
            None => self.intern(packet),
        };
        let flow = &mut self.flows[(id >> 1) as usize];
        flow.take(packet, payload, (id & 1) as usize);
        if let Some(shown) = self.dissected.of(packet.frame) {
            flow.feedback.decrypted(packet, &shown, self.dissected.acks(&shown), (id & 1) as usize);
        }
        if flow.packets() == ENOUGH {
            self.short -= 1;
            flow.serial = self.kept;
            self.kept += 1;
        }
        self.uncounted += 1;
        if self.uncounted == BETWEEN_COUNTS {
            self.thin();
        }
    }

    /// Puts rounds together where all conversations have too many.
    #[cold]
    fn thin(&mut self) {
        self.uncounted = 0;
        let mut sides: Vec<&mut Sending> = self
            .flows
            .iter_mut()
            .flat_map(|flow| flow.feedback.sides())
            .filter(|side| !side.rows.is_empty())
            .collect();
        if sides.iter().map(|side| side.rows.len()).sum::<usize>() < MOST_ROWS {
            return;
        }
        let each = (MOST_ROWS / 2 / sides.len().max(1)).max(LEAST_ROWS);
        sides.iter_mut().filter(|side| side.rows.len() > each).for_each(|side| side.thin(each as u32));
    }

    fn intern(&mut self, packet: &Packet) -> u32 {
        let found = self.keys.find(&packet.key, self.keys.hash(&packet.key));
        let id = found.unwrap_or_else(|| self.insert(packet));
        self.keys.note(&packet.key, id);
        id
    }

    fn insert(&mut self, packet: &Packet) -> u32 {
        if self.short >= MOST_SHORT {
            self.drop_short();
        }
        let key = client_first(&packet.key);
        let id = 2 * self.flows.len() as u32;
        self.flows.push(UdpFlow::new(key, packet));
        self.short += 1;
        self.keys.put(key.reversed(), id + 1);
        self.keys.put(key, id);
        id + u32::from(key != packet.key)
    }

    /// Drops the quieter half of the short conversations.
    #[cold]
    fn drop_short(&mut self) {
        let mut short: Vec<i64> = self.flows.iter().filter(|f| f.is_short()).map(|f| f.last_ns).collect();
        let middle = short.len() / 2;
        let (_, &mut quiet_ns, _) = short.select_nth_unstable(middle);
        let mut numbers = Vec::with_capacity(self.flows.len());
        let mut kept = 0;
        for flow in &self.flows {
            let stays = !flow.is_short() || flow.last_ns > quiet_ns;
            numbers.push(stays.then_some(kept));
            kept += u32::from(stays);
            self.dropped += if stays { 0 } else { flow.packets() };
        }
        let mut stays = numbers.iter().map(Option::is_some);
        self.flows.retain(|_| stays.next().unwrap_or(false));
        self.keys.keep(|id| Some(2 * numbers[(id >> 1) as usize]? + (id & 1)));
        self.short = self.flows.iter().filter(|flow| flow.is_short()).count();
    }

    /// The conversations that are long enough, in the order of their first datagrams.
    pub fn kept(&self) -> impl Iterator<Item = &UdpFlow> {
        self.flows.iter().filter(|flow| !flow.is_short())
    }

    fn kept_mut(&mut self) -> impl Iterator<Item = &mut UdpFlow> {
        self.flows.iter_mut().filter(|flow| !flow.is_short())
    }

    /// Datagrams of all others.
    pub fn left_out(&self) -> u64 {
        self.dropped + self.flows.iter().filter(|flow| flow.is_short()).map(UdpFlow::packets).sum::<u64>()
    }

    /// Ends the rounds that still run, of the conversations that are kept; call once after the last datagram.
    pub fn finish(&mut self) {
        self.kept_mut().for_each(UdpFlow::finish);
    }

    /// Subtracts an offset from every timestamp.
    pub fn shift(&mut self, ns: i64) {
        self.flows.iter_mut().for_each(|flow| flow.shift(ns));
    }
}

/// In the direction client to server: the lower port serves, in every capture of the conversation.
fn client_first(key: &FlowKey) -> FlowKey {
    if (key.dst_port, key.dst) <= (key.src_port, key.src) {
        *key
    } else {
        key.reversed()
    }
}

#[cfg(test)]
mod tests;
