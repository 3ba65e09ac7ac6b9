"""The log of a sender over UDP in tables: its window and its counts."""

import math
from collections.abc import Sequence
from typing import Any

from l4strace.evidence import Evidence
from l4strace.prague.constants import FRAC_CWND_UNIT
from tests.support.frames import MS, evidence, frame

RTT = 20
"""Milliseconds; a sample each."""


def scene(
    windows: Sequence[float], ce: Sequence[int] | int = 0, *, ect1: int = 900, **columns: Any
) -> Evidence:
    """A log of these windows and counts, and its flow."""
    times = [n * RTT * MS for n in range(len(windows))]
    plain = {
        "event": "poll",
        "frac_cwnd": [round(window * FRAC_CWND_UNIT) for window in windows],
        "alpha": 0.1,
        "lost_packets": 0,
        "srtt_us": 1000.0 * RTT,
    }
    return evidence(
        udp_flows=frame("flows", transport="quic"),
        udp_directions=frame("directions", data_ect1=ect1, data_ect0=901 - ect1),
        udp_kernel=frame(
            "kernel",
            ts_ns=times,
            delivered=[20 * n for n in range(len(windows))],
            delivered_ce=ce,
            **(plain | columns),
        ),
    )


def whole(
    windows: Sequence[float], ce: Sequence[int] | int = 0, *, rtt_ms: int = RTT, **columns: Any
) -> Evidence:
    """The same as UDP Prague's log has it: windows in whole packets, no alpha, RTT of packets."""
    plain = {
        "cc": "prague",
        "frac_cwnd": None,
        "snd_cwnd": [math.ceil(window) for window in windows],
        "alpha": None,
        "srtt_us": None,
        "rs_rtt_us": 1000 * rtt_ms,
    }
    return scene(windows, ce, **(plain | columns))


def saw(of: int, fraction: float) -> list[float]:
    """So many reductions, every tenth sample."""
    return [20.0 * (1 - fraction * (n % 10 == 9)) for n in range(10 * of + 5)]


def marks(of: int) -> list[int]:
    """One packet more is CE at each of the samples of ``saw``."""
    return [(n + 1) // 10 for n in range(10 * of + 5)]
