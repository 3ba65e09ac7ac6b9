//! Packets and clocks that are not what they look like.

use super::*;

/// An established conversation that goes on for `n` rounds of one packet from packet `from` on.
fn go_on(talk: &mut Talk, from: u32, n: u32) {
    for n in from..from + n {
        let at = 30 + i64::from(n);
        talk.data(at, n).ack(at + 20, n + 1, 5);
    }
}

#[test]
fn an_injected_packet_moves_nothing() {
    let far = 1_000_000_000;
    let base = Packet { seq: 5001, ack: 1001, ..Packet::default() };
    let syn = flag::SYN | flag::ACK;
    for (flags, packet) in [
        (flag::ACK, Packet { ack: far, ..base }),
        (flag::ACK, Packet { seq: far, ..base }),
        (flag::RST, Packet { seq: far, ..base }),
        (flag::FIN | flag::ACK, Packet { seq: far, ack: far, ..base }),
        // Near, but no handshake of this connection.
        (syn, Packet { seq: 99, ack: 123_456, ..base }),
    ] {
        let mut talk = Talk::accecn();
        go_on(&mut talk, 0, 50);
        talk.say(B, 80, flags, 6, packet);
        go_on(&mut talk, 50, 50);
        assert_eq!(talk.tracker.flows.len(), 1, "{flags:x}");
        assert_eq!(talk.fed_back(), (0, 0, 0, 0), "{flags:x}");
        let flow = talk.end();
        assert_eq!((flow.ended.name(), flow.handshake.synack_count), ("open", 1), "{flags:x}");
        let [data, acks] = flow.dirs.each_ref().map(|dir| &dir.totals);
        assert_eq!((data.data_packets(), data.retransmits), (100, 0), "{flags:x}");
        assert_eq!(acks.rare().out_of_window, 1, "{flags:x}");
    }
}

#[test]
fn ports_used_again_without_a_syn_are_another_conversation() {
    for handshake in [false, true] {
        let mut talk = Talk::accecn();
        go_on(&mut talk, 0, 50);
        let (seq, ack) = (700_000_000, 900_000_000);
        if handshake {
            talk.say(
                B,
                9000,
                flag::SYN | flag::ACK,
                2,
                Packet { seq: ack - 1, ack: seq, ..Packet::default() },
            );
        }
        for n in 0..20u32 {
            let at = 9020 + i64::from(n);
            let data = Packet { seq: seq + 1000 * n, ack, payload_len: 1000, ..Packet::default() };
            talk.say(A, at, flag::ACK, 5, data);
            let back = Packet { seq: ack, ack: seq + 1000 * n + 1000, ..Packet::default() };
            talk.say(B, at + 20, flag::ACK, 6, back);
        }
        talk.end();
        let flows = &talk.tracker.flows;
        let data = flows.iter().map(|f| f.dirs[0].totals.data_packets()).collect::<Vec<_>>();
        assert_eq!(data, [50, 20]);
        assert_eq!(flows[1].handshake.synack.is_some(), handshake);
        assert!(flows.iter().all(|f| f.dirs[0].totals.rare().out_of_window == 0));
    }
}

#[test]
fn an_injected_syn_does_not_take_the_ports() {
    let mut talk = Talk::accecn();
    go_on(&mut talk, 0, 50);
    talk.say(A, 80, flag::SYN, 7, Packet { seq: 3_000_000_000, ..Packet::default() });
    go_on(&mut talk, 50, 50);
    talk.end();
    let data = |flow: &Flow| flow.dirs[0].totals.data_packets();
    assert_eq!(talk.tracker.flows.iter().map(|flow| data(flow)).collect::<Vec<_>>(), [100, 0]);
    assert_eq!(talk.fed_back(), (0, 0, 0, 0));
}

#[test]
fn a_second_pass_finds_the_same_conversations() {
    let mut talk = Talk::accecn();
    go_on(&mut talk, 0, 50);
    let base = Packet { ack: 900_000_000, payload_len: 1000, ..Packet::default() };
    talk.say(A, 80, flag::SYN, 7, Packet { seq: 3_000_000_000, ..Packet::default() });
    go_on(&mut talk, 50, 20);
    let first = talk.frame + 1;
    for n in 0..20u32 {
        talk.say(A, 9000 + i64::from(n), flag::ACK, 5, Packet { seq: 700_000_000 + 1000 * n, ..base });
    }
    let packets = talk.said.clone();
    talk.end();
    assert_eq!(talk.tracker.flows.len(), 3);
    let mut again = Retrace::new(talk.tracker.starts());
    let flows: Vec<u32> = packets.iter().filter_map(|p| Some(again.place(p)?.flow)).collect();
    assert_eq!(flows.len(), packets.len());
    for (p, flow) in packets.iter().zip(flows) {
        let expected = match p {
            p if p.frame >= first => 2,
            p if p.seq == 3_000_000_000 => 1,
            _ => 0,
        };
        assert_eq!(flow, expected, "frame {}", p.frame);
    }
}

#[test]
fn a_gap_of_the_capture_is_no_other_conversation() {
    let mut talk = Talk::accecn();
    go_on(&mut talk, 0, 50);
    for n in 0..20u32 {
        let at = 90 + i64::from(n);
        // What comes back first are answers to what the capture lacks.
        talk.data(at, 200_000 + n).ack(at, 60 + n, 5);
    }
    for n in 0..20u32 {
        talk.ack(110 + i64::from(n), 200_001 + n, 5);
    }
    talk.end();
    assert_eq!(talk.tracker.flows.len(), 1);
    let totals = &talk.tracker.flows[0].dirs[0].totals;
    assert_eq!((totals.data_packets(), totals.rare().out_of_window), (70, 0));
}

#[test]
fn a_clock_set_forward_is_a_step_and_no_delay() {
    let hour = 3_600_000;
    for stamped in [true, false] {
        let mut talk = Talk::accecn();
        for n in 0..100u32 {
            let at = 30 + i64::from(n);
            let real = 30 + n;
            let step = |at: i64| if at < 100 { at } else { at + hour };
            let stamp = |ms: u32, echo: u32| stamped.then_some((ms, echo));
            let seq = 1001 + 1000 * n;
            let data = Packet {
                seq,
                ack: 5001,
                payload_len: 1000,
                timestamps: stamp(real, real - 1),
                ..Packet::default()
            };
            talk.say(A, step(at), flag::ACK, 5, data);
            if n >= 20 {
                let ack = seq + 1000 - 20_000;
                let back = Packet { seq: 5001, ack, timestamps: stamp(real, real - 20), ..Packet::default() };
                talk.say(B, step(at), flag::ACK, 5, back);
            }
        }
        talk.end();
        let dirs = &talk.tracker.flows[0].dirs;
        let steps: u32 = dirs.iter().map(|d| d.totals.clock_steps).sum();
        let ahead: i64 = dirs.iter().map(|d| d.totals.rare().clock_ahead_ns).sum();
        assert_eq!((steps, (ahead / MS - hour).abs() < 5), (1, true), "{stamped}: {ahead}");
        let longest =
            talk.tracker.rounds.iter().filter_map(|r| r.rtt()).map(|r| r.max_us).fold(0.0, f64::max);
        assert!(longest < 30_000.0, "{longest}");
        assert!(talk.tracker.rounds.iter().all(|r| r.end_ns - r.start_ns < 1000 * MS));
    }
}

#[test]
fn packets_that_the_path_held_are_no_clock_step() {
    for held in [1, 5] {
        let mut talk = Talk::accecn();
        for n in 0..60u32 {
            // From the fortieth on the path holds some for two seconds, then the host's clock has gone on.
            let sent = 30 + n + if n < 40 + held { 0 } else { 2000 };
            let seen = 30 + i64::from(n) + if n < 40 { 0 } else { 2000 };
            let data = Packet {
                seq: 1001 + 1000 * n,
                ack: 5001,
                payload_len: 1000,
                timestamps: Some((sent, 0)),
                ..Packet::default()
            };
            talk.say(A, seen, flag::ACK, 5, data);
        }
        assert_eq!(talk.end().dirs[0].totals.clock_steps, 0, "{held}");
    }
}

#[test]
fn a_clock_that_is_set_back_stays_behind() {
    for (late, steps) in [(1, 0), (2, 0), (20, 1)] {
        let mut talk = Talk::accecn();
        for n in 0..60u32 {
            let behind = if (40..40 + late).contains(&n) { 30 } else { 0 };
            let data = Packet { seq: 1001 + 1000 * n, ack: 5001, payload_len: 1000, ..Packet::default() };
            talk.say(A, 100 + i64::from(n) - behind, flag::ACK, 5, data);
        }
        assert_eq!(talk.end().dirs[0].totals.clock_steps, steps, "{late}");
    }
}

#[test]
fn silence_is_no_clock_step() {
    let mut talk = Talk::accecn();
    for n in 0..60u32 {
        let ms = 30 + i64::from(n) + if n < 40 { 0 } else { 3_600_000 };
        let stamps = Some((ms as u32, 0));
        let data = Packet {
            seq: 1001 + 1000 * n,
            ack: 5001,
            payload_len: 1000,
            timestamps: stamps,
            ..Packet::default()
        };
        talk.say(A, ms, flag::ACK, 5, data);
    }
    assert_eq!(talk.end().dirs[0].totals.clock_steps, 0);
}

#[test]
fn a_flow_that_does_little_takes_little_memory() {
    let size = std::mem::size_of::<Flow>() + std::mem::size_of::<Handshake>();
    assert!(size <= 1432, "{size}");
}
