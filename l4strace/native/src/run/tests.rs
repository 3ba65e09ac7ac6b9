//! Runs from captures that are written here, byte by byte.

use std::collections::VecDeque;
use std::io::{self, Read};

use super::*;
use crate::packet::flag;

const MS: i64 = 1_000_000;
const CLIENT: u8 = 1;

/// One packet of the conversation, 1000 bytes of data or none.
#[derive(Clone, Copy)]
struct Tcp {
    from: u8,
    flags: u16,
    seq: u32,
    ack: u32,
    len: u16,
    ecn: u8,
    /// Time at the client's capture.
    at: i64,
}

/// A handshake and `n` data packets with their ACKs, 1 ms apart, over a path of 20 ms.
fn conversation(n: u32) -> Vec<Tcp> {
    let (syn, ack) = (flag::SYN, flag::ACK);
    let tcp = |from, flags, seq, ack, len, at| Tcp { from, flags, seq, ack, len, ecn: 1, at: at * MS };
    let mut talk = vec![
        tcp(1, syn, 1000, 0, 0, 0),
        tcp(2, syn | ack, 5000, 1001, 0, 20),
        tcp(1, ack, 1001, 5001, 0, 20),
    ];
    for i in 0..n {
        let seq = 1001 + 1000 * i;
        let at = 30 + i64::from(i);
        talk.push(tcp(1, ack, seq, 5001, 1000, at));
        talk.push(tcp(2, ack, 5001, seq + 1000, 0, at + 20));
    }
    talk
}

/// Bytes of a classic capture, by the time that `clock` gives each packet.
fn pcap(talk: &[Tcp], clock: impl Fn(&Tcp) -> i64) -> Vec<u8> {
    let words = [0xa1b2_3c4du32, 2 | (4 << 16), 0, 0, 128, 101];
    let mut out: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut talk: Vec<(i64, &Tcp)> = talk.iter().map(|tcp| (clock(tcp), tcp)).collect();
    talk.sort_by_key(|(at, _)| *at);
    for (id, (at, tcp)) in talk.into_iter().enumerate() {
        let frame = frame(tcp, id as u16);
        let words = [(at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32, 40, 40 + u32::from(tcp.len)];
        out.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        out.extend(frame);
    }
    out
}

fn frame(tcp: &Tcp, id: u16) -> Vec<u8> {
    let mut frame = vec![0x45, tcp.ecn];
    frame.extend((40 + tcp.len).to_be_bytes());
    frame.extend(id.to_be_bytes());
    frame.extend([0x40, 0, 64, 6, 0, 0, 10, 0, 0, tcp.from, 10, 0, 0, 3 - tcp.from]);
    let (client, server) = (40000u16, 443u16);
    let ports = if tcp.from == CLIENT { [client, server] } else { [server, client] };
    frame.extend(ports.iter().flat_map(|p| p.to_be_bytes()));
    frame.extend(tcp.seq.to_be_bytes());
    frame.extend(tcp.ack.to_be_bytes());
    frame.extend([0x50 | (tcp.flags >> 8) as u8, tcp.flags as u8, 0xff, 0xff, 0, 0, 0, 0]);
    frame
}

fn memory(name: &str, bytes: Vec<u8>) -> Input {
    Input::Memory(name.into(), bytes.into())
}

fn near(tcp: &Tcp) -> i64 {
    1_000_000 * MS + tcp.at
}

/// At the server, 10 ms away, by a clock that is 5 s ahead.
fn far(tcp: &Tcp) -> i64 {
    let way = if tcp.from == CLIENT { 10 * MS } else { -10 * MS };
    near(tcp) + way + 5_000 * MS
}

#[test]
fn both_ends_are_one_run_on_one_clock() {
    let talk = conversation(400);
    let lost = |tcp: &&Tcp| tcp.len > 0 && tcp.seq == 1001 + 100_000;
    assert_eq!(talk.iter().filter(lost).count(), 1);
    let arrived: Vec<Tcp> = talk.iter().filter(|tcp| !lost(tcp)).copied().collect();
    let inputs = [memory("near", pcap(&talk, near)), memory("far", pcap(&arrived, far))];
    let mut run = run(&inputs, Threads::most(1), &mut ()).expect("both can be read");
    assert_eq!(run.numbers, [[0], [0]]);
    let [forward, back] = &run.paths[..] else { panic!("{:?}", run.paths) };
    assert_eq!((forward.near, forward.far, forward.matched, forward.lost), (0, 1, 401, 1));
    assert_eq!((back.near, back.far, back.matched, back.lost), (1, 0, 401, 0));
    assert_eq!(run.captures[1].clock.ns, 5_000 * MS);
    assert_eq!(forward.owd_min_ns, Some(10 * MS));
    assert_eq!(run.captures[1].info.first_ns, Some(1_000_010 * MS));
    let firsts: Vec<i64> = run.flows().iter().map(|v| v.flow.first_ns).collect();
    assert_eq!(firsts, [1_000_000 * MS, 1_000_010 * MS]);
    let (count, mut places, mut delays) = (run.count_rounds(), Vec::new(), Vec::new());
    run.take_rounds(3, |rounds| {
        assert!(rounds.len() <= 3);
        places.extend(rounds.iter().map(|r| (r.source, r.number, !r.row.forward, r.row.round)));
        delays.extend(rounds.iter().filter_map(|r| r.delay).map(|d| d.max_us));
    });
    assert!(places.is_sorted() && places.len() == count);
    assert!(delays.contains(&0.0));
    assert_eq!(run.count_rounds(), 0);
}

#[test]
fn a_capture_that_names_no_conversation_of_another_stays_alone() {
    let other = |tcp: &Tcp| Tcp { from: tcp.from, seq: tcp.seq + 7, ..*tcp };
    let talk = conversation(5);
    let apart: Vec<Tcp> = talk.iter().map(other).collect();
    let inputs = [memory("one", pcap(&talk, near)), memory("two", pcap(&apart, near))];
    let run = run(&inputs, Threads::most(1), &mut ()).expect("both can be read");
    assert_eq!(run.numbers, [[0], [1]]);
    assert!(run.paths.is_empty());
}

#[test]
fn an_input_that_is_no_capture_is_named() {
    let error =
        run(&[memory("notes.txt", b"hello, world, this is text".to_vec())], Threads::most(1), &mut ()).err();
    let text = error.map(|e| e.to_string()).unwrap_or_default();
    assert_eq!(text, "notes.txt: text, not a pcap or pcapng capture");
}

/// Stops at once.
struct Impatient(u32);

impl Watcher for Impatient {
    type Error = ReadError;

    fn progress(&mut self, read: u64, total: u64) -> Result<bool, ReadError> {
        assert!(read <= total);
        self.0 += 1;
        Ok(false)
    }

    fn pause(&mut self) -> Result<(), ReadError> {
        Err(ReadError::new("-", "interrupted"))
    }
}

#[test]
fn a_watcher_ends_reading_and_interrupts_matching() {
    let long = pcap(&conversation(150_000), near);
    let records = (long.len() as u64 - 24) / 56;
    let mut watcher = Impatient(0);
    let run_of = |inputs: &[Input], watcher: &mut Impatient| run(inputs, Threads::most(1), watcher);
    let run = run_of(&[memory("long", long.clone())], &mut watcher).expect("what was read is a run");
    assert_eq!(watcher.0, 1);
    assert!(run.captures[0].info.records < records);
    let two = [memory("near", long.clone()), memory("far", long)];
    assert_eq!(run_of(&two, &mut watcher).err().map(|e| e.message), Some("interrupted".into()));
}

/// A file that grows: each read gives one piece, and between two polls there is nothing.
struct Growing(VecDeque<Vec<u8>>);

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(piece) = self.0.front_mut() else { return Ok(0) };
        let n = piece.len().min(buffer.len());
        buffer[..n].copy_from_slice(&piece[..n]);
        piece.drain(..n);
        if n == 0 {
            self.0.pop_front();
        }
        Ok(n)
    }
}

#[test]
fn a_growing_capture_ends_like_a_finished_one() {
    let bytes = pcap(&conversation(300), near);
    let whole = run(&[memory("whole", bytes.clone())], Threads::most(1), &mut ()).expect("a capture");
    for size in [7, 100, 10_000] {
        let pieces = bytes.chunks(size).map(<[u8]>::to_vec).collect();
        let mut follower = Follower::new("growing", Growing(pieces));
        let mut rounds = Vec::new();
        for _ in 0..=bytes.len() / size {
            rounds.extend(follower.poll().expect("a capture").captures[0].tracker.rounds.iter().cloned());
            follower.forget_rounds();
        }
        let run = follower.poll().expect("a capture");
        let totals = |run: &Run| run.captures[0].tracker.flows[0].dirs[0].totals.payload_bytes;
        assert_eq!(totals(run), totals(&whole));
        assert_eq!(run.captures[0].info.records, whole.captures[0].info.records);
        let ended = whole.captures[0].tracker.rounds.iter().take(rounds.len());
        assert!(!rounds.is_empty() && ended.eq(&rounds), "pieces of {size}");
    }
}
