"""Copies of qlogs: what the importer reads of them is the same, and nothing else is left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from l4strace.core import _native
from l4strace.ingest.logs import open_log
from l4strace.ingest.logs.qlog import BEGINS
from l4strace.ingest.logs.samples import ANY
from l4strace.redact import qlog
from l4strace.redact.mask import Mask

PRIVATE = "private"
MASK = Mask(b"k" * 32)
EVENTS: list[Any] = [
    [0, "transport", "datagram_received", {
        "byte_length": 1252, "ecn": "ECT(1)", "addr_from": {"ip_v4": "198.51.100.7", "port_v4": 1},
        "addr_to": {"ip_v4": "198.51.100.9", "port_v4": 256}, PRIVATE: PRIVATE, "x": "198.51.100.7",
    }],
    [1, "transport", "parameters_set", {"sni": f"{PRIVATE}.example", "token": PRIVATE}],
    [2, "transport", "packet_sent", {"header": {
        "packet_size": 1440, "scid": "5ec4e7", "dcid": PRIVATE, "packet_type": PRIVATE,
    }}],
    [3, "transport", "packet_received", {"packet_type": "1RTT", "frames": [
        {"frame_type": "ack", "acked_ranges": [[1, 3], [5]], "ect1": 3, "ce": 1, "note": PRIVATE},
        {"frame_type": "crypto", "data": PRIVATE}, PRIVATE, {"frame_type": f"ack{PRIVATE}"},
    ]}],
    [4, "info", "message", {"message": "Prague: 1,2,3,512,5,6"}],
    [5, "info", "message", {"message": f"user {PRIVATE} of 198.51.100.7"}],
    [6, PRIVATE, PRIVATE, {PRIVATE: [PRIVATE, {PRIVATE: PRIVATE}]}],
    [7, "recovery", "metrics_updated", {"cwnd": 14400, "smoothed_rtt": 9000, "name": PRIVATE}],
    [8, "recovery", "ecn_state_updated", {"new": "failed", "trigger": f"sent by {PRIVATE}"}],
    PRIVATE, None, {PRIVATE: 1}, [PRIVATE],
]  # fmt: skip


def contained(traces: int = 1) -> str:
    trace = {
        "vantage_point": {"name": PRIVATE, "type": "server"},
        "title": PRIVATE,
        "description": PRIVATE,
        "event_fields": ["relative_time", "category", "event", "data"],
        "configuration": {"time_units": "us", "original_uris": [PRIVATE]},
        "common_fields": {"reference_time": "5000000", "group_id": "5ec4e7", PRIVATE: PRIVATE},
        "events": EVENTS,
    }
    return json.dumps({"qlog_version": "draft-00", "title": PRIVATE, "traces": [trace] * traces})


def sequence(start: str = "\x1e") -> str:
    reference = {"wall_clock_time": "2026-11-26T11:58:22.9Z", "host": PRIVATE}
    trace = {"common_fields": {"reference_time": reference}}
    head = {"qlog_version": "0.3", "code_version": PRIVATE, "trace": trace}
    events = [
        {"time": one[0], "name": f"{one[1]}:{one[2]}", "data": one[3], PRIVATE: PRIVATE}
        for one in EVENTS
        if isinstance(one, list) and len(one) == 4
    ]
    return "".join(f"{start}{json.dumps(one)}\n" for one in [head, *events])


def copied(text: str, size: int = 1 << 16) -> str:
    data = text.encode()
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(qlog.redacted(chunks, MASK)).decode()


FORMS = {
    "contained": contained(),
    "two": contained(2),
    "sequence": sequence(),
    "lines": sequence(""),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [7, 1 << 16])
def test_nothing_private_is_left(form: str, size: int) -> None:
    copy = copied(FORMS[form], size)
    for private in (PRIVATE, "198.51.100", "5ec4e7", "example"):
        assert private not in copy
    assert MASK.host("198.51.100.7") in copy
    assert MASK.socket("5ec4e7") in copy


@pytest.mark.parametrize("form", FORMS)
def test_the_importer_reads_the_same(tmp_path: Path, form: str) -> None:
    for name, text in (("a.qlog", FORMS[form]), ("b.qlog", copied(FORMS[form]))):
        (tmp_path / name).write_text(text)
    original, copy = (open_log.read(str(tmp_path / name)) for name in ("a.qlog", "b.qlog"))
    hidden = ["saddr", "daddr", "cc", "ecn_trigger"]
    assert copy.samples.drop(hidden).equals(original.samples.drop(hidden))
    assert copy.samples["saddr"].drop_nulls().unique().to_list() == [MASK.host("198.51.100.9")]
    assert copy.samples["ecn_trigger"].drop_nulls().unique().to_list() == ["removed"]
    assert copy.datagrams.equals(original.datagrams)
    assert (copy.complete, copy.unix_offset_ns) == (original.complete, original.unix_offset_ns)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cut", range(1, 400, 13))
def test_torn_logs_have_torn_copies(tmp_path: Path, form: str, cut: int) -> None:
    text = FORMS[form][:-cut]
    copy = copied(text)
    assert PRIVATE not in copy
    for name, one in (("a.qlog", text), ("b.qlog", copy)):
        (tmp_path / name).write_text(one)
    rows = [open_log.read(str(tmp_path / name)).samples["ts_ns"] for name in ("a.qlog", "b.qlog")]
    assert rows[0].equals(rows[1])


def test_what_picoquic_says_of_prague_stays() -> None:
    copy = copied(contained())
    assert "Prague: 1,2,3,512,5,6" in copy
    assert pl.Series([copy]).str.count_matches("Prague").item() == 1


def test_the_counts_of_mvfst_stay(tmp_path: Path) -> None:
    ack = {"frame_type": "ack_ecn", "acked_ranges": [[3, 9]], "ecn_ect0": 0, "ecn_ect1": 4}
    event = {"time": 1, "name": "quic:packet_received", "data": {"frames": [ack | {"ecn_ce": 3}]}}
    (tmp_path / "b.qlog").write_text(copied(f'{{"qlog_version":"0.4"}}\n{json.dumps(event)}\n'))
    samples = open_log.read(str(tmp_path / "b.qlog")).samples
    counts = ("delivered", "delivered_ect1", "delivered_ect0", "delivered_ce")
    assert samples.select(counts).rows() == [(7, 4, 0, 3)]


@pytest.mark.parametrize(
    "text", ["", "{", "\x1e", "[" * 5000, '{"traces":[{"events":[', "\x00" * 99]
)
def test_damage_makes_an_empty_copy_or_a_torn_one(text: str) -> None:
    copied(text)


def test_a_socket_bound_to_every_address_stays_one() -> None:
    text = contained().replace("198.51.100.9", ANY[0])
    assert f'"ip_v4":"{ANY[0]}"' in copied(text)


def counts(text: bytes) -> dict[str, int]:
    """What the native reader counts in a log."""
    reader = _native.QlogReader()
    reader.feed(text)
    reader.finish()
    return dict(reader.counts())


EVENT = '{"time": 1, "name": "metrics_updated", "data": {"cwnd": 14400}}'
HALF = r'"title": "\ud800"'
DEEP = '{"time": 1, "name": "x", "data": ' + "[" * 90 + "]" * 90 + "}"
LONG = '{"title": "' + "x" * (1 << 20) + '"}'


@pytest.mark.parametrize(
    "text",
    [
        f'{{"qlog_version": "0.3", {HALF}, "traces": [{{"events": [{EVENT}]}}]}}',
        f'{{"qlog_version": "0.3", "traces": [{{"events": [{EVENT}]}}, '
        f'{{{HALF}, "events": [{EVENT}]}}]}}',
        f'{{"qlog_version": "odd one", "traces": [{{"events": [{EVENT}, {DEEP}, {LONG}]}}]}}',
        '{"qlog_version": "0.3", "traces": ['
        + ",".join([f'{{"events": [{EVENT}]}}'] * 1030)
        + "]}",
        f'{{"qlog_version": "0.3", "traces": [{{"events": [{EVENT}, {{"time": 2, ',
        f'{{"qlog_version": "0.3", "traces": [{{"events": [{EVENT}',
        f'\x1e{{"qlog_version": "0.3", {HALF}}}\n\x1e{EVENT}\n\x1e{{"time": [\n\x1e{EVENT}\n',
        f'\x1e{{"qlog_version": NaN}}\n\x1e{EVENT}\n\x1e{{"time": ',
        f'{{"qlog_version": "0.3"}}\n{EVENT}\n{{"a":[\n{EVENT}\n',
    ],
    ids=["header", "second header", "pieces", "traces", "cut in an event", "cut after one",
         "sequence", "cut sequence", "lines"],
)  # fmt: skip
def test_what_is_damaged_is_damaged_in_the_copy(text: str):
    """Copies whose header was damaged were refused where their original was read."""
    original = text.encode()
    copy = b"".join(qlog.redacted([original], MASK))
    assert counts(copy) == counts(original)
    assert BEGINS.match(copy)
