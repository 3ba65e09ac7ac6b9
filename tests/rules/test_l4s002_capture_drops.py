"""Drop counters of the capture."""

from l4strace.model import Severity, Skipped
from l4strace.rules.l4s002_capture_drops import check
from tests.support.frames import evidence, frame


def test_fires_when_the_interface_dropped():
    found = check(
        evidence(
            sources=frame("sources", kind="pcapng", records=10_000),
            stats=frame("stats", name="capture_drops", count=500, severity="loss"),
        )
    )
    assert [f.severity for f in found] == [Severity.WARNING]
    assert found[0].measures[0].value == 500


def test_silent_when_the_counters_are_zero():
    stats = frame("stats", name="capture_drops", count=0, severity="loss")
    assert check(evidence(sources=frame("sources", kind="pcapng", records=9), stats=stats)) == []


def test_skipped_where_the_format_cannot_store_them():
    (skipped,) = check(evidence(sources=frame("sources", kind="pcap", records=9)))
    assert isinstance(skipped, Skipped)
