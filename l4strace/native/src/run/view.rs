//! Rows of the tables `flows`, `directions` and `rounds`: what was tracked, with what else a row needs.

use super::capture::Capture;
use super::udp_vantage::Orders;
use super::Run;
use crate::pair::RoundDelay;
use crate::track::{
    reflected, Direction, Flow, Initiator, Leaving, Limit, Mode, RoundRow, Rows, UdpFlow, Vantage,
};

/// One conversation in one capture.
pub struct FlowView<'a> {
    pub source: u16,
    pub number: u32,
    pub capture: &'a Capture,
    pub flow: &'a Flow,
    pub mode: Mode,
    pub reason: String,
}

/// One conversation of UDP in one capture.
pub struct UdpView<'a> {
    pub source: u16,
    pub number: u32,
    pub flow: &'a UdpFlow,
    pub vantage: Vantage,
    /// By row of its rounds; empty without.
    delays: &'a [Option<RoundDelay>],
}

/// One direction that showed packets.
pub struct DirectionView<'a> {
    pub flow: &'a FlowView<'a>,
    pub forward: bool,
    pub dir: &'a Direction,
}

/// What the receiver of a round reports of its packets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// Counters of AccECN.
    Counters,
    /// ECE, or nothing of marks.
    Echo,
    /// Reports in clear of a transport over UDP, and whether congestion control alone limits its sender.
    Reports { elastic: bool },
}

/// One round.
#[derive(Clone, Copy)]
pub struct RoundView<'a> {
    pub source: u16,
    pub number: u32,
    pub feedback: Feedback,
    pub vantage: Vantage,
    pub delay: Option<&'a RoundDelay>,
    pub row: &'a RoundRow,
}

impl Run {
    /// By capture and number.
    pub fn flows(&self) -> Vec<FlowView<'_>> {
        let mut flows: Vec<FlowView<'_>> = Vec::new();
        for (source, capture) in self.captures.iter().enumerate() {
            for flow in &capture.tracker.flows {
                let (mode, reason) = flow.verdict();
                let number = self.numbers[source][flow.id as usize];
                flows.push(FlowView { source: source as u16, number, capture, flow, mode, reason });
            }
        }
        flows.sort_by_key(|v| (v.source, v.number));
        flows
    }

    /// Those of UDP, likewise.
    pub fn udp_flows(&self) -> Vec<UdpView<'_>> {
        let orders = &Orders::new(&self.paths);
        let captures = self.captures.iter().zip(&self.udp_numbers).zip(0..);
        let mut flows: Vec<UdpView<'_>> = captures
            .flat_map(|((capture, numbers), source)| {
                let kept = capture.udp.kept().zip(numbers);
                let mut rest = &capture.udp_delays[..];
                kept.map(move |(flow, &number)| {
                    let rows = [0, 1].map(|side| flow.reported(side).count()).iter().sum();
                    let delays;
                    (delays, rest) = rest.split_at_checked(rows).unwrap_or_default();
                    let vantage = match flow.vantage() {
                        Vantage::Unknown => orders.vantage(flow, number, source),
                        shown => shown,
                    };
                    UdpView { source, number, flow, vantage, delays }
                })
            })
            .collect();
        flows.sort_by_key(|v| (v.source, v.number));
        flows
    }

    /// Rows of all rounds.
    pub fn count_rounds(&self) -> usize {
        let tcp: usize = self.captures.iter().map(|capture| capture.tracker.rounds.len()).sum();
        tcp + self.udp_flows().iter().map(|flow| flow.rounds().count()).sum::<usize>()
    }

    /// All rounds, of UDP too where its receivers report in clear: by capture, number, direction and round, up to
    /// `most` for each call. Those of TCP are gone then: their memory goes as far as no other round shares it.
    pub fn take_rounds(&mut self, most: usize, mut each: impl FnMut(&[RoundView<'_>])) {
        let known = self.feedback();
        let rows = self.captures.iter_mut().map(|capture| std::mem::take(&mut capture.tracker.rounds));
        let rows: Vec<Rows> = rows.collect();
        let udp = self.udp_flows();
        let udp: Vec<RoundView<'_>> = udp.iter().flat_map(UdpView::rounds).collect();
        let mut order = self.order(&rows, &udp);
        order.sort_by_key(|(key, _)| *key);
        let mut rows: Vec<Leaving> = rows.into_iter().map(Rows::leaving).collect();
        for some in order.chunks(most) {
            let view = |&((source, number, ..), at): &(Key, At)| match at {
                At::Udp(row) => udp[row as usize],
                At::Tcp(place, i) => {
                    let row = rows[usize::from(source)].row(place);
                    let (feedback, vantage) = known[usize::from(source)][row.flow as usize];
                    let delay = self.captures[usize::from(source)].delays.get(i as usize);
                    RoundView {
                        source,
                        number,
                        feedback,
                        vantage,
                        delay: delay.and_then(Option::as_ref),
                        row,
                    }
                }
            };
            each(&some.iter().map(view).collect::<Vec<_>>());
            for &((source, ..), at) in some {
                if let At::Tcp(place, _) = at {
                    rows[usize::from(source)].leave(place);
                }
            }
        }
    }

    /// By capture and local flow of TCP.
    fn feedback(&self) -> Vec<Vec<(Feedback, Vantage)>> {
        let unknown = (Feedback::Echo, Vantage::Unknown);
        let mut known: Vec<Vec<_>> = self.numbers.iter().map(|n| vec![unknown; n.len()]).collect();
        for v in self.flows() {
            let feedback = if v.mode == Mode::AccEcn { Feedback::Counters } else { Feedback::Echo };
            known[usize::from(v.source)][v.flow.id as usize] = (feedback, v.vantage());
        }
        known
    }

    /// Rounds with what they are sorted by: the rows of each capture, then those over UDP.
    fn order(&self, rows: &[Rows], udp: &[RoundView<'_>]) -> Vec<(Key, At)> {
        let count = rows.iter().map(Rows::len).sum::<usize>() + udp.len();
        let mut order = Vec::with_capacity(count);
        for ((source, rows), numbers) in (0..).zip(rows).zip(&self.numbers) {
            let placed = rows.placed().zip(0..);
            order.extend(placed.map(|((place, row), i)| {
                ((source, numbers[row.flow as usize], !row.forward, row.round), At::Tcp(place, i))
            }));
        }
        let key = |r: &RoundView<'_>| (r.source, r.number, !r.row.forward, r.row.round);
        order.extend(udp.iter().zip(0..).map(|(round, i)| (key(round), At::Udp(i))));
        order
    }
}

/// Capture, number, backward and round.
type Key = (u16, u32, bool, u32);

/// Where a round is: the block and place of a row of TCP and its number among them, or the number of one over UDP.
#[derive(Clone, Copy)]
enum At {
    Tcp((u32, u32), u32),
    Udp(u32),
}

impl<'a> UdpView<'a> {
    /// Rounds of its directions whose receiver reports in clear.
    fn rounds(&self) -> impl Iterator<Item = RoundView<'a>> {
        let (flow, source, number, vantage) = (self.flow, self.source, self.number, self.vantage);
        let rows = [0, 1].into_iter().flat_map(move |side| {
            let feedback = Feedback::Reports { elastic: flow.limit(side) == Limit::Cwnd };
            flow.reported(side).map(move |row| (feedback, row))
        });
        let delays = self.delays;
        rows.enumerate().map(move |(at, (feedback, row))| {
            let delay = delays.get(at).and_then(Option::as_ref);
            RoundView { source, number, feedback, vantage, delay, row }
        })
    }
}

impl FlowView<'_> {
    pub fn initiator(&self) -> Initiator {
        self.capture.tracker.table.initiator(self.flow.id)
    }

    pub fn vantage(&self) -> Vantage {
        self.flow.vantage
    }

    /// Codepoint with which the SYN arrived, as an AccECN server reflects it.
    pub fn syn_arrived(&self) -> Option<u8> {
        self.arrived(self.flow.handshake.decisive_synack().map(|s| s.ace))
    }

    /// Codepoint with which the SYN/ACK arrived, as an AccECN client reflects it.
    pub fn synack_arrived(&self) -> Option<u8> {
        self.arrived(self.flow.handshake.final_ack.map(|s| s.ace))
    }

    fn arrived(&self, code: Option<u8>) -> Option<u8> {
        code.filter(|_| self.mode == Mode::AccEcn).and_then(reflected)
    }

    /// `None` where the handshake was not seen: then nothing shows whether SACK is allowed.
    pub fn sack_permitted(&self) -> Option<bool> {
        let hand = &self.flow.handshake;
        (hand.syn.is_some() && hand.synack.is_some())
            .then_some(hand.sack_permitted[0] && hand.sack_permitted[1])
    }

    /// Its directions that showed packets.
    pub fn directions(&self) -> impl Iterator<Item = DirectionView<'_>> {
        let dirs = [true, false].into_iter().zip(&self.flow.dirs);
        dirs.filter(|(_, dir)| dir.totals.packets() > 0).map(|(forward, dir)| DirectionView {
            flow: self,
            forward,
            dir,
        })
    }
}

impl DirectionView<'_> {
    pub fn accecn(&self) -> bool {
        self.flow.mode == Mode::AccEcn
    }

    /// Packets that were lost before the capture; `None` without data.
    pub fn lost_before(&self) -> Option<u64> {
        let mss = self.flow.flow.segment(usize::from(!self.forward));
        self.dir.sender.as_ref().map(|sender| sender.segments.lost_before(mss))
    }

    /// A count fed back under AccECN; 0 before the first counter of a connection seen from its start.
    pub fn fed_back(&self, count: impl Fn(&Direction) -> u64) -> Option<u64> {
        let known = self.dir.feedback.ce.started() || self.flow.flow.is_from_start();
        (self.accecn() && known).then(|| count(self.dir))
    }

    /// Most CE marks that the packets allow: what nothing has acknowledged may be marked too.
    pub fn fed_back_hi(&self) -> Option<u64> {
        let open = self.flow.flow.unreported(usize::from(!self.forward));
        Some(self.fed_back(|d| d.feedback.ce.hi)? + open)
    }

    /// Bytes of one counter of the AccECN option (see `track::CEB`).
    pub fn option_bytes(&self, counter: usize) -> Option<u64> {
        let bytes = self.dir.feedback.bytes.as_ref()?.total[counter]?;
        u64::try_from(bytes).ok()
    }

    /// A count that only classic ECN gives.
    pub fn classic(&self, count: u64) -> Option<u64> {
        (self.flow.mode != Mode::AccEcn).then_some(count)
    }
}

impl RoundView<'_> {
    /// A value of feedback that counts marks.
    pub fn counted<T>(&self, value: impl Fn(&RoundRow) -> T) -> Option<T> {
        (self.feedback != Feedback::Echo).then(|| value(self.row))
    }

    /// A value that only AccECN gives.
    pub fn accecn<T>(&self, value: impl Fn(&RoundRow) -> T) -> Option<T> {
        (self.feedback == Feedback::Counters).then(|| value(self.row))
    }

    /// Alpha by one of two clocks, likeliest or a bound; over UDP, as its own controller was replayed.
    pub fn alpha(&self, clock: usize, bound: usize) -> Option<f64> {
        match (self.feedback, clock) {
            (Feedback::Counters, _) => Some(self.row.marked.alphas[clock].values[bound]),
            (Feedback::Reports { .. }, 0) => {
                self.of_sender(|row| Some(f64::from(row.rare().controlled?.alpha)))
            }
            _ => None,
        }
    }

    /// Packets that the sender lets fly.
    pub fn window(&self) -> Option<f64> {
        let replayed = self.of_sender(|row| Some(f64::from(row.rare().controlled?.window)));
        self.row.cwnd_packets.get().or(replayed)
    }

    /// What limited the sender. Over UDP one with bulk data takes what it gets, wherever it was captured.
    pub fn limited_by(&self) -> Limit {
        match (self.feedback, self.row.limited_by) {
            (Feedback::Reports { elastic: false }, _) => Limit::Media,
            (Feedback::Reports { elastic: true }, Limit::Unknown) => Limit::Cwnd,
            (_, limit) => limit,
        }
    }

    /// A value of the sender's window or RTT, of which a capture at its receiver shows nothing.
    pub fn of_sender<T>(&self, value: impl Fn(&RoundRow) -> Option<T>) -> Option<T> {
        (!self.vantage.at_receiver(self.row.forward)).then(|| value(self.row)).flatten()
    }

    /// A value that only classic ECN gives.
    pub fn classic<T>(&self, value: impl Fn(&RoundRow) -> T) -> Option<T> {
        (self.feedback == Feedback::Echo).then(|| value(self.row))
    }
}
