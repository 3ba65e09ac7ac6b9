use super::*;

fn read(text: &str) -> Qlog {
    let mut qlog = Qlog::default();
    text.as_bytes().chunks(50).for_each(|chunk| qlog.feed(chunk));
    qlog.finish();
    qlog
}

const PICOQUIC: &str = r#"{ "qlog_version": "draft-00", "title": "picoquic", "traces": [
{ "vantage_point": { "name": "backend-67", "type": "server" }, "title": "picoquic",
"event_fields": ["relative_time", "category", "event", "data"], "configuration": {"time_units": "us"},
"common_fields": { "protocol_type": "QUIC_HTTP3", "reference_time": "1349627472"},
"events": [
[0, "transport", "datagram_received", { "byte_length": 1252, "addr_from" : {"ip_v4": "10.9.0.2", "port_v4":6285}, "addr_to" : {"ip_v4": "10.9.0.1", "port_v4":20753}, "ecn" : "ECT(1)"}],
[5, "transport", "datagram_received", { "byte_length": 40}],
[6, "transport", "datagram_received", { "byte_length": 40, "ecn": "CE"}],
[9, "transport", "packet_sent", { "packet_type": "1RTT", "header": { "packet_size": 1440}}],
[10, "recovery", "metrics_updated", {"cwnd": 15360,"bytes_in_flight": 2118}],
[15, "transport", "packet_received", { "packet_type": "1RTT", "header": { "packet_size": 32 }, "frames": [{
    "frame_type": "ack", "ack_delay": 2, "acked_ranges": [[3, 7], [1, 1]], "ect0": 0, "ect1": 5, "ce": 1}]}],
[20, "recovery", "metrics_updated", {"smoothed_rtt": 11389}],
[30, "info", "message", { "message": "Prague: 1349681423,19,0,512,14830,11521"}]]}]}"#;

#[test]
fn picoquic_writes_arrays_in_us_and_what_changed() {
    let mut qlog = read(PICOQUIC);
    let samples = qlog.take();
    let kinds: Vec<_> = samples.iter().map(|s| (s.time_ns, s.event)).collect();
    assert_eq!(kinds, [(10_000, "poll"), (15_000, "poll"), (20_000, "poll"), (30_000, "alpha")]);
    let last = &samples[3];
    assert_eq!((last.cwnd_bytes, last.packet_bytes, last.srtt_us), (Some(15360), Some(1440), Some(11389.0)));
    assert_eq!((last.delivered, last.ect1, last.ect0, last.ce), (Some(6), Some(5), Some(0), Some(1)));
    assert_eq!(last.alpha, Some(0.5));
    assert_eq!(qlog.counts(), Counts { events: 8, unread: 0, traces_left_out: 0, whole: true });
    let (trace, ends, codepoints) = qlog.traces().next().unwrap();
    assert_eq!(trace.reference_ns, Some(1_349_627_472_000));
    assert_eq!(trace.vantage.as_deref(), Some("server"));
    assert_eq!(ends.local, Some(("10.9.0.1".to_owned(), 20753)));
    assert_eq!(ends.remote, Some(("10.9.0.2".to_owned(), 6285)));
    assert_eq!(codepoints[0], [0, 2, 0, 1]);
    assert_eq!(qlog.datagrams().len(), 3);
}

const QUIC_GO: &str = "\x1e{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\"trace\":{\"common_fields\":\
{\"reference_time\":{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\",\
\"wall_clock_time\":\"2026-11-26T11:58:22.992519755Z\"}}},\"qlog_version\":\"0.3\"}\n\
\x1e{\"time\":0.5,\"name\":\"transport:connection_started\",\"data\":{\"local\":{\"address_v4\":\
{\"ip\":\"0.0.0.0\",\"port\":54503}},\"remote\":{\"address_v4\":{\"ip\":\"10.9.0.1\",\"port\":4433}}}}\n\
\x1e{\"time\":1,\"name\":\"transport:packet_sent\",\"data\":{\"raw\":{\"length\":1280},\"ecn\":\"ECT(0)\"}}\n\
\x1e{\"time\":1.5,\"name\":\"recovery:metrics_updated\",\"data\":{\"congestion_window\":40960,\"latest_rtt\":2}}\n\
\x1e{\"time\":2,\"name\":\"recovery:ecn_state_updated\",\"data\":{\"new\":\"failed\",\"trigger\":\"why\"}}\n\
\x1e{\"time\":3,\"name\":\"recovery:packet_lost\",\"data\":{\"trig";

#[test]
fn quic_go_writes_a_sequence_in_ms() {
    let mut qlog = read(QUIC_GO);
    let samples = qlog.take();
    assert_eq!(samples.len(), 2);
    assert_eq!((samples[0].cwnd_bytes, samples[0].latest_rtt_us), (Some(40960), Some(2000.0)));
    assert_eq!((samples[1].time_ns, samples[1].event), (2_000_000, "state"));
    assert_eq!(samples[1].ecn_state.as_deref(), Some("failed"));
    assert_eq!(samples[1].ecn_trigger.as_deref(), Some("why"));
    assert_eq!(qlog.counts(), Counts { events: 4, unread: 1, traces_left_out: 0, whole: false });
    let (trace, ends, codepoints) = qlog.traces().next().unwrap();
    assert_eq!(trace.wall_clock.as_deref(), Some("2026-11-26T11:58:22.992519755Z"));
    assert_eq!(ends.remote, Some(("10.9.0.1".to_owned(), 4433)));
    assert_eq!(codepoints[1], [0, 0, 1, 0]);
}

#[test]
fn drafts_name_the_same_things_in_several_ways() {
    let text = r#"{"qlog_version":"0.4","trace":{"common_fields":{"time_format":"relative_to_previous_event"}}}
{"time":1,"name":"quic:udp_datagrams_sent","data":{"count":2,"raw":[{"length":1200},{"length":1100}],"ecn":["ECT(1)","CE"]}}
{"time":1,"name":"quic:recovery_metrics_updated","data":{"congestion_window":"24000","rtt_variance":0.5}}
{"time":1,"name":"mvfst:l4s_weight_update","data":{"weight":0.25,"new_ect1":3,"new_ce":1}}
{"time":1,"name":"quic:packet_lost","data":{"lost_packets":3}}
{"time":1,"name":"quic:recovery_metrics_updated","data":{}}
"#;
    let mut qlog = read(text);
    let samples = qlog.take();
    assert_eq!(samples.iter().map(|s| s.time_ns).collect::<Vec<_>>(), [2_000_000, 3_000_000, 5_000_000]);
    assert_eq!((samples[0].cwnd_bytes, samples[0].mdev_us), (Some(24000), Some(500.0)));
    assert_eq!((samples[1].alpha, samples[1].event), (Some(0.25), "alpha"));
    assert_eq!(samples[2].lost, Some(3));
    assert_eq!(qlog.traces().next().unwrap().2[1], [0, 1, 0, 1]);
    assert_eq!(qlog.datagrams().iter().map(|d| d.bytes).collect::<Vec<_>>(), [1200, 1100]);
}

#[test]
fn mvfst_counts_and_weighs_marks_by_names_of_its_own() {
    let text = r#"{"description":"x","file_schema":"urn:ietf:params:qlog:file:contained","title":"mvfst qlog","traces":[
{"vantage_point":{"type":"server"},"common_fields":{"reference_time":{"clock_type":"monotonic","epoch":"unknown"}},
"events":[
{"time":5.25,"name":"quic:packet_received","data":{"header":{"packet_type":"1RTT","packet_number":3},"frames":[
{"acked_ranges":[[3,9]],"frame_type":"ack_ecn","ecn_ect0":0,"ecn_ect1":4,"ecn_ce":3,"ack_delay":25}],
"raw":{"length":40}}},
{"time":5.5,"name":"mvfst:l4s_weight_update","data":{"weight":0.9375,"new_ect1":4,"new_ce":3}},
{"time":6,"name":"quic:recovery_metrics_updated","data":{"latest_rtt":10.5,"min_rtt":10,"smoothed_rtt":11,
"congestion_window":28800,"bytes_in_flight":14400,"pacing_rate":2400000}},
{"time":7,"name":"quic:packet_lost","data":{"lost_packets":2}}]}]}"#;
    let mut qlog = read(text);
    let samples = qlog.take();
    assert_eq!(samples.iter().map(|s| s.event).collect::<Vec<_>>(), ["poll", "alpha", "poll"]);
    let last = &samples[2];
    assert_eq!((last.delivered, last.ect0, last.ect1, last.ce), (Some(7), Some(0), Some(4), Some(3)));
    assert_eq!((samples[1].time_ns, samples[1].alpha), (5_500_000, Some(0.9375)));
    assert_eq!((last.latest_rtt_us, last.cwnd_bytes), (Some(10_500.0), Some(28_800)));
    assert!(qlog.counts().whole);
}

#[test]
fn odd_values_become_nothing() {
    let text = r#"{"qlog_version":1,"traces":[{"event_fields":["time",7],"events":[1,[],{"time":1e300,"name":"x"},
{"time":"1","name":"metrics_updated","data":{"cwnd":-1,"smoothed_rtt":"nan","min_rtt":1e999}},
{"time":1,"name":"info:message","data":{"message":"Prague: 1,2,3,99999,5"}},
{"time":1,"name":"packet_received","data":{"frames":[{"frame_type":"ack","acked_ranges":[[5],[2,1],"x",[]],"ce":-3}]}},
{"time":1,"name":"datagram_sent","data":{"raw":[{"length":99999999999}],"ecn":[7]}}]}]}"#;
    let mut qlog = read(text);
    let samples = qlog.take();
    assert_eq!(samples.len(), 1);
    assert_eq!((samples[0].delivered, samples[0].ce), (Some(1), None));
    assert!(qlog.datagrams().is_empty());
}

#[test]
fn more_traces_than_are_kept_are_counted() {
    let mut text = "{\"qlog_version\":1}\n".repeat(MOST_TRACES + 3);
    text.push_str("{\"time\":1,\"name\":\"metrics_updated\",\"data\":{\"cwnd\":1}}\n");
    let qlog = read(&text);
    assert_eq!(qlog.traces().count(), MOST_TRACES);
    assert_eq!((qlog.counts().traces_left_out, qlog.counts().unread), (3, 1));
}
