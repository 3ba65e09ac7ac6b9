"""Hostile logs of user-space senders: sound ones, spoilt by chance."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.support.hostile.texts import NUMBERS, TEXTS, nested, spoilt, value

MESSAGES = ("Prague: 1,2,3,512,5,6", "Prague: 1,2,3,99999999999999999999,5,6", "Prague: x", *TEXTS)
ECN = ("ECT(1)", "ECT(0)", "CE", "Not-ECT", ["CE"], 7, "x")


def _data(name: str, chance: Random) -> Any:
    number = chance.choice((1, 1440, chance.choice(NUMBERS)))
    ends = {"ip_v4": chance.choice(("10.9.0.1", *TEXTS)), "port_v4": number}
    frame = {"frame_type": "ack", "acked_ranges": [[1, number], [number]], "ect1": number, "ce": 1}
    return {
        "metrics_updated": {"cwnd": number, "smoothed_rtt": number, "bytes_in_flight": number},
        "packet_sent": {"header": {"packet_size": number}, "ecn": chance.choice(ECN)},
        "packet_received": {"packet_type": "1RTT", "frames": [frame] * chance.choice((0, 1, 9))},
        "datagram_sent": {"byte_length": number, "addr_to": ends, "ecn": chance.choice(ECN)},
        "udp_datagrams_received": {"raw": [{"length": number}] * 3, "ecn": [*ECN[:2]]},
        "packet_lost": {"lost_packets": number},
        "ecn_state_updated": {"new": chance.choice(TEXTS), "trigger": chance.choice(TEXTS)},
        "l4s_weight_update": {"weight": number, "new_ce": number},
        "message": {"message": chance.choice(MESSAGES)},
        "connection_started": {"local": ends, "remote": {"address_v4": ends}},
        "x": nested(chance.choice((1, 100, 400)), chance.random() < 0.5),
    }[name]  # fmt: skip


NAMES = (
    *("metrics_updated", "packet_sent", "packet_received", "datagram_sent", "packet_lost", "x"),
    *("udp_datagrams_received", "ecn_state_updated", "l4s_weight_update", "message"),
    "connection_started",
)


def _events(chance: Random) -> list[tuple[Any, str, Any]]:
    count = chance.choice((0, 1, 20, 300))
    names = [chance.choice(NAMES) for _ in range(count)]
    step = chance.choice((1, 1, 1e3))
    return [(at * step, name, _data(name, chance)) for at, name in enumerate(names)]


def _header(chance: Random) -> dict[str, Any]:
    wall = chance.choice(("2026-11-26T11:58:22.9Z", "9999-99-99T99:99:99Z", *TEXTS))
    reference = chance.choice(("1349627472", 1.7e12, {"wall_clock_time": wall}, value(chance)))
    return {
        "vantage_point": chance.choice(({"type": "server"}, "client", chance.choice(TEXTS))),
        "title": chance.choice(("picoquic", *TEXTS)),
        "configuration": {"time_units": chance.choice(("us", "ms"))},
        "common_fields": {"reference_time": reference, "time_format": chance.choice(TEXTS)},
    }


def qlog(chance: Random) -> bytes:
    """Contained, with events as arrays or as objects, and one trace or several."""
    odds = chance.choice((0.0, 0.01, 0.1))
    traces = []
    for _ in range(chance.choice((1, 1, 1, 3))):
        rows: list[Any] = [[time, "transport", name, data] for time, name, data in _events(chance)]
        fields: Any = ["relative_time", "category", "event", "data"]
        if chance.random() < 0.4:
            rows = [{"time": row[0], "name": f"quic:{row[2]}", "data": row[3]} for row in rows]
            fields = chance.choice((fields, [], None, TEXTS))
        trace = _header(chance) | {"event_fields": fields, "events": spoilt(rows, chance, odds)}
        traces.append(trace)
    document = {"qlog_version": "draft-00", "title": chance.choice(TEXTS), "traces": traces}
    return json.dumps(document, indent=chance.choice((None, None, 1))).encode()


def sqlog(chance: Random) -> bytes:
    """A sequence, or an object a line."""
    odds = chance.choice((0.0, 0.01, 0.1))
    head: Any = {"qlog_version": "0.3", "trace": spoilt(_header(chance), chance, odds)}
    rows = [
        {"time": t, "name": f"recovery:{name}", "data": data} for t, name, data in _events(chance)
    ]
    start = chance.choice((b"\x1e", b""))
    records = [head, *(spoilt(row, chance, odds) for row in rows)]
    return b"".join(start + json.dumps(one).encode() + b"\n" for one in records)


def prague(chance: Random) -> bytes:
    """`-v` of a sender or a receiver of UDP Prague."""
    role, host = chance.choice(("sender", "receiver")), chance.choice(("10.9.0.2", *TEXTS))
    lines = [
        f"UDP Prague {role} connecting to {host} on port {chance.choice((8080, 99999))} with max "
        "packet size 1400 bytes."
    ]
    for i in range(chance.choice((0, 1, 200))):
        odd = chance.choice(NUMBERS) if chance.random() < 0.05 else i * 700
        lines += (
            f"s: {odd}, {i}, 0, 1, {i}, 1400,,,,, 12135, {odd}, 1, 0, 0, -157",
            f"NORMAL_ACK_r: {i * 700 + 90}, {i}, {odd}, 1, {i}, 26, {i}, {odd}, 0, 0,,,,, 1, 1, 1",
            f"RFC8888_ACK_r: {odd}, 1, 1, 1, 1, 9, {i}, 0, 0, 1,,,,, 1, 1, 1",
            f"r: {i}, {odd}, 1, 1, {i}, 1400",
            f"s: {odd}, 1, 1, 1, {i}, 26, {i}, 0, 0, 1",
            chance.choice(TEXTS)[:200],
        )
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def prague_json(chance: Random) -> bytes:
    """Reports of `-j`."""
    rows = []
    for i in range(chance.choice((1, 2, 50))):
        odd = chance.choice(NUMBERS) if chance.random() < 0.2 else 5
        row = {"name": chance.choice(TEXTS)[:50], "time": 10**15 + i, "time_since_start": i}
        row |= {"sent_rate": odd, "rtt": odd, "pkt_rcvd": odd, "pkt_mark": 1, "pkt_window": odd}
        rows.append({key: str(item) for key, item in row.items()})
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


def scream(chance: Random) -> bytes:
    """`-log` of SCReAM."""
    names = '"Time [s]","Estimated queue delay [s]","RTT [s]"' + ',"x"' * 14
    rows = []
    for i in range(chance.choice((0, 1, 200))):
        odd = chance.choice(NUMBERS) if chance.random() < 0.05 else 37500
        rest = [0] * chance.choice((0, 6, 9))
        row = [f"{i / 100:.4f}", "0.0", odd, odd, 5, 0, 0, 0, i, 1212, odd, *rest]
        rows.append(",".join(map(str, row)))
    return "\n".join([names, *rows]).encode()


def scream_transmitted(chance: Random) -> bytes:
    """`-txrxlog` of SCReAM, which has no header."""
    rows = ["0.0132, 0, 0.0019, 0.5540, 0.5520"]
    for i in range(chance.choice((0, 1, 200))):
        odd = chance.choice(NUMBERS) if chance.random() < 0.05 else f"{i / 100:.4f}"
        rows.append(f"{i / 100 + 0.02:.4f}, {i}, {odd}, {i / 100 + 0.5:.4f}, 0.5000")
    return "\n".join([*rows, chance.choice(("", *TEXTS))]).encode("utf-8", "surrogatepass")


KINDS: dict[str, Callable[[Random], bytes]] = {
    "qlog": qlog,
    "sqlog": sqlog,
    "prague.txt": prague,
    "prague.json": prague_json,
    "scream.csv": scream,
    "txrx.csv": scream_transmitted,
}
"""Ending of the file -> what makes one."""
