//! What every fuzz target does with its bytes, and what must hold then. `tests/damaged.rs` runs the same on
//! damaged seeds in every test run.

use std::num::NonZeroI64;

use l4strace_native::decode;
use l4strace_native::numbered::Numbering;
use l4strace_native::packet::{ecn, FlowKey, Packet};
use l4strace_native::read::{self, Decoder, Input};
use l4strace_native::redact::{Map, Redactor, KEY};
use l4strace_native::run::{self, Run};
use l4strace_native::stats::StatRow;
use l4strace_native::text_logs::qlog::Qlog;
use l4strace_native::text_logs::{Kind, Reader, Records, Samples, Shape, Thinning};
use l4strace_native::track::{
    Dissected, Effects, RoundRow, Sending, Threads, Tracker, UdpFlow, UdpFlows, UdpRetrace,
};

const LINK_TYPES: [u32; 12] = [0, 1, 9, 12, 50, 51, 101, 104, 108, 113, 204, 276];

/// One frame of any link type: the first byte chooses it.
pub fn frame(data: &[u8]) {
    let [choice, wire, frame @ ..] = data else { return };
    let link_type = LINK_TYPES[usize::from(*choice) % LINK_TYPES.len()];
    let wire_len = frame.len() as u32 + u32::from(*wire);
    let mut packet = Packet::default();
    let _ = decode::frame(link_type, frame, wire_len, &mut packet);
}

/// A whole file, fed in two pieces: framing, decode and tracking of whatever comes out; then a second pass,
/// which must find the conversations of the first, and a third without prediction, which must leave the same.
pub fn capture(data: &[u8]) {
    let Ok(mut decoder) = Decoder::new(&data[..data.len().min(24)]) else { return };
    let (mut again, mut once_more) = (decoder.clone(), decoder.clone());
    let mut tracker = Tracker::default();
    let cut = data.len() / 2;
    let (done, _) = decoder.feed(&data[..cut], &mut |packets: &[Packet]| tracker.packets(packets));
    let rest = data.get(done as usize..).unwrap_or_default();
    let (more, _) = decoder.feed(rest, &mut |packets: &[Packet]| tracker.packets(packets));
    decoder.finish((rest.len() as u64).saturating_sub(more));
    tracker.finish();
    let mut numbering = Numbering::tracked(tracker.starts());
    let mut placed = vec![0u64; tracker.flows.len()];
    let mut effects = Effects::default();
    again.feed(data, &mut |packets: &[Packet]| {
        for (p, at) in packets.iter().filter_map(|p| Some((p, numbering.place(p)?))) {
            placed[at.flow as usize] += 1;
            let _ = effects.of(p, &at, true);
        }
        effects.forget_rounds();
    });
    assert!(placed.iter().all(|&packets| packets > 0), "a conversation without packets");
    let mut general = Tracker::general();
    once_more.feed(data, &mut |packets: &[Packet]| general.packets(packets));
    general.finish();
    left_the_same(&tracker, &general);
    let _ = (decoder.info, decoder.stats.rows());
}

/// What following the packets left, rows and inner state, with prediction and without.
pub fn left_the_same(predicted: &Tracker, general: &Tracker) {
    assert_eq!(predicted.flows.len(), general.flows.len());
    for (flow, other) in predicted.flows.iter().zip(&general.flows) {
        let other = format!("{other:?}").replace("general: true", "general: false");
        assert_eq!(format!("{flow:?}"), other);
    }
    assert_eq!(predicted.rounds.len(), general.rounds.len());
    for (row, other) in predicted.rounds.iter().zip(general.rounds.iter()) {
        assert_eq!(format!("{row:?}"), format!("{other:?}"));
    }
}

/// Datagrams of two conversations, from a time that the first eight bytes say. Each has four bytes before its payload:
/// what it is (see [`datagram`]), the time since the one before, the bytes that the capture cut off and those it holds.
pub fn datagrams(data: &[u8]) {
    let Some((start, mut rest)) = data.split_first_chunk::<8>() else { return };
    let (mut flows, mut packets, mut ts_ns) = (UdpFlows::default(), Vec::new(), i64::from_le_bytes(*start));
    while let [head @ .., held] = rest.get(..4).unwrap_or_default() {
        let (payload, next) = rest[4..].split_at(usize::from(*held).min(rest.len() - 4));
        let packet = datagram(head, payload.len() as u32, packets.len() as u64 + 1, ts_ns);
        flows.datagram(&packet, payload);
        (rest, ts_ns) = (next, packet.ts_ns);
        packets.push(packet);
    }
    flows.finish();
    let mut retrace = UdpRetrace::new(flows.kept(), 0);
    let placed = packets.iter().filter(|packet| retrace.place(packet).is_some()).count() as u64;
    assert_eq!(placed, flows.kept().map(UdpFlow::packets).sum::<u64>());
    assert_eq!(placed + flows.left_out(), packets.len() as u64);
    flows.shift(ts_ns);
    flows.kept().for_each(|flow| (0..2).for_each(|side| side_of(flow, side)));
}

/// Bits from the lowest: side, codepoint (2), scale of the time (2), whether it goes back, of what is cut off, flow.
fn datagram(head: &[u8], held: u32, frame: u64, before_ns: i64) -> Packet {
    let (kind, gap_ns) = (head[0], i64::from(head[1]) << (10 * (head[0] >> 3 & 3)));
    let key = FlowKey { src_port: 50_000 + u16::from(kind >> 7), dst_port: 443, ..FlowKey::default() };
    let cut = u32::from(head[2]) * if kind & 0x40 == 0 { 1 } else { 256 };
    Packet {
        frame,
        // As the decoder hands them over.
        ts_ns: before_ns.saturating_add(if kind & 0x20 == 0 { gap_ns } else { -gap_ns }).clamp(0, 1 << 62),
        key: if kind & 1 == 0 { key } else { key.reversed() },
        ip_version: 4,
        ip_ecn: kind >> 1 & ecn::CE,
        captured_len: 28 + held,
        wire_len: 28 + held + cut,
        payload_len: held + cut,
        ..Packet::default()
    }
}

/// What a side sent is counted once, and what is read of its feedback fits.
fn side_of(flow: &UdpFlow, side: usize) {
    let tally = &flow.dirs[side];
    assert_eq!(tally.ecn.iter().sum::<u64>(), tally.packets);
    assert_eq!(flow.slots(side).map(|(_, _, slot)| u64::from(slot.packets)).sum::<u64>(), tally.packets);
    let _ = (flow.transport(), flow.version(), flow.vantage(), flow.limit(side), flow.given_up(side));
    let (runs, samples) = (flow.runs(side), flow.samples[side].distinct().count());
    assert!(runs.without_ect <= tally.packets && samples as u64 <= tally.packets);
    flow.sending(side).into_iter().for_each(fed_back);
}

fn fed_back(sending: &Sending) {
    let (counts, rtt) = (&sending.counts, &sending.counts.rtt);
    assert!(counts.ce <= sending.most_ce() && counts.waited_ns >= 0);
    assert!(rtt.samples == 0 || (0 <= rtt.min_ns && rtt.min_ns <= rtt.max_ns));
    assert!(counts.interval_ns().is_none_or(|ns| ns >= 0));
    for row in sending.rows.iter() {
        assert!(row.rare().controlled.is_none_or(|state| (0.0..=1.0).contains(&state.alpha)));
        assert!(row.rtt().is_none_or(|rtt| rtt.min_us <= rtt.max_us));
        assert!(row.goodput_bps().is_none_or(|bps| bps >= 0.0 && bps.is_finite()));
    }
}

/// Two captures of one run: the bytes are split where the last two say, and the second capture is read
/// by a clock of its own. Reading, tracking, numbering, matching and every row of the tables, which are the
/// same on several threads.
pub fn run(data: &[u8]) {
    let [bytes @ .., a, b] = data else { return };
    let cut = usize::from(u16::from_le_bytes([*a, *b])) % (bytes.len() + 1);
    // A capture beside itself has everything to match; beside the rest of the bytes mostly nothing.
    let (near, far) = if cut == 0 { (bytes, bytes) } else { bytes.split_at(cut) };
    let inputs = [Input::Memory("near".into(), near.into()), Input::Memory("far".into(), far.into())];
    let on = |most| run::run(&inputs, Threads { most, after: 0 }, &mut ());
    let Ok(mut run) = on(1) else { return };
    let flows = run.flows();
    for way in flows.iter().flat_map(|flow| flow.directions()) {
        let bounds = way.fed_back(|d| d.feedback.ce.lo).zip(way.fed_back_hi());
        assert!(bounds.is_none_or(|(lo, hi)| lo <= hi));
    }
    run.udp_flows().iter().for_each(|view| (0..2).for_each(|side| side_of(view.flow, side)));
    assert_eq!(Some(rows(&mut run)), on(3).ok().as_mut().map(rows));
}

/// What does not depend on the threads.
#[derive(Debug, PartialEq)]
struct Rows {
    /// Number, first frame and packets of each conversation.
    conversations: Vec<(u32, u64, u64)>,
    rounds: Vec<RoundRow>,
    losses: Vec<Vec<StatRow>>,
}

fn rows(run: &mut Run) -> Rows {
    let mut rounds = Vec::new();
    let flows = run.flows();
    let packets = |way: run::DirectionView<'_>| way.dir.totals.packets();
    let row = |v: &run::FlowView<'_>| (v.number, v.flow.first_frame, v.directions().map(packets).sum());
    let conversations = flows.iter().map(row).collect();
    run.take_rounds(usize::MAX, |some| rounds.extend(some.iter().map(|round| round.row.clone())));
    Rows { conversations, rounds, losses: run.captures.iter().map(run::Capture::stats).collect() }
}

/// The redacted copy of a file: what is read from it is what is read from the original, but for addresses.
pub fn redact(data: &[u8]) {
    let Ok(mut redactor) = Redactor::open(&memory(data), Map::new(&[7; KEY])) else { return };
    let mut copy = Vec::new();
    while let Some(piece) = redactor.next().expect("a copy in memory") {
        copy.extend(piece);
    }
    let ((packets, stats), (kept, counted)) = (shared(data), shared(&copy));
    packets.iter().zip(&kept).for_each(|(packet, copy)| assert_eq!(copy, packet));
    assert_eq!((kept.len(), counted), (packets.len(), stats));
}

fn memory(data: &[u8]) -> Input {
    Input::Memory("capture".into(), data.into())
}

/// What a capture and its redacted copy have in common.
fn shared(data: &[u8]) -> (Vec<Packet>, Vec<(&'static str, u64)>) {
    let mut stream = read::open(&memory(data)).expect("a capture");
    let mut packets = Vec::new();
    let nobody = |key| FlowKey { src: [0; 16], dst: [0; 16], ..key };
    let plain = |p: &Packet| Packet { key: nobody(p.key), offset: 0, captured_len: 0, ..*p };
    stream.for_each(|some: &[Packet]| packets.extend(some.iter().map(plain))).expect("memory can be read");
    (packets, stream.stats().rows().iter().map(|row| (row.name, row.count)).collect())
}

/// A text log in pieces: the first byte chooses its shape and the size of the pieces.
pub fn text_logs(data: &[u8]) {
    let [choice, text @ ..] = data else { return };
    let shape = if choice & 1 == 0 { Shape::Event } else { Shape::Fields };
    let read = |size: usize| {
        let mut reader = Reader::new(shape);
        text.chunks(size).for_each(|piece| reader.feed(piece));
        reader.finish();
        (reader.counts(), reader.take())
    };
    let (counts, columns) = read(usize::from(choice >> 1) + 1);
    assert!(columns.iter().all(|(_, values)| values.len() as u64 == counts.rows));
    assert_eq!((counts, columns), read(text.len().max(1)));
}

/// A qlog in pieces of any size: the same samples, traces and counts; what is read of a sample fits.
pub fn qlog(data: &[u8]) {
    let [size, text @ ..] = data else { return };
    let read = |size: usize| {
        let mut qlog = Qlog::default();
        text.chunks(size).for_each(|piece| qlog.feed(piece));
        qlog.finish();
        let traces: Vec<_> =
            qlog.traces().map(|(trace, ends, sent)| format!("{trace:?} {ends:?} {sent:?}")).collect();
        (qlog.take(), qlog.datagrams().to_vec(), traces, qlog.counts())
    };
    let found = read(usize::from(*size) + 1);
    let (samples, _, traces, counts) = &found;
    assert!(samples.iter().all(|sample| (sample.trace as usize) < traces.len()));
    assert!(samples.iter().all(|sample| sample.alpha.is_none_or(|alpha| (0.0..=1.0).contains(&alpha))));
    assert!(samples.len() as u64 <= counts.events);
    assert_eq!(found, read(text.len().max(1)));
}

/// What a dissector shows of QUIC, in pieces of any size: the same of each frame, and a conversation over it fits.
pub fn dissected(data: &[u8]) {
    let [size, text @ ..] = data else { return };
    let read = |size: usize| {
        let mut dissected = Dissected::default();
        text.chunks(size).for_each(|piece| dissected.feed(piece));
        dissected
    };
    let found = read(usize::from(*size) + 1);
    assert_eq!(format!("{found:?}"), format!("{:?}", read(text.len().max(1))));
    let mut flows = UdpFlows::with(found);
    for (frame, at) in (1..64).zip(0i64..) {
        let payload: &[u8] = if frame < 3 { b"\xc0\0\0\0\x01\0\0" } else { b"\x40\x01\x02\x03\x04" };
        let head = [(frame as u8 & 1) | 4, 0, 200, 0];
        flows.datagram(&datagram(&head, payload.len() as u32, frame, at << (20 + (*size & 15))), payload);
    }
    flows.finish();
    flows.kept().for_each(|flow| (0..2).for_each(|side| side_of(flow, side)));
}

/// A log of one JSON object a line: every line is a row or counted, and no value is behind the last row.
pub fn records(text: &[u8]) {
    let kinds =
        [("ts_ns", Kind::Int), ("u", Kind::Uint), ("x", Kind::Float), ("b", Kind::Bool), ("s", Kind::Text)];
    let found = Records::read(kinds.map(|(name, kind)| (name.to_owned(), kind)).to_vec(), text);
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
    assert_eq!(found.rows as u64 + found.unread, lines as u64);
    assert!(found.columns.iter().all(|(_, values)| values.len() <= found.rows));
    samples(text);
}

/// The same as a kernel log: each row is a sample, another record or neither, and of the samples some stay.
fn samples(text: &[u8]) {
    let kinds = ["type", "event", "sk", "alpha"].map(|name| (name.to_owned(), Kind::Text)).to_vec();
    let mut records = Records::read([kinds, vec![("ts_ns".into(), Kind::Int)]].concat(), text);
    let rows = records.rows as u64;
    let thinning = Thinning {
        tick_ns: NonZeroI64::new(10).unwrap(),
        events: vec!["ack".into()],
        watched: vec!["alpha".into()],
    };
    let mut samples = Samples::of(&records, Some(thinning));
    samples.keep(&mut records);
    assert!(samples.count + samples.others.len() as u64 <= rows);
    assert!(records.rows as u64 + samples.thinned <= samples.count);
    assert!(records.columns.iter().all(|(_, values)| values.len() <= records.rows));
}
