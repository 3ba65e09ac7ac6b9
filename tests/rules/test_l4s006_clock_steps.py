"""Stepped clocks."""

from l4strace.model import Severity
from l4strace.rules.l4s006_clock_steps import check
from l4strace.schema.words import Stat
from tests.support.frames import evidence, frame


def test_fires_on_timestamps_that_run_back():
    (found,) = check(
        evidence(sources=frame("sources"), directions=frame("directions", clock_steps=5))
    )
    assert found.severity is Severity.WARNING
    assert found.measures[0].value == 5


def test_fires_on_a_log_whose_clock_was_set_and_names_no_direction():
    """The clock may have been set forwards: only packets can show that it ran backwards."""
    stats = frame("stats", name="clock_steps", severity="loss", detail="Set by 5,000 ms.")
    sources = frame("sources", path="run.kernel.ndjson", kind="kernel-log")
    (found,) = check(evidence(sources=sources, stats=stats))
    assert found.severity is Severity.NOTICE
    assert "5,000 ms" in found.message
    assert "backwards" not in found.message


def test_silent_on_steady_stamps():
    rows = frame("directions", clock_steps=0)
    assert check(evidence(sources=frame("sources"), directions=rows)) == []


def test_a_log_whose_clock_was_set_forwards_did_not_run_back():
    log = frame("sources", path="run.ndjson", kind="kernel-log")
    stats = frame(
        "stats", name=Stat.CLOCK_STEPS, count=1, severity="loss", detail="Set forwards by 90 ms."
    )
    (found,) = check(evidence(sources=log, stats=stats))
    assert found.severity is Severity.NOTICE
    assert "back" not in found.message
    assert "Set forwards by 90 ms" in found.message
