use super::*;
use crate::packet::ecn;
use crate::track::rounds::round::Limit;

/// A datagram between ports, with a payload.
fn datagram(frame: u64, ports: [u16; 2], ip_ecn: u8, payload_len: u32) -> Packet {
    let key = FlowKey { src_port: ports[0], dst_port: ports[1], ..FlowKey::default() };
    Packet { frame, ts_ns: frame as i64, key, ip_version: 4, ip_ecn, payload_len, ..Packet::default() }
}

/// The flow that these payloads of a client make, each as long as it is.
fn of(payloads: impl IntoIterator<Item = (bool, Vec<u8>)>) -> UdpFlow {
    let mut flows = UdpFlows::default();
    for ((forward, payload), frame) in payloads.into_iter().zip(1..) {
        let ports = if forward { [50_000, 443] } else { [443, 50_000] };
        flows.datagram(&datagram(frame, ports, ecn::ECT1, payload.len() as u32), &payload);
    }
    let flow = flows.kept().next().expect("a flow");
    flow.clone()
}

fn random(seed: &mut u64) -> u8 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*seed >> 40) as u8
}

#[test]
fn both_directions_count_to_the_packet() {
    let mut flows = UdpFlows::default();
    for frame in 1..=20 {
        let ecn = if frame % 5 == 0 { ecn::CE } else { ecn::ECT1 };
        flows.datagram(&datagram(frame, [50_000, 443], ecn, 1000), b"?");
        flows.datagram(&datagram(frame, [443, 50_000], ecn::ECT0, 0), b"");
    }
    let flow = flows.kept().next().expect("a flow");
    let [to, from] = flow.dirs;
    assert_eq!((to.ecn, to.payload_bytes, to.ce_payload_bytes), ([0, 16, 0, 4], 20_000, 4_000));
    assert_eq!((from.ecn, from.data_packets, to.first_ce), ([0, 0, 20, 0], 0, Some((5, 5))));
    assert_eq!((flow.key.dst_port, flow.transport()), (443, Transport::Udp));
}

#[test]
fn short_conversations_are_counted_and_dropped() {
    let mut flows = UdpFlows::default();
    for frame in 0..200_000u64 {
        let port = 1024 + (frame % 60_000) as u16;
        let key = FlowKey { dst: [(frame / 60_000) as u8; 16], ..datagram(0, [port, 53], 0, 0).key };
        flows.datagram(&Packet { key, ..datagram(frame, [0, 0], 0, 40) }, b"dns");
    }
    (0..9).for_each(|frame| flows.datagram(&datagram(frame, [1, 2], 0, 9), b"long"));
    assert!(flows.flows.len() <= MOST_SHORT + 1);
    assert_eq!((flows.left_out(), flows.kept().count()), (200_000, 1));
    assert_eq!(flows.kept().next().map(UdpFlow::packets), Some(9));
}

#[test]
fn quic_is_known_by_its_long_header() {
    let long =
        |version: u32| [&[0xc3][..], &version.to_be_bytes(), &[8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 9]].concat();
    let with =
        |first: Vec<u8>| of((0..20).map(|n| (true, if n == 3 { first.clone() } else { vec![0x41, n] })));
    for (version, name) in
        [(1, "1"), (0x6b33_43cf, "2"), (0xff00_001d, "draft-29"), (0xface_b002, "0xfaceb002")]
    {
        let flow = with(long(version));
        assert_eq!((flow.transport(), flow.version().as_deref()), (Transport::Quic, Some(name)));
    }
    assert_eq!(with(long(7)).transport(), Transport::Udp);
    let mut too_long = long(1);
    too_long[5] = 21;
    assert_eq!(with(too_long).transport(), Transport::Udp);
}

#[test]
fn quic_is_known_by_many_short_headers_with_one_connection_id() {
    let mut seed = 7;
    let short =
        |seed: &mut u64, id: u8| vec![0x40 | random(seed) & 0x1f, id, 2, 3, 4, random(seed), random(seed)];
    let flow = of((0..60).map(|n| (n % 3 > 0, short(&mut seed, 1))));
    assert_eq!((flow.transport(), flow.version()), (Transport::Quic, None));
    let other = of((0..60).map(|n| (n % 3 > 0, short(&mut seed, n as u8))));
    assert_eq!(other.transport(), Transport::Udp);
}

#[test]
fn rtp_is_known_by_the_numbers_of_its_sources() {
    let rtp = |source: u8, number: u16| {
        [&[0x80, 96][..], &number.to_be_bytes(), &[0, 0, 0, 1, 0, 0, 0, source]].concat()
    };
    let call = (0..40).map(|n| (true, rtp(n as u8 % 2, 65_530u16.wrapping_add(n / 2))));
    assert_eq!(of(call).transport(), Transport::Rtp);
    let mut seed = 9;
    let wild = (0..40).map(|_| (true, rtp(random(&mut seed), u16::from(random(&mut seed)) << 8)));
    assert_eq!(of(wild).transport(), Transport::Udp);
    let report = [0x8b, 205, 0, 2, 0, 0, 0, 5, 0, 0, 0, 6];
    assert_eq!(of((0..10).map(|_| (false, report.to_vec()))).transport(), Transport::Rtp);
    assert_eq!(of((0..10).map(|_| (false, report[..8].to_vec()))).transport(), Transport::Udp);
}

#[test]
fn udp_prague_is_known_by_messages_of_exact_length() {
    let data = |number: u32| [&[1][..], &[0; 8], &number.to_be_bytes(), &[0; 100]].concat();
    let ack = vec![17; 26];
    let block = |reports: u16| {
        [&[18, 0, 0, 0, 1][..], &reports.to_be_bytes(), &vec![0; 2 * usize::from(reports)]].concat()
    };
    let talk = |back: &dyn Fn(u32) -> Vec<u8>| {
        of((1..40).flat_map(|n| [(true, data(n)), (false, back(n))])).transport()
    };
    assert_eq!(talk(&|_| ack.clone()), Transport::UdpPrague);
    assert_eq!(talk(&|n| block(n as u16)), Transport::UdpPrague);
    let limits = |kind: u8| {
        let message = |number: u32| [&[kind][..], &data(number)[1..]].concat();
        let flow = of((1..40).flat_map(|n| [(true, message(n)), (false, ack.clone())]));
        [true, false].map(|forward| flow.limit(usize::from(!forward)))
    };
    assert_eq!(limits(1), [Limit::Cwnd, Limit::Unknown], "a transfer takes what it gets");
    assert_eq!(limits(2), [Limit::Unknown; 2], "frames come at their own rate");
    assert_eq!(talk(&|_| vec![17; 27]), Transport::Udp);
    assert_eq!(of((1..40).map(|n| (true, data(n)))).transport(), Transport::UdpPrague);
    assert_eq!(of((1..40).map(|n| (true, data(n * 1000)))).transport(), Transport::Udp);
}

#[test]
fn whatever_the_bytes_are_nothing_is_taken_for_a_transport() {
    let mut seed = 1;
    for _ in 0..200 {
        let payloads: Vec<_> =
            (0..60).map(|n| (n % 2 == 0, (0..40).map(|_| random(&mut seed)).collect())).collect();
        assert_eq!(of(payloads).transport(), Transport::Udp);
    }
}

#[test]
fn the_spin_bit_of_a_fast_connection_is_read_to_its_end() {
    let mut flows = UdpFlows::default();
    let (trips, each, mut seed) = (100, 400, 3);
    for n in 0..trips * each {
        let spin = (n / each % 2) as u8 * 0x20;
        let payload = [0x40 | spin | random(&mut seed) & 0x1f, 1, 2, 3, 4];
        let ts_ns = n as i64 * 20_000_000 / each as i64;
        let one = Packet { ts_ns, ..datagram(n + 1, [50_000, 443], ecn::ECT1, 1200) };
        flows.datagram(&one, &payload);
    }
    let flow = flows.kept().next().expect("a flow");
    assert_eq!(flow.spin_rtt_us(0), Some(20_000));
}
