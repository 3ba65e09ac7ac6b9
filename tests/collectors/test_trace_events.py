"""Both forms of tcp:tcp_probe, from their `format` files to lines of the log."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable

import pytest

from kernel import trace_events

COMMON = """name: tcp_probe
ID: 1234
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:__u8 saddr[28];	offset:8;	size:28;	signed:0;
	field:__u8 daddr[28];	offset:36;	size:28;	signed:0;
	field:__u16 sport;	offset:64;	size:2;	signed:0;
	field:__u16 dport;	offset:66;	size:2;	signed:0;
"""
MAINLINE = (
    "family:2 mark:4 data_len:2 snd_nxt:4 snd_una:4 snd_cwnd:4 ssthresh:4 snd_wnd:4 srtt:4 "
    "rcv_wnd:4 sock_cookie:8"
)
LONGER = (
    "mark:4 data_len:2 snd_nxt:4 snd_una:4 snd_cwnd:4 ssthresh:4 snd_wnd:4 srtt:4 srtt_pace:8 "
    "min_rtt:4 mrtt_pace:4 mdev_pace:8 rcv_wnd:4 sock_cookie:8 classic_ecn:8 alpha:8"
)
"""L4STeam's form (include/trace/events/tcp.h of L4STeam/linux)."""
VALUES = {
    "data_len": 0,
    "snd_nxt": 4_000_000_000,
    "snd_una": 3_999_990_000,
    "snd_cwnd": 40,
    "ssthresh": 30,
    "srtt": 10_123,
    "sock_cookie": 0xABC,
    "srtt_pace": 10_050,
    "min_rtt": 9_990,
    "mdev_pace": 43,
    "classic_ecn": 7 << 24,
    "alpha": 1 << 20,
}


def tracepoint(
    fields: str, values: dict[str, int], owns: Callable[..., bool] | None = None
) -> tuple[trace_events.Probe, bytes]:
    """The reader of one form and a record of it."""
    text, at = COMMON, 68
    record = bytearray(8)
    v4 = struct.pack("=H", 2) + struct.pack(">H", 1) + bytes((10, 0, 0, 1))
    record += v4.ljust(28, b"\0") + (v4[:7] + b"\x02").ljust(28, b"\0")
    record += struct.pack("=HH", 5201, 40000)
    for field in fields.split():
        name, size = field.split(":")
        width = int(size)
        at += -at % width
        text += f"\tfield:__u{8 * width} {name};\toffset:{at};\tsize:{width};\tsigned:0;\n"
        record += b"\0" * (at - len(record)) + values.get(name, 0).to_bytes(width, "little")
        at += width
    return trace_events.Probe(trace_events.Format(text), owns), bytes(record)


@pytest.mark.parametrize("fields", [MAINLINE, LONGER])
def test_a_record_becomes_a_line(fields: str) -> None:
    probe, record = tracepoint(fields, VALUES)
    line = json.loads(probe.line(123, b"junk" + record, 4))
    assert line["type"] == "sample"
    assert (line["event"], line["ts_ns"], line["sk"]) == ("probe", 123, "abc")
    assert (line["saddr"], line["sport"]) == ("10.0.0.1", 5201)
    assert (line["daddr"], line["dport"]) == ("10.0.0.2", 40000)
    assert (line["snd_una"], line["snd_cwnd"], line["ssthresh"]) == (3_999_990_000, 40, 30)
    assert line["srtt_us"] == 10_123
    if fields == LONGER:
        assert (line["srtt_pace_us"], line["mdev_pace_us"], line["min_rtt_us"]) == (
            10_050,
            43,
            9_990,
        )
        assert (line["classic_ecn_raw"], line["alpha_raw"]) == (7 << 24, 1 << 20)
    assert probe.extended is (fields == LONGER)
    declared = trace_events.fields([probe])
    assert set(line) - {"type"} <= set(declared)


def test_a_socket_of_another_namespace_has_no_line_and_is_asked_for_once() -> None:
    asked: list[tuple[object, ...]] = []

    def owns(*identity: object) -> bool:
        asked.append(identity)
        return identity[-1] == 0xABC

    probe, ours = tracepoint(MAINLINE, VALUES, owns)
    _, other = tracepoint(MAINLINE, VALUES | {"sock_cookie": 0xDEF})
    lines = [probe.line(1, record, 0) for record in (ours, other, ours, other)]
    assert [line is None for line in lines] == [False, True, False, True]
    ends = ("10.0.0.1", "10.0.0.2", 5201, 40000)
    assert asked == [(*ends, 0xABC), (*ends, 0xDEF)]


def test_an_infinite_threshold_is_left_out() -> None:
    probe, record = tracepoint(MAINLINE, VALUES | {"ssthresh": 0x7FFFFFFF})
    assert "ssthresh" not in json.loads(probe.line(1, record, 0))


def test_the_longer_form_states_its_layout() -> None:
    probe, _ = tracepoint(LONGER, VALUES)
    assert trace_events.layout([probe]) == {
        "name": "tcp_probe",
        "found": "tracepoint",
        "alpha_bits": None,
    }
    assert trace_events.layout([tracepoint(MAINLINE, VALUES)[0]]) is None


def test_a_mapped_address_is_written_as_on_the_wire() -> None:
    mapped = b"\0" * 10 + b"\xff\xff" + bytes((192, 0, 2, 9))
    raw = struct.pack("=HHI", 10, 0, 0) + mapped + b"\0" * 4
    assert trace_events.text_of_sockaddr(raw) == "192.0.2.9"
    plain = struct.pack("=HHI", 10, 0, 0) + bytes(15) + b"\x01" + b"\0" * 4
    assert trace_events.text_of_sockaddr(plain) == "::1"
