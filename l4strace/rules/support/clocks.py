"""Captures whose clock was set while they ran, with two clocks, or with copies: times mislead."""

from collections.abc import Sequence

import polars as pl

from l4strace.evidence import Evidence, kept
from l4strace.model import Finding, Skipped
from l4strace.rules.support import copies

REPEATED = 3
"""Steps backwards that spoil a run: one or two spoil single rounds. By eye."""

MIXED_NS = 1_000_000
"""Difference of two clocks from which delays mean something else: DualPI2's step."""

REASON = "the clock of the capture was set while it ran (L4S006)"
MIXED = "two interfaces of the capture have clocks that differ (L4S014)"
TWICE = "nearly every packet may be there twice (L4S010)"


@kept
def spoiled(evidence: Evidence) -> list[int]:
    """Sources whose clock was set forward, or back at least `REPEATED` times."""
    forward = pl.col("clock_ahead_ns").fill_null(0) > 0
    back = pl.col("clock_steps").fill_null(0) >= REPEATED
    return evidence.directions.filter(forward | back)["source"].unique().sort().to_list()


@kept
def _unknown(
    evidence: Evidence,
) -> tuple[dict[int | None, str], dict[tuple[int | None, int | None], str]]:
    """Why delays and losses are not known: by source, and by source and flow."""
    mixed = evidence.sources.filter(pl.col("interfaces_apart_hi_ns") >= MIXED_NS)["source"]
    twice = copies.repeated(evidence).select("source", "flow").rows()
    return dict.fromkeys(mixed, MIXED), dict.fromkeys(twice, TWICE)


def measurable(evidence: Evidence, results: Sequence[Finding | Skipped]) -> list[Finding | Skipped]:
    """``results`` without findings on delays and losses where these are not known.

    By two clocks a packet and its acknowledgement are timed by both; without what sets copies apart
    all of them look like retransmissions.
    """
    whole, reasons = _unknown(evidence)

    def why(one: Finding) -> str | None:
        return whole.get(one.source) or reasons.get((one.source, one.flow))

    return [
        Skipped(reason, one.flow) if isinstance(one, Finding) and (reason := why(one)) else one
        for one in results
    ]
