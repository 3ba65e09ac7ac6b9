"""Logs of another run."""

from l4strace.model import Severity, Skipped
from l4strace.rules.l4s009_kernel_log_not_joined import check
from tests.support.frames import evidence, frame

SOURCES = frame(
    "sources", source=[0, 1], path=["run.pcap", "other.trace"], kind=["pcap", "tcp-probe"]
)


def test_fires_when_no_sample_finds_its_flow():
    kernel = frame("kernel", source=[1, 1], flow=[7, None])
    (found,) = check(evidence(sources=SOURCES, directions=frame("directions"), kernel=kernel))
    assert found.severity is Severity.WARNING
    assert found.source == 1
    assert "other.trace" in found.message


def test_fires_with_the_reason_that_the_join_stated():
    kernel = frame("kernel", source=[1, 1], flow=[7, None])
    reason = "Not joined: its clock was set while it ran."
    stats = frame("stats", source=1, name="kernel_log_not_joined", detail=reason)
    rows = frame("directions")
    (found,) = check(evidence(sources=SOURCES, directions=rows, kernel=kernel, stats=stats))
    assert reason in found.message


def test_silent_when_some_do():
    kernel = frame("kernel", source=[1, 1], flow=[0, None])
    assert check(evidence(sources=SOURCES, directions=frame("directions"), kernel=kernel)) == []


def test_skipped_without_a_capture():
    (skipped,) = check(evidence(kernel=frame("kernel", flow=None)))
    assert isinstance(skipped, Skipped)
