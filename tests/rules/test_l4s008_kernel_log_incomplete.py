"""Kernel logs that lack something."""

import polars as pl

from l4strace.rules.l4s008_kernel_log_incomplete import check
from l4strace.schema.words import Stat
from tests.support.frames import evidence, frame, stack


def log(**columns: object) -> pl.DataFrame:
    return frame("sources", path="run.kernel.ndjson", kind="kernel-log", **columns)


def test_fires_on_a_log_without_trailer():
    (found,) = check(evidence(sources=log(complete=False)))
    assert "ends without its trailer" in found.message


def test_fires_on_lost_samples():
    stats = frame("stats", name="ring_lost", count=117, severity="loss")
    (found,) = check(evidence(sources=log(complete=True), stats=stats))
    assert "117" in found.message
    assert found.measures[0].name == "ring lost"


def test_silent_on_a_whole_log_and_on_captures():
    whole = log(complete=True)
    capture = frame("sources", source=1, complete=False)
    assert check(evidence(sources=stack(whole, capture))) == []


def test_a_foreign_log_is_left_to_l4s009():
    """It lacks nothing: it belongs to another host or run."""
    stats = frame("stats", name=Stat.KERNEL_LOG_NOT_JOINED, count=3, severity="loss")
    assert check(evidence(sources=log(complete=True), stats=stats)) == []
