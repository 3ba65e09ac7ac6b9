"""Paths that keep the score of Prague's detector above 8 whatever their AQM is."""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.rules.support import paths, subjects
from l4strace.rules.support.fallback_states import MDEV_US, SLOW_PACKET_US, jitter, slow_link


def noises(evidence: Evidence) -> pl.DataFrame:
    """`jitter_us`, `busy` and `link_us` of each direction, seen nearest to its sender."""
    shown = paths.busy(evidence).join(paths.slowest(evidence), on=subjects.KEY)
    link = subjects.once(evidence, shown).select(*subjects.DIRECTION, "busy", "link_us")
    return jitter(evidence).join(link, on=subjects.DIRECTION, how="full", coalesce=True)


def whatever_the_aqm(row: dict[str, Any]) -> bool:
    """Jitter, or a link that one packet holds for longer than the detector tolerates.

    For a row of `bottlenecks` joined with `noises`, as below.
    """
    return slow(row) or _link(row) or (row["jitter_us"] or 0.0) >= MDEV_US


def slow(row: dict[str, Any]) -> bool:
    """Only of a path that is full all the time the rate, and so the time of a packet, is sure."""
    return slow_link(row) and row["busy"] is True


def by_packet(row: dict[str, Any], mdev: str) -> bool:
    """The time of a packet explains the score, and not jitter that is as large as the deviation.

    A queue that grows and shrinks with every burst looks like jitter, too.
    """
    added = row["jitter_us"] or 0.0
    shaken = added > (row["link_us"] or 0.0) and (row[mdev] or 0.0) <= added
    return slow(row) or (_link(row) and not shaken)


def packet_us(row: dict[str, Any]) -> float:
    """Time of a packet where the path is slowest."""
    return float(row["link_us"] or row["serialisation_us"] or 0.0)


def _link(row: dict[str, Any]) -> bool:
    return (row["link_us"] or 0.0) >= SLOW_PACKET_US
