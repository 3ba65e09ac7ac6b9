"""Rates of each path slot by slot, and the capacity that they show.

All flows of a path together never deliver more than it carries, and deliver exactly that while a
queue stands. The fastest arrivals of single flows (`rounds.train_bps`: eight consecutive
deliveries) show the capacity of a path that is not full, but jitter, aggregation and ACK
compression push single trains above it. So a slot (100 ms or two rounds, and 40 packets) holds two
rates: what all flows delivered, and the median train of the flow with the fastest ones. All rates
are payload bits per second, as in `rounds.goodput_bps`: Ethernet frames of 1514 bytes need 1.046
times as much.

Against 43 emulated runs of 2 to 118 Mbit/s, seen at the sender: 49 phases whose capacity is shown
are off by 0.8 % in the median and by more than 10 % in four (flows that never filled the path
before it changed, a fall to 0.64 that was not found, and 2 ms of jitter: +12 %).
"""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import company, numbers
from l4strace.evidence import Capture, kept
from l4strace.schema.vantage import receiver

HIGH = 0.8
"""Quantile of the delivered rates: slots with an empty queue lie below the capacity, and slots into
which a long round smears its ACKs above it. By eye."""

FASTER = 1.25
"""Trains count where they are this much faster than what was delivered: schedulers release packets
in bursts, which made trains of eight up to 16 % too fast in the emulated links."""

MIN_TRAINS, TRAIN_PART, AGREE = 5, 0.1, 0.04
"""What makes a level of trains: by eye; jitter of a tenth of their length spreads them by 10 %."""

PLATEAU, MIN_PLATEAU = 0.7, 10
"""Part of the slots with a standing queue, and their number, that deliver the same (within AGREE):
the path is full there, and trains that are faster were compressed behind it. By eye."""

PROBE_PACKETS = 8
"""Packets of a marked round from which its train spans eight deliveries (track/train.rs)."""


@kept
def slots(capture: Capture) -> pl.DataFrame:
    """One row a slot of each path that carried enough.

    Columns: `source`, `path`, `flows` (how many have rounds in it), `slot`, `start_ns`,
    `end_ns`, `first_ns` and `last_ns` (data in it), `delivered_bps`, `train_bps`, `probe_bps`
    (fastest train of a round whose packets waited for each other, as marks or their RTTs show),
    `marks`, `acked` (packets), `lost` (retransmissions), `least_us` (smallest RTT), `queue_us`
    (what even the fastest packet of one of the flows waited, above the smallest RTT of that
    flow), `floor_us` (the same of all flows), `peak_us` (largest mean RTT of a round above it),
    `base_us` (smallest RTT of the path; these four are null at the receiver), `held_back`
    (share of the time in which applications or receivers limited the flows), `full_bps`
    (what all flows delivered while a round lasted whose packets all waited and were mostly marked;
    of several the one whose fastest packet waited longest; null without).
    """
    if capture.rounds.is_empty():
        return pl.DataFrame(schema=COLUMNS)
    of, at = numbers.directions(capture), numbers.paths(capture)
    limited = pl.col("limited_by")
    rounds = capture.rounds.with_columns(of=of, app=limited == "app", rwnd=limited == "rwnd")
    directions = company.directions(capture).select(
        at=at, near=pl.col("vantage").ne_missing(receiver())
    )
    made = _native.path_slots(rounds.rechunk(), directions.rechunk(), company.MIN_ACKED_PACKETS)
    named = numbers.named(capture)
    found = pl.DataFrame(made).join(named, on="at", how="left", maintain_order="left")
    return found.select(list(COLUMNS))


COLUMNS = {
    "source": pl.UInt16(),
    "path": pl.String(),
    "flows": pl.UInt32(),
    **dict.fromkeys(("slot", "start_ns", "end_ns", "first_ns", "last_ns"), pl.Int64()),
    **dict.fromkeys(("delivered_bps", "train_bps", "probe_bps"), pl.Float64()),
    **dict.fromkeys(("marks", "acked", "lost"), pl.Float64()),
    **dict.fromkeys(
        ("least_us", "queue_us", "floor_us", "peak_us", "base_us", "held_back"), pl.Float64()
    ),
    "full_bps": pl.Float64(),
}
"""Columns of `slots`."""


def estimate(delivered: list[float], trains: list[float]) -> float:
    """Capacity (bit/s) behind slots in which the path was full or its flows probed it.

    What was delivered at the upper end, or a level above it that trains agree on: a tenth of them,
    and five, within 4 %. Of several such levels the one with most trains counts, since jitter
    spreads trains and capacity gathers them.
    """
    full = quantile(delivered, HIGH)
    # A round that spans many slots shows its train in each of them.
    distinct = set(trains)
    above = sorted(t for t in distinct if t >= FASTER * full)
    need = max(MIN_TRAINS, TRAIN_PART * len(distinct))
    best, most = full, need - 1
    end = 0
    for begin, low in enumerate(above):
        while end < len(above) and above[end] <= low * (1 + AGREE):
            end += 1
        if end - begin > most:
            best, most = above[(begin + end - 1) // 2], end - begin
    return best


def plateau(delivered: list[float]) -> float | None:
    """What slots with a standing queue deliver, if nearly all deliver the same; else None."""
    full = quantile(delivered, 0.5)
    level = sum(abs(rate - full) <= AGREE * full for rate in delivered)
    return full if level >= max(MIN_PLATEAU, PLATEAU * len(delivered)) else None


def quantile(values: list[float], share: float) -> float:
    """The value that ``share`` of ``values`` do not exceed; 0 without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
