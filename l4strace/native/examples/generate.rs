//! Writes a synthetic capture for the benchmark: `generate OUT PACKETS FLOWS WINDOW [pcapng]`.
//!
//! Bulk flows interleaved at random, half IPv4 and half IPv6, AccECN with timestamps, the option on
//! every ACK, SACK now and then, a CE mark now and then; snaplen 128, ns stamps. A flow keeps WINDOW
//! packets in flight, so PACKETS / FLOWS / WINDOW says how many rounds each has.

use std::env;
use std::fs::File;
use std::io::{self, BufWriter, Write};

const SNAPLEN: usize = 128;
const MSS: u32 = 1428;
/// Mean distance of two packets: about 10 Gbit/s.
const GAP_NS: u64 = 1_000;

#[derive(Clone, Copy, Default)]
struct Flow {
    begun: u8,
    sent: u32,
    acked: u32,
    marks: u32,
    id: u16,
    ack_id: u16,
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // xorshift64*: good enough to interleave flows.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// One packet under construction.
struct Tcp {
    flow: u32,
    forward: bool,
    seq: u32,
    ack: u32,
    flags: u16,
    ecn: u8,
    id: u16,
    len: u32,
}

fn main() -> io::Result<()> {
    let args: Vec<String> = env::args().collect();
    if args.len() < 5 || args[1].starts_with('-') {
        eprintln!("usage: generate OUT PACKETS FLOWS WINDOW [pcapng]");
        std::process::exit(2);
    }
    let number = |i: usize, default: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (packets, flows, window) = (number(2, 1_000_000), number(3, 64), number(4, 40) as u32);
    let ng = args.get(5).is_some_and(|a| a == "pcapng");
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&args[1])?);
    out.write_all(&if ng { ng_header() } else { pcap_header() })?;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut states = vec![Flow::default(); flows as usize];
    let mut ts_ns = 1_790_000_000_000_000_000u64;
    let mut frame = Vec::with_capacity(256);
    for _ in 0..packets {
        ts_ns += random.below(2 * GAP_NS);
        let flow = random.below(flows) as u32;
        frame.clear();
        step(&mut states[flow as usize], flow, window, &mut random, &mut frame, ts_ns);
        record(&mut out, &frame, ts_ns, ng)?;
    }
    out.flush()
}

/// The next packet of a flow: handshake, then data while the window is open, then an ACK for two.
fn step(f: &mut Flow, flow: u32, window: u32, random: &mut Random, out: &mut Vec<u8>, ts_ns: u64) {
    let ms = (ts_ns / 1_000_000) as u32;
    let base = flow.wrapping_mul(2_654_435_761);
    let seq = |n: u32| base.wrapping_add(1).wrapping_add(n.wrapping_mul(MSS));
    let server = base ^ 0x5555_5555;
    let ack = server.wrapping_add(1);
    if f.begun < 3 {
        let (flags, forward, s, a) = match f.begun {
            0 => (0x1c2, true, base, 0),
            1 => (0x0d2, false, server, base.wrapping_add(1)),
            _ => (0x090, true, base.wrapping_add(1), ack),
        };
        f.begun += 1;
        return put(
            out,
            &Tcp { flow, forward, seq: s, ack: a, flags, ecn: 0, id: 0, len: 0 },
            &stamp(ms, ms),
        );
    }
    if f.sent.wrapping_sub(f.acked) < window {
        let tcp =
            Tcp { flow, forward: true, seq: seq(f.sent), ack, flags: 0x150, ecn: 1, id: f.id, len: MSS };
        (f.sent, f.id) = (f.sent.wrapping_add(1), f.id.wrapping_add(1));
        return put(out, &tcp, &stamp(ms, ms));
    }
    f.acked = f.acked.wrapping_add(2);
    f.marks += u32::from(random.below(16) == 0);
    let ace = ((f.marks + 5) & 7) as u16;
    let tcp = Tcp {
        flow,
        forward: false,
        seq: ack,
        ack: seq(f.acked),
        flags: 0x010 | (ace << 6),
        ecn: 2,
        id: f.ack_id,
        len: 0,
    };
    f.ack_id = f.ack_id.wrapping_add(1);
    let mut options = stamp(ms, ms);
    if random.below(64) == 0 {
        let (left, right) = (seq(f.acked.wrapping_add(2)), seq(f.acked.wrapping_add(4)));
        options.extend([1, 1, 5, 10]);
        options.extend(left.to_be_bytes());
        options.extend(right.to_be_bytes());
    } else {
        options.extend([174, 11]);
        let e1b = f.acked.wrapping_sub(f.marks).wrapping_mul(MSS).wrapping_add(1);
        for counter in [e1b, f.marks.wrapping_mul(MSS), 1] {
            options.extend(&counter.to_be_bytes()[1..]);
        }
        options.push(0);
    }
    put(out, &tcp, &options);
}

fn stamp(tsval: u32, tsecr: u32) -> Vec<u8> {
    let mut options = vec![1, 1, 8, 10];
    options.extend(tsval.to_be_bytes());
    options.extend(tsecr.to_be_bytes());
    options
}

/// Ethernet, IP and TCP, up to the snaplen; wire length follows from the headers and `len`.
fn put(out: &mut Vec<u8>, tcp: &Tcp, options: &[u8]) {
    let header = 20 + options.len() as u32;
    let v6 = tcp.flow & 1 == 1;
    out.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    if v6 {
        out.extend([0x86, 0xdd, 0x60 | (tcp.ecn >> 4), tcp.ecn << 4, 0, 0]);
        out.extend(((header + tcp.len) as u16).to_be_bytes());
        out.extend([6, 64]);
    } else {
        out.extend([8, 0, 0x45, tcp.ecn]);
        out.extend(((20 + header + tcp.len) as u16).to_be_bytes());
        out.extend(tcp.id.to_be_bytes());
        out.extend([0x40, 0, 64, 6, 0, 0]);
    }
    let client = address(v6, 1, tcp.flow);
    let server = address(v6, 2, tcp.flow);
    let (src, dst) = if tcp.forward { (&client, &server) } else { (&server, &client) };
    out.extend(src);
    out.extend(dst);
    let port = (1024 + (tcp.flow % 60_000)) as u16;
    let ports = if tcp.forward { [port, 443] } else { [443, port] };
    ports.iter().for_each(|p| out.extend(p.to_be_bytes()));
    out.extend(tcp.seq.to_be_bytes());
    out.extend(tcp.ack.to_be_bytes());
    out.extend([((header / 4) << 4) as u8 | (tcp.flags >> 8) as u8, tcp.flags as u8, 0xff, 0xff, 0, 0, 0, 0]);
    out.extend(options);
    out.resize((14 + if v6 { 40 } else { 20 } + (header + tcp.len) as usize).max(out.len()), 0);
}

fn address(v6: bool, side: u8, flow: u32) -> Vec<u8> {
    let [_, _, c, d] = flow.to_be_bytes();
    if v6 {
        vec![0x20, 1, 0xd, 0xb8, 0, 0, 0, side, 0, 0, 0, 0, 0, 0, c, d]
    } else {
        vec![10, side, c, d]
    }
}

fn record(out: &mut impl Write, frame: &[u8], ts_ns: u64, ng: bool) -> io::Result<()> {
    let captured = &frame[..frame.len().min(SNAPLEN)];
    let (kept, wire) = (captured.len() as u32, frame.len() as u32);
    if !ng {
        let (s, ns) = ((ts_ns / 1_000_000_000) as u32, (ts_ns % 1_000_000_000) as u32);
        for word in [s, ns, kept, wire] {
            out.write_all(&word.to_le_bytes())?;
        }
        return out.write_all(captured);
    }
    let padded = kept.next_multiple_of(4);
    for word in [6, 32 + padded, 0, (ts_ns >> 32) as u32, ts_ns as u32, kept, wire] {
        out.write_all(&word.to_le_bytes())?;
    }
    out.write_all(captured)?;
    out.write_all(&[0; 3][..(padded - kept) as usize])?;
    out.write_all(&(32 + padded).to_le_bytes())
}

fn pcap_header() -> Vec<u8> {
    let words = [0xa1b2_3c4du32, 2 | (4 << 16), 0, 0, SNAPLEN as u32, 1];
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Section header, then one Ethernet interface with nanosecond stamps (if_tsresol 9).
fn ng_header() -> Vec<u8> {
    let section = [0x0a0d_0d0au32, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28];
    let interface = [1u32, 32, 1, SNAPLEN as u32, 9 | (1 << 16), 9, 0, 32];
    section.iter().chain(&interface).flat_map(|w| w.to_le_bytes()).collect()
}
