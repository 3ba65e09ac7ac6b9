"""Small realistic runs in tables: Prague starved by its own fallback, and a healthy pair."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import Any

import polars as pl

from l4strace import pipeline
from l4strace.derive import coexistence
from l4strace.evidence import Evidence
from l4strace.model import Analysis
from l4strace.schema import STREAMED, TABLES

START = 1_795_251_337_000_000_000
SECONDS = 20.0
RTT = 0.0105
DROPS = 5_000


def table(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows of a declared table; columns that are not given are null."""
    declared = TABLES[name]
    unknown = {key for row in rows for key in row} - set(declared.schema.names())
    assert not unknown, f"{name} has no column {unknown}"
    if not rows:
        return declared.empty()
    return declared.conform(pl.DataFrame(rows, infer_schema_length=None))


def at(seconds: float) -> int:
    """Nanoseconds of a moment of the run."""
    return START + round(seconds * 1e9)


def misfire(**replaced: pl.DataFrame) -> Evidence:
    """Two captures and a kernel log; flow 0 is Prague at score 17 since 0.5 s, flow 1 CUBIC."""
    return _evidence(_prague(sticky=True), replaced)


def healthy(**replaced: pl.DataFrame) -> Evidence:
    """The same two flows with a correct build: score 0, fair shares."""
    return _evidence(_prague(sticky=False), replaced)


def misfire_analysis() -> Analysis:
    """What the rules find in `misfire`."""
    return pipeline.judge(misfire(), strict=True)


def _evidence(
    prague: dict[str, list[dict[str, Any]]], replaced: dict[str, pl.DataFrame]
) -> Evidence:
    rows: dict[str, list[dict[str, Any]]] = {
        "sources": _sources(),
        "stats": [
            {
                "source": 0,
                "name": "capture_drops",
                "count": DROPS,
                "severity": "loss",
                "detail": None,
            },
            {"source": 1, "name": "not_tcp", "count": 40, "severity": "info"},
        ],
        **prague,
    }
    tables = {name: table(name, rows.get(name, [])) for name in TABLES if name not in STREAMED}
    run = Evidence(**tables)
    shared = TABLES["coexistence"].conform(coexistence.table(run))
    return dataclasses.replace(run, **({"coexistence": shared} | replaced))


def _sources() -> list[dict[str, Any]]:
    capture = {
        "kind": "pcapng",
        "compression": "xz",
        "link_types": "EN10MB",
        "snaplen": 128,
        "resolution_ns": 1,
        "records": 129795,
        "tcp_packets": 129700,
        "bytes": 1_379_496,
        "first_ns": START,
        "last_ns": at(SECONDS),
        "complete": True,
        "clock": "realtime",
    }
    log = {
        "kind": "kprobe-events",
        "compression": "zst",
        "records": 56000,
        "bytes": 945_015,
        "first_ns": START,
        "last_ns": at(SECONDS),
        "complete": True,
        "clock": "monotonic",
        "clock_offset_ns": 1_795_251_324_903_854_741,
        "clock_residual_ns": 1200,
    }
    return [
        {"source": 0, "path": "sender.pcapng.xz", "sha256": "ab" * 32, **capture},
        {"source": 1, "path": "receiver.pcapng.xz", "sha256": "cd" * 32, **capture},
        {"source": 2, "path": "trace.txt.zst", "sha256": "ef" * 32, **log},
    ]


def _prague(*, sticky: bool) -> dict[str, list[dict[str, Any]]]:
    dice = random.Random(1)
    share = 0.18 if sticky else 0.55
    rates = (50e6 * share, 50e6 * (1 - share))
    out: dict[str, list[dict[str, Any]]] = {
        name: []
        for name in ("flows", "directions", "rounds", "kernel", "detector", "cuts", "paths")
    }
    for flow, rate in enumerate(rates):
        for source, vantage in ((0, "client"), (1, "server")):
            out["flows"].append(_flow(source, flow, vantage))
            out["directions"] += _directions(source, flow, rate)
            out["rounds"] += _rounds(source, flow, rate, sticky, dice)
        out["paths"].append(_path(flow))
    out["kernel"] = _kernel(rates[0], sticky, dice)
    out["detector"], out["cuts"] = _steps(sticky, dice), _cuts(sticky, dice)
    out["bottlenecks"] = [
        {
            "source": 0,
            "flow": 0,
            "forward": True,
            "kind": "l4s",
            "confidence": 0.95,
            "marking_delay_us": 900.0,
            "queue_delay_us": 400.0,
            "reason": "Marks set in at 0.90 ms of queue.",
        }
    ]
    return out


def _flow(source: int, flow: int, vantage: str) -> dict[str, Any]:
    return {
        "source": source,
        "flow": flow,
        "client": "10.0.1.2",
        "client_port": 40001 + flow,
        "server": "10.0.3.2",
        "server_port": 5201 + flow,
        "initiator": "syn",
        "handshake": "full",
        "mode": "accecn" if flow == 0 else "classic",
        "mode_reason": "SYN/ACK with ACE 2" if flow == 0 else "SYN/ACK with ECE",
        "vantage": vantage,
        "first_ns": at(0.01),
        "last_ns": at(SECONDS),
    }


def _directions(source: int, flow: int, rate: float) -> list[dict[str, Any]]:
    packets = round(rate * SECONDS / 8 / 1448)
    marks = 352 if flow == 0 else 0
    codepoint = "ect1" if flow == 0 else "ect0"
    arrived = marks if source == 1 else 0
    forward = {
        "source": source,
        "flow": flow,
        "forward": True,
        "cc": "prague" if flow == 0 else None,
        "packets": packets,
        "data_packets": packets,
        "data_segments": packets,
        "ce_segments": arrived,
        "payload_bytes": packets * 1448,
        "acked_bytes": packets * 1448,
        "data_not_ect": 0,
        "data_ect1": 0,
        "data_ect0": 0,
        "data_ce": arrived,
        "retransmits": 0,
        "rtt_min_us": 10030.0,
        "rtt_mean_us": 10850.0,
        "rtt_max_us": 13961.0,
        "rtt_samples": packets // 2,
        "ce_fed_back_lo": marks,
        "ce_fed_back_hi": marks + 2,
        "ce_fed_back_best": marks,
        "first_ns": at(0.02),
        "last_ns": at(SECONDS),
        f"data_{codepoint}": packets - arrived,
    }
    back = {
        "source": source,
        "flow": flow,
        "forward": False,
        "packets": packets // 2,
        "data_packets": 0,
        "data_segments": 0,
        "ce_segments": 0,
        "payload_bytes": 0,
        "acked_bytes": 0,
        "ece_acks": 15 * flow,
        "first_ns": at(0.02),
        "last_ns": at(SECONDS),
    }
    return [forward, back]


def _rounds(
    source: int, flow: int, rate: float, sticky: bool, dice: random.Random
) -> list[dict[str, Any]]:
    rows = []
    for number in range(int(SECONDS / RTT)):
        begin = number * RTT
        # A sender that the path limits has another rate in each second.
        growth = min(1.0, 0.2 + begin / 2) * (1 + 0.1 * math.sin(2 * begin))
        packets = max(1, round(rate * growth * RTT / 8 / 1448 * dice.uniform(0.8, 1.2)))
        queue = abs(dice.gauss(0.4, 0.15)) * 1000
        marks = dice.random() < 0.2 if flow == 0 else 0
        rows.append(
            {
                "source": source,
                "flow": flow,
                "forward": True,
                "round": number,
                "start_ns": at(begin),
                "end_ns": at(begin + RTT),
                "first_frame": 1 + 60 * number,
                "last_frame": 60 + 60 * number,
                "sent_packets": packets,
                "sent_bytes": packets * 1448,
                "ect1": packets * (flow == 0),
                "ect0": packets * (flow == 1),
                "not_ect": 0,
                "ce": int(marks) if source == 1 else 0,
                "acked_packets": packets,
                "acked_bytes": packets * 1448,
                "ce_lo": int(marks),
                "ce_hi": int(marks) + (number % 90 == 0),
                "ce_best": int(marks),
                "rtt_min_us": 10030 + queue * 0.7,
                "rtt_mean_us": 10030 + queue,
                "rtt_max_us": 10030 + queue * 1.8,
                "queue_delay_us": queue,
                "inflight_max_packets": packets + 1,
                "cwnd_packets": float(packets + 1),
                "goodput_bps": packets * 1448 * 8 / RTT,
                "retransmits": 0,
                "alpha": _alpha(begin),
                "alpha_lo": 0.9 * _alpha(begin),
                "alpha_hi": 1.1 * _alpha(begin),
                "alpha_updates": number,
                "alpha_25ms": _alpha(begin),
                "alpha_25ms_lo": 0.9 * _alpha(begin),
                "alpha_25ms_hi": 1.1 * _alpha(begin),
                "alpha_25ms_updates": number,
                "classic_ecn": 0.0,
                "classic_ecn_buggy": min(17.0, 17 * begin / 0.6),
                "owd_mean_us": queue * 0.9,
            }
        )
    return rows


def _kernel(rate: float, sticky: bool, dice: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "source": 2,
            "ts_ns": at(number * 0.005),
            "flow": 0,
            "forward": True,
            "event": "probe",
            "cc": "prague",
            "snd_cwnd": max(2, round(rate * RTT / 8 / 1448 * dice.uniform(0.8, 1.2))),
            "alpha": _alpha(number * 0.005),
            "classic_ecn": _score(number * 0.005, sticky),
        }
        for number in range(int(SECONDS / 0.005))
    ]


def _alpha(seconds: float) -> float:
    """Prague starts at 1 and falls towards the marked share."""
    return 0.02 + 0.98 * math.exp(-seconds)


def _score(seconds: float, sticky: bool) -> float:
    return min(17.0, max(0.0, (seconds - 0.3) * 85)) if sticky else 0.0


def _steps(sticky: bool, dice: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "source": 2,
            "flow": 0,
            "forward": True,
            "ts_ns": at(0.3 + number * 0.025),
            "origin": "kernel",
            "mdev_us": abs(dice.gauss(122, 30)),
            "depth_us": abs(dice.gauss(400, 120)),
            "score": _score(0.3 + number * 0.025, sticky),
            "score_fixed": 0.0,
            "score_buggy": _score(0.3 + number * 0.025, sticky=True),
            "exact": True,
            "residue": 6020646 if sticky and number < 9 else None,
            "build": "24-bit buggy" if sticky and number < 9 else None,
        }
        for number in range(780)
    ]


def _cuts(sticky: bool, dice: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "source": 2,
            "flow": 0,
            "forward": True,
            "ts_ns": at(0.3 + number * 0.08),
            "round": number * 8,
            "origin": "kernel",
            "cause": "ce",
            "cwnd_before": 10.0,
            "cwnd_after": 6.9,
            "fraction": 0.3125 if sticky and number > 3 else dice.uniform(0, 0.1),
            "alpha": 0.02,
            "classic_ecn": _score(0.3 + number * 0.08, sticky),
            "law": "floor" if sticky and number > 3 else "alpha/2",
        }
        for number in range(240)
    ]


def _path(flow: int) -> dict[str, Any]:
    same = "ect1_to_ect1" if flow == 0 else "ect0_to_ect0"
    marked = (
        {"ect1_to_ce": 352} if flow == 0 else {"ect0_to_not_ect": 3, "first_change_frame_near": 77}
    )
    return {
        "flow": flow,
        "forward": True,
        "near": 0,
        "far": 1,
        "matched": 15000,
        "lost": 2,
        "appeared": 0,
        same: 14648,
        **marked,
        "clock_offset_ns": 0,
    }
