//! The fuzz targets on damaged seeds: the same few thousand cases in every run, so that a broken reader is
//! found without a fuzzer. Seeds are pieces of captures that once gave wrong numbers.

#[path = "../fuzz/bodies.rs"]
mod bodies;

use std::fs;
use std::path::Path;

/// Of one seed and target.
const CASES: u64 = 60;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("seeds").map(|e| e.expect("an entry").path()).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).expect("a seed")).collect()
}

/// Bytes changed, a range doubled or taken out, or the end cut off.
fn damaged(seed: &[u8], random: &mut Random) -> Vec<u8> {
    const VALUES: [u8; 8] = [0, 1, 0x45, 0x7f, 0x80, 0xc0, 0xfe, 0xff];
    let mut data = seed.to_vec();
    let from = random.below(data.len());
    let to = (from + random.below(200)).min(data.len());
    match random.below(6) {
        0 => data.truncate(from),
        1 => data.extend_from_within(from..to),
        2 => drop(data.drain(from..to)),
        _ => {}
    }
    for _ in 0..random.below(8) {
        let at = random.below(data.len());
        if let Some(byte) = data.get_mut(at) {
            *byte = VALUES[random.below(VALUES.len())];
        }
    }
    data
}

fn each(seeds: &[Vec<u8>], body: fn(&[u8])) {
    cases(CASES, seeds, body);
}

fn cases(of_each: u64, seeds: &[Vec<u8>], body: fn(&[u8])) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for seed in seeds {
        body(seed);
        (0..of_each).for_each(|_| body(&damaged(seed, &mut random)));
    }
}

#[test]
fn captures() {
    let seeds = seeds();
    assert!(seeds.len() > 10);
    each(&seeds, bodies::capture);
}

#[test]
fn frames() {
    // What follows the headers of file and first record.
    let frames: Vec<Vec<u8>> = seeds().iter().map(|seed| [&[1, 0], &seed[40..120]].concat()).collect();
    each(&frames, bodies::frame);
}

/// A record of [`bodies::datagrams`]: 50 us after the one before, all of its payload held.
fn said(side: u8, codepoint: u8, payload: &[u8]) -> Vec<u8> {
    [&[side | codepoint << 1 | 1 << 3, 50, 0, payload.len() as u8], payload].concat()
}

/// A conversation of 40 datagrams and reports on them: messages of UDP Prague, RTP with RTCP, QUIC's headers.
fn conversations() -> Vec<Vec<u8>> {
    let prague = |n: u32| {
        let data = [&[1][..], &[n * 100, n * 90, n].map(u32::to_be_bytes).concat(), &[0; 16]].concat();
        let ack =
            [&[17][..], &[n, n * 100, n * 99, n, n / 9, 0].map(u32::to_be_bytes).concat(), &[0]].concat();
        let block = [&[18][..], &n.to_be_bytes(), &[0, 2, 0xa0, 1, 0xe0, 1]].concat();
        [said(0, 1, &data), said(1, 1, if n.is_multiple_of(3) { &block } else { &ack })].concat()
    };
    let rtp = |n: u32| {
        let number = (65_520 + n) as u16;
        let data = [&[0x80, 98][..], &number.to_be_bytes(), &[0, 0, 0, 1, 0, 0, 0, 7, 1]].concat();
        let report = [&[0x8b, 205, 0, 5, 0, 0, 0, 9, 0, 0, 0, 7][..], &number.to_be_bytes()].concat();
        let report = [&report[..], &[0, 2, 0xa0, 1, 0xe0, 1, 0, 0, 0, n as u8]].concat();
        [said(0, 1, &data), said(1, 0, &report)].concat()
    };
    let quic = |n: u32| {
        let long = [&[0xc3, 0, 0, 0, 1, 8][..], &[7; 8], &[8], &[9; 8], &[0, 0x40, 0x29]].concat();
        let short = [&[0x40 | (n as u8 & 0x20)][..], &[7; 8], &n.to_be_bytes()].concat();
        [said(0, 2, if n < 4 { &long } else { &short }), said(1, 2, if n < 4 { &long } else { &short })]
            .concat()
    };
    let talk = |say: &dyn Fn(u32) -> Vec<u8>| [vec![0; 8], (1..=40).flat_map(say).collect()].concat();
    vec![talk(&prague), talk(&rtp), talk(&quic)]
}

#[test]
fn conversations_over_udp() {
    let seeds = conversations();
    // Those of the fuzzer are the same.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/datagrams");
    let stored = ["prague", "rtp", "quic"].map(|name| fs::read(folder.join(name)).expect("a seed"));
    assert_eq!(seeds, stored);
    cases(10 * CASES, &seeds, bodies::datagrams);
}

#[test]
fn runs() {
    let twice: Vec<Vec<u8>> = seeds().iter().map(|seed| [&seed[..], &[0, 0]].concat()).collect();
    each(&twice, bodies::run);
}

#[test]
fn redacted_copies() {
    each(&seeds(), bodies::redact);
}

#[test]
fn text_logs() {
    let lines = [
        "\u{7} iperf3-1 [000] ..s1. 12.000001: tcp_probe: family=AF_INET src=10.0.0.1:1 dest=10.0.0.2:2 snd_cwnd=10",
        "\u{7}src=10.0.0.1:1 snd_cwnd=10 ssthresh=-1 alpha=0x10\nsrc=10.0.0.2:1 snd_cwnd=\n",
    ];
    let logs: Vec<Vec<u8>> = lines.iter().map(|line| format!("{line}\n{line}").into_bytes()).collect();
    each(&logs, bodies::text_logs);
}

#[test]
fn qlogs_survive_damage() {
    let contained = r#"{"qlog_version":"draft-00","traces":[{"event_fields":["time","category","event","data"],
        "configuration":{"time_units":"us"},"events":[[1,"recovery","metrics_updated",{"cwnd":15360}],
        [2,"transport","datagram_sent",{"byte_length":1252,"ecn":"ECT(1)"}],
        [3,"info","message",{"message":"Prague: 1,2,3,512,5,6"}]]}]}"#;
    let sequence = "\u{1e}{\"qlog_version\":\"0.3\",\"trace\":{\"common_fields\":{\"reference_time\":{}}}}\n\
        \u{1e}{\"time\":1.5,\"name\":\"transport:packet_received\",\"data\":{\"frames\":[{\"frame_type\":\"ack\",\
        \"acked_ranges\":[[1,3]],\"ect1\":3,\"ce\":1}]}}\n\u{1e}{\"time\":2,\"name\":\"recovery:ecn_state_updated\",\
        \"data\":{\"new\":\"failed\"}}\n";
    let logs = [contained, sequence].map(|log| format!("\u{9}{log}").into_bytes());
    each(&logs, bodies::qlog);
}

#[test]
fn what_a_dissector_shows_survives_damage() {
    let text = "3\t0\t\t7\t8\n4\t0\t\t1\t3\t7\t125\t1\t0\t0\t3\t4\t0\t1\n5\t0\t\t8\t8,3\t1\t0\t0\t1\n\
        6\t1,1,0\t0,2\t3,4,9\t2,0,2,6\t1,2\t0,0\t0,0\t1,0\t\t\t\t\t\t10\n7\t0\t\t10\t8\n8\t0\t\t2\t3,2\t9,8\t0,0\t0,0\t0,0\t\t\t5\t0\t2\n";
    let lines =
        |from: i32| (from..60).map(|n| format!("{n}\t0\t\t{n}\t8,3\t{}\t0\t0\t3\t\t\t{n}\t0\t1\n", n - 1));
    let seeds = [text.to_owned(), lines(3).collect()].map(|text| format!("\u{7}{text}").into_bytes());
    cases(10 * CASES, &seeds, bodies::dissected);
}

#[test]
fn json_records_survive_damage() {
    let lines = [
        r#"{"type": "sample", "ts_ns": 8460266495852, "u": 18446744073709551615, "x": 1.5e3, "b": true, "s": "a\u00e9\n"}"#,
        r#"{"ts_ns": -1, "s": {"a": [1, null, "x"]}, "x": null, "other": [[{}]]}"#,
    ];
    let logs: Vec<Vec<u8>> = lines.iter().map(|line| format!("{line}\n{line}").into_bytes()).collect();
    each(&logs, bodies::records);
}
