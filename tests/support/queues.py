"""Rounds of a path of 10 ms with a given queue, and what its bottleneck is taken for."""

from __future__ import annotations

import polars as pl

from l4strace.derive import bottlenecks
from tests.support.frames import capture, frame, rounds

PRAGUE = frame("directions", flow=0, data_ect1=1000)
CUBIC = frame("directions", flow=1, data_ect0=1000)
FLOWS = frame("flows", flow=[0, 1], client_port=[40001, 40002], mode=["accecn", "classic"])


def verdict(flow: int = 0, **tables: pl.DataFrame) -> dict[str, object]:
    table = bottlenecks.table(capture(flows=FLOWS, **tables))
    return table.filter(pl.col("flow") == flow).row(0, named=True)


def sawtooth(low: float, high: float, count: int = 200, period: int = 20) -> list[float]:
    """Queue delays that climb from low to high and fall, period by period."""
    return [low + (high - low) * (i % period) / period for i in range(count)]


def of(queues: list[float], flow: int = 0, **columns: object) -> pl.DataFrame:
    """Rounds whose mean RTT is 10 ms of path plus the given queue; the first one finds it empty."""
    rtt = [10_000.0 + q for q in queues]
    spread = {
        "rtt_min_us": [10_000.0, *(mean - min(100.0, mean - 10_000.0) for mean in rtt[1:])],
        "rtt_max_us": [mean + 100.0 for mean in rtt],
    }
    return rounds(len(queues), flow=flow, rtt_mean_us=rtt, **(spread | columns))


def marked_above(queues: list[float], threshold: float, packets: int = 15) -> list[int]:
    return [packets if q >= threshold else 0 for q in queues]
