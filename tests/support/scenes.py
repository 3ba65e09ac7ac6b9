"""Scenes that several rules judge: a detector's record, a bottleneck, two flows, a log."""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from tests.support.frames import MS, evidence, frame

STEP_NS = 25 * MS
"""Prague's target RTT: one detector step."""

FLOWS = frame("flows", flow=[0, 1], client_port=[40001, 40002], mode=["accecn", "classic"])
DIRECTIONS = frame("directions", flow=[0, 1], data_ect1=[1000, 0], data_ect0=[0, 1000])


HIGH = {"mdev_us": 1100.0, "depth_us": 900.0, "score_fixed": 17.0}
"""Steps whose RTT deviation is above its threshold: correct references raise the score, too."""


def two_flows(**tables: Any) -> Evidence:
    """Prague and CUBIC side by side, with the given tables; those may replace the flows, too."""
    return evidence(**({"flows": FLOWS, "directions": DIRECTIONS} | tables))


def steps(count: int = 100, **columns: Any) -> pl.DataFrame:
    """Recorded detector steps: by default a misfire, classic at 0.4 ms of queue depth."""
    misfire = {
        "ts_ns": [i * STEP_NS for i in range(count)],
        "mdev_us": 120.0,
        "depth_us": 400.0,
        "score": 17.0,
        "score_after": 17.0,
        "score_fixed": 0.0,
        "score_buggy": 17.0,
    }
    return frame("detector", **(misfire | columns))


def bottleneck(kind: str, **columns: Any) -> pl.DataFrame:
    """What limits flow 0, at 50 Mbit/s."""
    known = {
        "kind": kind,
        "confidence": 0.95,
        "marking_delay_us": 400.0 if kind in ("l4s", "shallow") else 6000.0,
        "queue_delay_us": 400.0 if kind in ("l4s", "shallow") else 6000.0,
        "ce_share": 0.05,
        "rate_bps": 50e6,
        "serialisation_us": 242.0,
    }
    return frame("bottlenecks", **(known | columns))


def path_noise(**columns: Any) -> pl.DataFrame:
    """Noise of the one path of flows 0 and 1: none, unless the caller adds some."""
    quiet = {
        "flow": [0, 1],
        "path": "10.0.1.0/24>10.0.3.0/24",
        "rounds": [100, 200],
        "jitter_us": 0.0,
        "common_us": 0.0,
        "hides_us": 0.0,
        "late_packets": 0,
        "late_share": 0.0,
    }
    return frame("noise", **(quiet | columns))


def starving(flow: int, other: int, share: float = 0.1) -> pl.DataFrame:
    """Flow ``flow`` starves beside ``other`` from 2 s on."""
    return frame(
        "coexistence",
        flow=[flow, other],
        other_flow=[other, flow],
        end_ns=20_000 * MS,
        rate_bps=[share * 50e6, (1 - share) * 50e6],
        other_rate_bps=[(1 - share) * 50e6, share * 50e6],
        share=[share, 1 - share],
        jain=0.6,
        starved_since_ns=[2_000 * MS, None],
        starved_share=[share, None],
        starved_rate_bps=[share * 50e6, None],
        starved_other_rate_bps=[(1 - share) * 50e6, None],
    )


def log(count: int = 200, **columns: Any) -> pl.DataFrame:
    """Samples of prague_cong_control, a healthy flow with CE by default."""
    plain = {
        "source": 1,
        "ts_ns": [i * 10 * MS for i in range(count)],
        "sk": "0x1",
        "snd_cwnd": 40,
        "alpha": [0.02 + 0.0001 * (i % 7) for i in range(count)],
        "classic_ecn": 0.0,
        "saw_ce": True,
        "delivered_ce": list(range(count)),
    }
    return frame("kernel", **(plain | columns))


def packet_cuts(count: int = 40, **columns: Any) -> pl.DataFrame:
    """Cuts at CE as packets show them."""
    plain = {
        "ts_ns": [i * 100 * MS for i in range(count)],
        "round": [i * 10 for i in range(count)],
        "cwnd_before": 40.0,
        "cwnd_after": 39.2,
        "fraction": 0.02,
        "fraction_lo": 0.01,
        "fraction_hi": 0.06,
        "alpha": 0.04,
        "law": "alpha/2",
    }
    return frame("cuts", **(plain | columns))


def laws(law: str | None = "alpha/2", **columns: Any) -> pl.DataFrame:
    """How flow 0 responds to marks, as its whole trajectory shows: alpha/2 of 2 % by default."""
    ahead = {"alpha/2": "ll_half_alpha", "floor": "ll_floor", "half": "ll_half", "none": "ll_none"}
    plain: dict[str, Any] = dict.fromkeys((*ahead.values(), "ll_floor_fixed"), -100.0)
    plain |= {"samples": 100, "isolated": 80, "window_packets": 40.0, "lead": 100.0, "misfit": 0.5}
    plain |= {"fraction": 0.02, "half_alpha": 0.02, "first_ns": 0, "last_ns": 10_000 * MS}
    best = {ahead[law]: -20.0} if law in ahead else {}
    return frame("laws", **(plain | {"law": law} | best | columns))
