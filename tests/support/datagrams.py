"""A flow over UDP in tables: what it sent in each slot of 50 ms, and TCP beside it."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from l4strace.evidence import Capture
from tests.support.frames import MS, capture, frame, rounds

SLOT_NS = 50 * MS
PAYLOAD = 1400

Tables = dict[str, pl.DataFrame]


def over_udp(
    mbit: Sequence[float],
    transport: str = "udp-prague",
    *,
    begin_ns: int = 0,
    flow: int = 9,
    forward: bool = True,
    source: int = 0,
) -> Tables:
    """The tables of a flow that sends at these rates, and nothing where one is 0.

    A transfer of UDP Prague is the only one whose sender takes what it gets.
    """
    sent = [(n, round(1e6 * rate * SLOT_NS / 8e9)) for n, rate in enumerate(mbit) if rate]
    starts = [begin_ns + n * SLOT_NS for n, _ in sent]
    ends = [start + SLOT_NS for start in starts]
    key = {"source": source, "flow": flow}
    total = sum(size for _, size in sent)
    return {
        "udp_flows": frame(
            "flows",
            **key,
            transport=transport,
            client_port=50_001,
            mode=None,
            first_ns=starts[0],
            last_ns=ends[-1],
        ),
        "udp_directions": frame(
            "directions",
            **key,
            forward=forward,
            packets=total // PAYLOAD,
            data_packets=total // PAYLOAD,
            data_ect1=total // PAYLOAD,
            payload_bytes=total,
            first_ns=starts[0],
            last_ns=ends[-1],
        ),
        "udp_rounds": frame(
            "rounds",
            **key,
            forward=forward,
            start_ns=starts,
            end_ns=ends,
            sent_packets=[max(1, size // PAYLOAD) for _, size in sent],
            sent_bytes=[size for _, size in sent],
            limited_by="cwnd" if transport == "udp-prague" else "unknown",
        ),
    }


LINK = 20.0
"""Mbit/s that the link carries, whoever sends."""

COUNT = 1500
"""Rounds of 10 ms: 15 s."""


def tcp(mbit: list[float], **columns: object) -> pl.DataFrame:
    """Rounds that fill the rest of a link; each has a mark, as of an L4S queue that is full."""
    sizes = [round(rate * 1e6 * 0.01 / 8) for rate in mbit]
    return rounds(
        len(mbit),
        **{
            "acked_bytes": sizes,
            "acked_packets": [max(1, size // 1448) for size in sizes],
            "ce_best": 1,
            "train_bps": [rate * 1e6 for rate in mbit],
        }
        | columns,
    )


def run(mbit: list[float], udp: Tables | None = None, **columns: object) -> Capture:
    directions = frame("directions", max_payload=1448, data_ect0=1000)
    return capture(
        flows=frame("flows"), directions=directions, rounds=tcp(mbit, **columns), **(udp or {})
    )


def rest(udp: list[float]) -> list[float]:
    """What each round of TCP gets of the link beside the slots of UDP, a round trip after these."""
    return [LINK - udp[max(0, n - 1) // 5] for n in range(5 * len(udp))]


TAKES = [0.0] * 100 + [14.0] * 100 + [0.0] * 100
"""A flow that takes most of the link from 5 s to 10 s."""


def wave(mbit: float, count: int, every: int) -> list[float]:
    """Rates that vary from second to second, as those of a starved flow do."""
    return [mbit * (1.2 if n // every % 2 else 0.8) for n in range(count)]
