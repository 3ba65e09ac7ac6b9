"""Kernel logs that lack something."""

import polars as pl
import pytest

from l4strace.rules.l4s008_kernel_log_incomplete import check
from tests.support.frames import ROUND_NS, evidence, frame, rounds, stack


def log(**columns: object) -> pl.DataFrame:
    return frame("sources", path="run.kernel.ndjson", kind="kernel-log", **columns)


def test_fires_on_a_log_without_trailer():
    (found,) = check(evidence(sources=log(complete=False)))
    assert found.measures == ()


def test_fires_on_lost_samples():
    stats = frame("stats", name="ring_lost", count=117, severity="loss")
    (found,) = check(evidence(sources=log(complete=True), stats=stats))
    assert [(m.name, m.value) for m in found.measures] == [("ring lost", 117)]


@pytest.mark.parametrize(("samples", "lacks"), [(100, "9.0 s"), (950, "")])
def test_fires_on_a_log_that_ends_long_before_its_flows(samples: int, lacks: str) -> None:
    """A log of 3 s beside a capture of 25 s: nothing said that the rest is unknown."""
    kernel = frame("kernel", source=1, ts_ns=[n * ROUND_NS for n in range(samples)])
    sources = log(source=1, complete=True)
    tables = {"directions": frame("directions"), "rounds": rounds(1_000)}
    found = check(evidence(sources=sources, kernel=kernel, **tables))
    assert [finding.message for finding in found] == [
        f"run.kernel.ndjson lacks the last {lacks} of its flows: an event that is not in this log "
        "may still have happened."
    ] * bool(lacks)


def test_each_place_of_loss_has_its_remedy():
    """Late polls are not cured by a larger buffer."""
    late = frame("stats", name="late_polls_lost", count=26, severity="loss")
    (found,) = check(evidence(sources=log(complete=True), stats=late))
    assert "--interval" in found.action
    assert "buffer" not in found.action
    ring = frame("stats", name="ring_lost", count=9, severity="loss")
    (found,) = check(evidence(sources=log(complete=False), stats=stack(late, ring)))
    assert found.action.index("--interval") < found.action.index("--kernel-buffer")
    assert "SIGINT" in found.action


def test_a_missing_trailer_is_not_counted_as_a_sample():
    """The row `no_trailer` counts the log: its 1 is neither a sample nor a line."""
    stats = frame("stats", name="no_trailer", count=1, severity="loss")
    (found,) = check(evidence(sources=log(complete=False), stats=stats))
    assert "sample" not in found.message


@pytest.mark.parametrize(
    ("lost", "said"), [(1, "lacks 1 sample or line:"), (2000, "lacks 2,000 samples or lines:")]
)
def test_says_how_many_are_lost(lost: int, said: str):
    stats = frame("stats", name="lines_unread", count=lost, severity="loss")
    (found,) = check(evidence(sources=log(complete=True), stats=stats))
    assert said in found.message


def test_silent_on_a_foreign_log_which_is_left_to_l4s009():
    """It lacks nothing: it belongs to another host or run."""
    stats = frame("stats", name="kernel_log_not_joined", count=500, severity="loss")
    assert check(evidence(sources=log(complete=True), stats=stats)) == []


def test_silent_on_a_whole_log_and_on_captures():
    whole = log(complete=True)
    capture = frame("sources", source=1, complete=False)
    assert check(evidence(sources=stack(whole, capture))) == []
