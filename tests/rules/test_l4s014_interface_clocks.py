"""Two interfaces of one capture by clocks that differ."""

from l4strace.model import Severity
from l4strace.rules.l4s014_interface_clocks import check
from tests.support.frames import evidence, frame


def scene(least_ms: int | None, rtt_ms: int):
    apart = None if least_ms is None else least_ms * 1_000_000
    return evidence(
        sources=frame(
            "sources",
            interface_behind="interface 1",
            interface_ahead="interface 0",
            interfaces_apart_lo_ns=apart,
            interfaces_apart_hi_ns=None if apart is None else apart + 100_000,
            interfaces_compared=900,
        ),
        directions=frame("directions", rtt_min_us=rtt_ms * 1000.0),
    )


def test_fires_with_both_bounds_and_what_they_touch():
    (found,) = check(scene(15, 10))
    assert found.severity is Severity.WARNING
    assert "the clock of interface 1 is 15 ms to 15.1 ms behind that of interface 0" in (
        found.message
    )
    assert "RTTs and queue delays of flows" in found.message


def test_fires_as_a_notice_where_an_rtt_is_mostly_one():
    (found,) = check(scene(2, 10))
    assert found.severity is Severity.NOTICE
    assert "RTTs and queue delays of flows" in found.message


def test_silent_where_no_packet_shows_a_difference():
    assert check(scene(None, 10)) == []
