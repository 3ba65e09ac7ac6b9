"""What packets show of the path of each direction: its bottleneck, jitter, the time of a packet."""

from typing import NamedTuple

import polars as pl

from l4strace.derive import neighbors
from l4strace.derive.neighbors import FRAME_BYTES
from l4strace.derive.vantage import once
from l4strace.evidence import Evidence, kept
from l4strace.model import Confidence
from l4strace.schema.keys import DIRECTION, KEY, PATH
from l4strace.schema.words import CLASSIC_OR_PER_FLOW

ISOLATED_CONFIDENCE = 0.8
"""Confidence from which a bottleneck class counts as shown. From marks, only the delay and marks of
other flows of the path give as much (bottleneck/kinds); a lone flow's marks give at most 0.7."""

LIKELY_CONFIDENCE = 0.6
"""Confidence from which a bottleneck class is more than a guess: by eye, on the scale of
bottleneck/kinds."""

BUSY = 0.8
"""Share of the slots with marks or a queue from which a path is full but for the start of its
flows. By eye: of 376 simulated paths that then show a packet of 1.5 ms and more, one has packets of
less than 1.25 ms."""

SHARED = ("classic", "shallow")
"""Bottlenecks whose one queue marks the packets of all flows."""

SUITED = (*SHARED, "per-flow", CLASSIC_OR_PER_FLOW)
"""Bottlenecks behind which the fallback is meant to act."""

HIDDEN = (None, "unknown")
"""What stands for a bottleneck that the packets do not show."""


class Place(NamedTuple):
    """The path of one direction; null or 0 where the packets do not show it."""

    kind: str | None = None
    confidence: float = 0.0
    marking_delay_us: float | None = None
    queue_delay_us: float = 0.0
    noise_us: float = 0.0
    ce_share: float = 0.0
    rate_bps: float = 0.0
    serialisation_us: float = 0.0
    """Time of one packet at the rate that this flow saw."""
    jitter_us: float = 0.0
    link_us: float = 0.0
    """Time of one packet in the slowest phase that was full.

    Directions with too few round trips for a bottleneck have it, too: the path shows it."""
    busy: bool | None = None
    """The path was full all the time, at the link's own rate: what pauses may be paced by its
    senders, or by jitter, whose rate looks like a link's."""
    filled: bool | None = None
    """The path was ever full."""
    packet_us: float = 0.0
    """Time of one packet where the path is slowest."""

    @property
    def shared(self) -> bool:
        """Probably one queue that marks all flows: the fallback is needed there."""
        return self.kind in SHARED and self.confidence >= LIKELY_CONFIDENCE

    @property
    def proven_l4s(self) -> bool:
        """Other flows show that the bottleneck is an L4S AQM.

        A queue with a step for all of its packets looks the same to ECT(1) flows alone.
        """
        return self.kind == "l4s" and self.confidence >= ISOLATED_CONFIDENCE


def confidence(value: float | None) -> Confidence:
    """Confidence of a verdict which rests on a bottleneck class of confidence ``value``."""
    if (value or 0.0) >= ISOLATED_CONFIDENCE:
        return Confidence.HIGH
    return Confidence.MEDIUM if (value or 0.0) >= LIKELY_CONFIDENCE else Confidence.LOW


@kept
def places(evidence: Evidence) -> pl.DataFrame:
    """DIRECTION and the fields above of each path that is known, seen nearest to its sender."""
    noise = once(evidence, evidence.noise).select(*DIRECTION, "jitter_us")
    links = once(evidence, _links(evidence)).drop("source")
    shown = once(evidence, evidence.bottlenecks).drop("source")
    for other in (noise, links):
        shown = shown.join(other, on=DIRECTION, how="full", coalesce=True)
    known = shown.with_columns(pl.col(pl.Float64).exclude(NULLABLE).fill_null(0.0))
    slowest = pl.when(pl.col("link_us") > 0).then("link_us").otherwise("serialisation_us")
    return known.with_columns(packet_us=slowest)


NULLABLE = ("marking_delay_us",)


def _links(evidence: Evidence) -> pl.DataFrame:
    """`link_us`, `busy` and `filled` of each direction's path, over its phases."""
    shown = pl.col("capacity_shown")
    full = shown & (pl.col("busy_share") >= BUSY)
    packet = pl.when(full).then(FRAME_BYTES * 8e6 / pl.col("capacity_bps"))
    paths = evidence.phases.group_by(PATH).agg(
        link_us=packet.max(), busy=full.all(), filled=shown.any()
    )
    known = neighbors.directions(evidence).select(*KEY, "path")
    return known.join(paths, on=PATH).drop("path")
