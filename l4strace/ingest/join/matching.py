"""The offset between a log's clock and a capture's, from acknowledgements that both show.

An ACK that moves snd_una is a packet with that acknowledgement number. The first sample and the
first packet with the number differ by the offset, plus what lies between the capture point and the
probe: microseconds for prague_cong_control on the capturing host, one ACK for tcp_probe (which
fires before the ACK is processed), half an RTT for a capture at the receiver.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from l4strace.core import _native
from l4strace.evidence import Capture
from l4strace.ingest import packets
from l4strace.ingest.join.sockets import LIFE

MIN_MATCHED_NUMBERS = 20
"""Matched numbers that make an offset: fewer may be chance."""
MOST_VALUES = 20_000
"""Numbers per socket that are looked for."""
MOST_PACKETS = 4_000_000
"""Packets that are read for it: a longer capture is matched by its beginning."""
PARTS = 10
"""Pieces of the run whose offsets are compared to find a step."""


class Match(NamedTuple):
    """What the match shows; ``offset_ns`` is null when too little matched."""

    looked_for: int
    matched: int
    offset_ns: int | None = None
    residual_ns: int | None = None
    step_ns: int = 0
    """How far the offsets of parts of the run lie apart."""

    @property
    def contradicts(self) -> bool:
        """Many numbers were looked for, and next to none is in the packets."""
        return self.looked_for >= 5 * MIN_MATCHED_NUMBERS and self.matched * 20 < self.looked_for


def match(samples: pl.DataFrame, found: pl.DataFrame, capture: Capture) -> Match:
    """Matches ``samples`` with the packets of ``capture``, which has one source.

    ``found`` holds the sockets' candidate flow directions (`join.candidates`).
    """
    logged = _first_samples(samples).join(found, on=LIFE)
    if logged.is_empty():
        return Match(0, 0)
    captured = _first_packets(capture, found, logged)
    both = logged.join(captured, on=["flow", "snd_una"]).with_columns(
        apart=pl.col("packet_ns") - pl.col("sample_ns")
    )
    matched = (
        both.group_by(*LIFE, "flow").agg(n=pl.len()).filter(pl.col("n") >= MIN_MATCHED_NUMBERS)
    )
    looked_for = logged.select(*LIFE, "snd_una").unique().height
    if matched.is_empty():
        return Match(looked_for, both.height)
    return _judged(both.join(matched, on=[*LIFE, "flow"], how="semi"), looked_for)


def _judged(both: pl.DataFrame, looked_for: int) -> Match:
    offset = int(both["apart"].median())  # type: ignore[arg-type]
    residual = int((both["apart"] - offset).abs().median())  # type: ignore[arg-type]
    size = max(1, -(-both.height // PARTS))
    parts = both.sort("packet_ns").with_row_index("row").group_by(pl.col("row") // size)
    ranges = parts.agg(
        low=pl.col("apart").quantile(0.1), high=pl.col("apart").quantile(0.9), n=pl.len()
    ).filter(pl.col("n") >= MIN_MATCHED_NUMBERS // 2)
    return Match(looked_for, both.height, offset, residual, _step(ranges))


def _step(ranges: pl.DataFrame) -> int:
    """How far the ranges of two parts lie apart, 0 where all overlap.

    A clock that is set moves every sample after it. A busy host delays some samples of a part; the
    others keep the offset.
    """
    if ranges.height < 2:
        return 0
    lowest, highest = ranges.select(pl.min("high"), pl.max("low")).row(0)
    return max(0, int(highest - lowest))


def _first_samples(samples: pl.DataFrame) -> pl.DataFrame:
    """Per socket the first time of each snd_una, from the probe that sees it soonest."""
    seen = samples.drop_nulls("snd_una")
    if "ack" in seen["event"]:
        seen = seen.filter(pl.col("event") == "ack")
    first = seen.group_by(*LIFE, "snd_una").agg(sample_ns=pl.col("ts_ns").min())
    # The first number was there before the log began: its time shows nothing.
    ordered = first.sort("sample_ns").with_columns(row=pl.int_range(pl.len()).over(LIFE))
    return ordered.filter(pl.col("row").is_between(1, MOST_VALUES)).drop("row")


def _first_packets(capture: Capture, found: pl.DataFrame, logged: pl.DataFrame) -> pl.DataFrame:
    """When the numbers of ``logged`` were first acknowledged; those that were not are left out."""
    receivers = found.select("flow", forward=~pl.col("forward")).unique()
    wanted = logged.select("flow", "snd_una").unique()
    second = packets.second_pass(capture, capture.sources["source"][0])
    table = _native.first_acks(second.path, second.starts, receivers.rows(), wanted, MOST_PACKETS)
    return pl.DataFrame(table).with_columns(pl.col("packet_ns") + second.offset_ns)
