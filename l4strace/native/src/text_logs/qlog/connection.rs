//! One connection: its state as its events show it.

use serde_json::Value;

use super::acked::Acked;
use super::event::Event;
use super::header::Trace;
use super::value::{nanoseconds, number, of, text, whole, whole_of};

/// Counts of an ACK frame, as drafts and mvfst name them.
const COUNTED: [&[&str]; 3] =
    [&["ect0", "ect_0", "ecn_ect0"], &["ect1", "ect_1", "ecn_ect1"], &["ce", "ecn_ce"]];

/// Largest datagram: a longer one is a batch.
const MAX_DATAGRAM: u64 = 65_535;
/// What picoquic calls 1.0 in its messages about Prague.
const PICOQUIC_ONE: f64 = 1024.0;

/// State of a connection after an event; `None` where the log has not said it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    pub trace: u32,
    pub time_ns: i64,
    /// `poll`, `alpha` or `state`.
    pub event: &'static str,
    pub cwnd_bytes: Option<u64>,
    pub ssthresh_bytes: Option<u64>,
    pub in_flight_bytes: Option<u64>,
    pub packets_in_flight: Option<u64>,
    /// Bytes of the largest packet that was sent.
    pub packet_bytes: Option<u64>,
    pub srtt_us: Option<f64>,
    pub mdev_us: Option<f64>,
    pub min_rtt_us: Option<f64>,
    pub latest_rtt_us: Option<f64>,
    pub pacing_rate_bps: Option<f64>,
    pub delivered: Option<u64>,
    pub ect1: Option<u64>,
    pub ect0: Option<u64>,
    pub ce: Option<u64>,
    pub lost: Option<u64>,
    pub alpha: Option<f64>,
    pub ecn_state: Option<String>,
    pub ecn_trigger: Option<String>,
}

/// A datagram or packet that left or arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    pub trace: u32,
    pub time_ns: i64,
    pub sent: bool,
    /// A packet of an event `packet_*`; else a datagram.
    pub packet: bool,
    pub bytes: u32,
}

/// Who talks with whom, as a trace shows.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    pub local: Option<(String, u16)>,
    pub remote: Option<(String, u16)>,
}

/// A trace with what its events left.
#[derive(Default)]
pub struct Connection {
    pub trace: Trace,
    pub ends: Ends,
    pub now: Sample,
    last_ns: i64,
    spaces: [Space; 3],
    /// Codepoint of the last datagram or packet, received [0] and sent [1].
    ecn: [Option<usize>; 2],
    /// Datagrams by codepoint, received and sent.
    codepoints: [[u64; 4]; 2],
    /// Of packets, where the log has no datagrams.
    packet_codepoints: [[u64; 4]; 2],
    datagrams: bool,
}

/// A packet number space: Initial, Handshake, 1-RTT.
#[derive(Default)]
struct Space {
    acked: Acked,
    /// ECT(0), ECT(1), CE as the last ACK counted them.
    counts: Option<[u64; 3]>,
}

impl Connection {
    pub fn new(trace: Trace) -> Self {
        Connection { trace, ..Connection::default() }
    }

    /// Datagrams by codepoint (Not-ECT, ECT(1), ECT(0), CE), received and sent; of packets where the log has no
    /// datagrams.
    pub fn by_codepoint(&self) -> [[u64; 4]; 2] {
        if self.datagrams {
            self.codepoints
        } else {
            self.packet_codepoints
        }
    }

    pub fn time(&mut self, value: f64) -> Option<i64> {
        let ns = nanoseconds(value, self.trace.unit_ns)?;
        self.last_ns = if self.trace.relative { self.last_ns.checked_add(ns)? } else { ns };
        Some(self.last_ns)
    }

    /// Takes in what an event shows, datagrams apart.
    pub fn take(&mut self, event: &Event, seen: &mut impl FnMut(Datagram)) {
        let data = &event.data;
        match event.name.as_str() {
            "packet_sent" => self.packet(data, true, seen),
            "packet_received" => {
                self.packet(data, false, seen);
                self.acknowledged(data);
            }
            "datagram_sent" | "datagrams_sent" | "udp_datagrams_sent" => self.datagram(data, true, seen),
            "datagram_received" | "datagrams_received" | "udp_datagrams_received" => {
                self.datagram(data, false, seen);
            }
            "packet_lost" | "packets_lost" => {
                add(&mut self.now.lost, whole(data, &["lost_packets"]).unwrap_or(1));
            }
            "connection_started" | "tuple_assigned" | "path_assigned" => self.started(data),
            _ => {}
        }
    }

    /// What kind of sample the state has become, if it has.
    pub fn changed(&mut self, event: &Event) -> Option<&'static str> {
        let data = &event.data;
        match event.name.as_str() {
            "metrics_updated" | "metric_update" | "congestion_metric_update" => self.metrics(data),
            "packet_received" if self.counted() => Some("poll"),
            "l4s_weight_update" => {
                self.now.alpha = number(data, &["weight", "l4s_weight"]).filter(fits);
                self.now.alpha.and(Some("alpha"))
            }
            "message" => {
                self.now.alpha = Some(prague(&text(data, &["message"])?)?);
                Some("alpha")
            }
            "ecn_state_updated" => {
                self.now.ecn_state = Some(text(data, &["new"])?);
                self.now.ecn_trigger = text(data, &["trigger"]);
                Some("state")
            }
            _ => None,
        }
    }

    fn metrics(&mut self, data: &Value) -> Option<&'static str> {
        let (now, unit_us) = (&mut self.now, self.trace.unit_ns / 1e3);
        let time =
            |names: &[&str]| number(data, names).filter(|&value| value > 0.0).map(|value| value * unit_us);
        update(&mut now.cwnd_bytes, whole(data, &["congestion_window", "cwnd", "current_cwnd"]));
        update(&mut now.ssthresh_bytes, whole(data, &["ssthresh"]));
        update(&mut now.in_flight_bytes, whole(data, &["bytes_in_flight"]));
        update(&mut now.packets_in_flight, whole(data, &["packets_in_flight"]));
        update(&mut now.srtt_us, time(&["smoothed_rtt"]));
        update(&mut now.min_rtt_us, time(&["min_rtt"]));
        update(&mut now.latest_rtt_us, time(&["latest_rtt"]));
        update(&mut now.mdev_us, time(&["rtt_variance"]));
        update(&mut now.pacing_rate_bps, number(data, &["pacing_rate"]).filter(|&rate| rate > 0.0));
        Some("poll")
    }

    fn packet(&mut self, data: &Value, sent: bool, seen: &mut impl FnMut(Datagram)) {
        let header = data.get("header").unwrap_or(&Value::Null);
        let raw = data.get("raw").and_then(|raw| whole(raw, &["length"]));
        let bytes = raw.or_else(|| whole(header, &["packet_size"])).or_else(|| whole(data, &["packet_size"]));
        let codepoint = data.get("ecn").and_then(codepoint);
        // A packet event that says nothing of ECN was Not-ECT where others of the log say it.
        self.packet_codepoints[usize::from(sent)][codepoint.unwrap_or(0)] += 1;
        let Some(bytes) = bytes.filter(|&bytes| bytes <= MAX_DATAGRAM) else { return };
        if sent {
            self.now.packet_bytes = self.now.packet_bytes.max(Some(bytes));
        }
        if !self.datagrams {
            seen(Datagram { trace: 0, time_ns: 0, sent, packet: true, bytes: bytes as u32 });
        }
    }

    /// `ecn` holds until another is stated (draft-ietf-quic-qlog-quic-events, udp_datagrams_sent).
    fn datagram(&mut self, data: &Value, sent: bool, seen: &mut impl FnMut(Datagram)) {
        self.datagrams = true;
        self.address(data, sent);
        let side = usize::from(sent);
        let mut one = |bytes: Option<u64>, stated: Option<usize>| {
            self.ecn[side] = stated.or(self.ecn[side]);
            if let Some(at) = self.ecn[side] {
                self.codepoints[side][at] += 1;
            }
            if let Some(bytes) = bytes.filter(|&bytes| bytes <= MAX_DATAGRAM) {
                seen(Datagram { trace: 0, time_ns: 0, sent, packet: false, bytes: bytes as u32 });
            }
        };
        let stated = data.get("ecn");
        match data.get("raw").and_then(Value::as_array) {
            Some(all) => {
                for (at, raw) in all.iter().enumerate() {
                    let of_all = stated.and_then(Value::as_array).and_then(|each| each.get(at)).or(stated);
                    one(whole(raw, &["length"]), of_all.and_then(codepoint));
                }
            }
            None => one(
                whole(data, &["byte_length", "data_len", "length"]),
                stated
                    .and_then(|stated| codepoint(stated.as_array().map_or(Some(stated), |all| all.first())?)),
            ),
        }
    }

    /// picoquic names its peer with the first datagram of each direction.
    fn address(&mut self, data: &Value, sent: bool) {
        let (to, from) = (data.get("addr_to").and_then(end), data.get("addr_from").and_then(end));
        let (local, remote) = if sent { (from, to) } else { (to, from) };
        update(&mut self.ends.local, local);
        update(&mut self.ends.remote, remote);
    }

    fn started(&mut self, data: &Value) {
        let old = |side: &str| {
            let host = text(data, &[&format!("{side}_ip")])?;
            Some((host, port(whole(data, &[&format!("{side}_port")])?)?))
        };
        let end = |name: &str| data.get(name).or_else(|| data.get(format!("tuple_{name}"))).and_then(end);
        update(&mut self.ends.local, end("local").or_else(|| old("src")));
        update(&mut self.ends.remote, end("remote").or_else(|| old("dst")));
    }

    fn acknowledged(&mut self, data: &Value) {
        let header = data.get("header").unwrap_or(&Value::Null);
        let kind = text(header, &["packet_type"]).or_else(|| text(data, &["packet_type"]));
        let space = match kind.as_deref() {
            Some("initial") => &mut self.spaces[0],
            Some("handshake") => &mut self.spaces[1],
            _ => &mut self.spaces[2],
        };
        let frames = data.get("frames").and_then(Value::as_array);
        for frame in frames.into_iter().flatten().filter(|frame| is_ack(frame)) {
            let ranges = frame.get("acked_ranges").and_then(Value::as_array);
            for range in ranges.into_iter().flatten() {
                let ends = range.as_array().map(Vec::as_slice).unwrap_or_default();
                let numbers: Vec<u64> = ends.iter().filter_map(whole_of).collect();
                if let Some((from, to)) = numbers.first().zip(numbers.last()) {
                    space.acked.add(*from, *to);
                }
            }
            let counts = COUNTED.map(|names| whole(frame, names));
            if counts.iter().any(Option::is_some) {
                let (now, before) =
                    (counts.map(|count| count.unwrap_or(0)), space.counts.unwrap_or_default());
                // ACKs that arrive out of order count less.
                space.counts = Some([0, 1, 2].map(|at| now[at].max(before[at])));
            }
        }
    }

    /// Whether the ACKs of all spaces count something else than before.
    fn counted(&mut self) -> bool {
        let delivered = self.spaces.iter().map(|space| space.acked.count()).fold(0, u64::saturating_add);
        let counted = self.spaces.iter().filter_map(|space| space.counts);
        let sums = counted.reduce(|a, b| [0, 1, 2].map(|at| a[at].saturating_add(b[at])));
        let now = &mut self.now;
        let before = (now.delivered, now.ect0, now.ect1, now.ce);
        update(&mut now.delivered, Some(delivered).filter(|&count| count > 0));
        if let Some([ect0, ect1, ce]) = sums {
            (now.ect0, now.ect1, now.ce) = (Some(ect0), Some(ect1), Some(ce));
        }
        before != (now.delivered, now.ect0, now.ect1, now.ce)
    }
}

fn is_ack(frame: &Value) -> bool {
    text(frame, &["frame_type"]).is_some_and(|kind| kind.starts_with("ack"))
}

/// Place of a codepoint among Not-ECT, ECT(1), ECT(0), CE.
fn codepoint(stated: &Value) -> Option<usize> {
    match stated.as_str() {
        Some("Not-ECT") => Some(0),
        Some("ECT(1)" | "ECT1") => Some(1),
        Some("ECT(0)" | "ECT0") => Some(2),
        Some("CE" | "ECN-CE") => Some(3),
        _ => stated.as_u64().filter(|&bits| bits < 4).map(|bits| bits as usize),
    }
}

/// Address and port, in the forms of picoquic, of quic-go and of the drafts.
fn end(object: &Value) -> Option<(String, u16)> {
    let inner = object.get("address_v4").or_else(|| object.get("address_v6")).unwrap_or(object);
    let host = text(inner, &["ip", "ip_v4", "ip_v6"])?;
    Some((host, port(whole(inner, &["port", "port_v4", "port_v6"])?)?))
}

fn port(number: u64) -> Option<u16> {
    u16::try_from(number).ok()
}

/// picoquic's `Prague: time,dECT1,dCE,alpha/1024,cwin,rtt`.
fn prague(message: &str) -> Option<f64> {
    let values = message.strip_prefix("Prague:")?;
    let alpha = of(&Value::String(values.split(',').nth(3)?.trim().to_owned()))?;
    Some(alpha / PICOQUIC_ONE).filter(fits)
}

fn fits(alpha: &f64) -> bool {
    (0.0..=1.0).contains(alpha)
}

fn update<T>(kept: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *kept = new;
    }
}

fn add(sum: &mut Option<u64>, more: u64) {
    *sum = Some(sum.unwrap_or(0).saturating_add(more));
}
