"""qlog: what stacks write, as samples of the table `kernel`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from l4strace.errors import InputError
from l4strace.ingest.logs import open_log
from l4strace.ingest.logs.samples import Log

ENDS = {
    "addr_from": {"ip_v4": "10.0.0.2", "port_v4": 6285},
    "addr_to": {"ip_v4": "10.0.0.1", "port_v4": 20753},
}
METRICS = {"cwnd": 14400, "bytes_in_flight": 2880, "smoothed_rtt": 11000}
EVENTS: list[list[Any]] = [
    [0, "transport", "datagram_received", {"byte_length": 1252, "ecn": "ECT(1)"} | ENDS],
    [5, "transport", "packet_sent", {"header": {"packet_size": 1440}}],
    [9, "transport", "datagram_sent", {"byte_length": 1440}],
    [10, "recovery", "metrics_updated", METRICS],
    [30, "info", "message", {"message": "Prague: 7,19,0,256,14830,11521"}],
]


def picoquic(events: list[list[Any]], reference: str = "5000000") -> str:
    trace = {
        "vantage_point": {"type": "server"},
        "title": "picoquic",
        "event_fields": ["relative_time", "category", "event", "data"],
        "configuration": {"time_units": "us"},
        "common_fields": {"reference_time": reference},
        "events": events,
    }
    return json.dumps({"qlog_version": "draft-00", "title": "picoquic", "traces": [trace]})


def read(path: Path, text: str) -> Log:
    path.write_text(text)
    return open_log.read(str(path))


def test_picoquic_in_units_of_the_table(tmp_path: Path) -> None:
    log = read(tmp_path / "any.name", picoquic(EVENTS))
    assert (log.kind, log.transport, log.complete, log.records) == ("qlog", "quic", True, 5)
    assert (log.unix_offset_ns, log.clock) == (None, "unknown")
    first, last = log.samples.to_dicts()
    assert (first["ts_ns"], first["event"], first["snd_cwnd"]) == (5_000_010_000, "poll", 10)
    assert (first["packets_out"], first["srtt_us"], first["alpha"]) == (2, 11000.0, None)
    assert (last["event"], last["alpha"], last["cc"]) == ("alpha", 0.25, "prague")
    # picoquic swaps the bytes of ports.
    assert (last["saddr"], last["sport"]) == ("10.0.0.1", 4433)
    assert (last["daddr"], last["dport"]) == ("10.0.0.2", 36120)
    assert log.datagrams.rows() == [
        ("connection 0", 5_000_000_000, False, 1252),
        ("connection 0", 5_000_009_000, True, 1440),
    ]
    assert log.comment == "picoquic server; received ECT(1) 1"


def test_quic_go_states_unix_time_and_why_validation_failed(tmp_path: Path) -> None:
    wall = "2026-11-26T11:58:22.5+01:00"
    common = {"reference_time": {"wall_clock_time": wall}}
    failed = {"new": "failed", "trigger": "lost"}
    metrics = {"congestion_window": 12000, "rtt_variance": 1}
    records = [
        {"qlog_version": "0.3", "trace": {"common_fields": common}},
        {"time": 1, "name": "recovery:ecn_state_updated", "data": {"new": "testing"}},
        {"time": 2.5, "name": "recovery:ecn_state_updated", "data": failed},
        {"time": 3, "name": "recovery:metrics_updated", "data": metrics},
    ]
    log = read(tmp_path / "run.sqlog", "".join(f"\x1e{json.dumps(one)}\n" for one in records))
    assert (log.unix_offset_ns, log.clock) == (0, "realtime")
    assert log.samples["ts_ns"][0] == 1795690702_500_000_000 + 1_000_000
    assert log.samples["ecn_state"].to_list() == ["testing", "failed", "failed"]
    assert log.samples["ecn_trigger"].to_list() == [None, "lost", "lost"]
    assert log.samples["mdev_us"].to_list() == [None, None, 1000.0]


@pytest.mark.parametrize("cut", [1, 3, 40, 70])
def test_a_torn_log_keeps_its_whole_events(tmp_path: Path, cut: int) -> None:
    log = read(tmp_path / "torn.qlog", picoquic(EVENTS)[:-cut])
    assert log.complete is False
    assert log.samples["snd_cwnd"][0] == 10
    assert {name for name, *_ in log.stats} <= {"truncated_file", "lines_unread"}


def test_connections_of_one_file_stay_apart(tmp_path: Path) -> None:
    one = json.loads(picoquic(EVENTS))
    log = read(tmp_path / "two.qlog", json.dumps(one | {"traces": one["traces"] * 2}))
    assert log.samples.group_by("sk").len().sort("sk").rows() == [
        ("connection 0", 2),
        ("connection 1", 2),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"qlog_version": "0.3"}',
        '{"qlog_version": "0.3", "traces": [{"events": [',
        '{"qlog_version": "0.3"}\n{"time": 1e300, "name": "x"}\n',
        '{"qlog_version": "0.3"}\n' + "[" * 100_000,
        '{"qlog_version": "0.3"}\n{"time": 1, "name": "\x00"',
    ],
)
def test_nothing_to_read_is_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="qlog without an event") as caught:
        read(tmp_path / "bad.qlog", text)
    assert "\n" not in str(caught.value)


def test_times_that_no_clock_shows_are_left_out(tmp_path: Path) -> None:
    log = read(tmp_path / "far.qlog", picoquic(EVENTS, reference="1" + "0" * 15))
    assert log.clock == "realtime"
    for reference in ("9" * 30, "-" + "9" * 17, "no time"):
        log = read(tmp_path / "far.qlog", picoquic(EVENTS, reference=reference))
        assert log.samples["ts_ns"].drop_nulls().is_between(-(2**61), 2**61).all()


def test_long_logs_are_thinned_and_keep_each_alpha(tmp_path: Path) -> None:
    metrics = [{"cwnd": 1200 * (n + 1)} for n in range(7)]
    many = [[n, "recovery", "metrics_updated", metrics[n % 7]] for n in range(450_000)]
    many += [[450_000 + n, *EVENTS[-1][1:]] for n in range(50)]
    log = read(tmp_path / "long.qlog", picoquic(many))
    assert log.records == 450_050
    assert log.samples.filter(pl.col("event") == "alpha").height == 50
    assert log.samples.height < 1000
