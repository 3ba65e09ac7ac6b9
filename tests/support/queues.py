"""Rounds of a path of 10 ms with a given queue, and what its bottleneck is taken for."""

from __future__ import annotations

import polars as pl

from l4strace.bottleneck import table
from l4strace.evidence import Capture
from tests.support.frames import capture, frame, rounds

PRAGUE = frame("directions", flow=0, data_ect1=1000)
CUBIC = frame("directions", flow=1, data_ect0=1000)
FLOWS = frame("flows", flow=[0, 1], client_port=[40001, 40002], mode=["accecn", "classic"])


def verdict(flow: int = 0, **tables: pl.DataFrame) -> dict[str, object]:
    found = table.bottlenecks(capture(flows=FLOWS, **tables))
    return found.filter(pl.col("flow") == flow).row(0, named=True)


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


FAST, SLOW = 40 * 1448, 4 * 1448
"""Bytes of a round of 10 ms at 46 and 4.6 Mbit/s."""
DROP = ([FAST] * 500, [SLOW] * 500, [FAST] * 500)


def dropped(marks: int | list[int] = 1, **columns: object) -> Capture:
    """Five seconds each at 46, 4.6 and 46 Mbit/s; 90 ms of queue as the rate falls."""
    acked = [n for part in DROP for n in part]
    made = rounds(
        1500,
        acked_bytes=acked,
        acked_packets=[n // 1448 for n in acked],
        ce_best=marks,
        rtt_mean_us=[10_400.0] * 500 + [100_000.0] * 10 + [10_400.0] * 990,
        train_bps=[n * 800.0 for n in acked],
        **columns,
    )
    return capture(
        flows=frame("flows"), directions=frame("directions", max_payload=1448), rounds=made
    )
