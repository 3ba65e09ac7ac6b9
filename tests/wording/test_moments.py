"""Moments and spans: seconds since the first packet, everywhere."""

import pytest

from l4strace.wording.moments import moment, span, utc
from tests.support.frames import evidence, frame

START = 1_795_251_337_000_000_000
RUN = evidence(
    # The log began a second before the capture: the capture is where time is counted from.
    sources=frame("sources", source=[0, 1], kind=["kprobe-events", "pcap"],
                  first_ns=[START - 10**9, START], last_ns=START + 20 * 10**9)
)  # fmt: skip


@pytest.mark.parametrize(
    ("ns", "expected"),
    [(5_231_000_000, "t=5.2 s"), (4_000_000, "t=0.004 s"), (0, "t=0.000 s"), (None, "t=?")],
)
def test_a_moment(ns: int | None, expected: str):
    assert moment(RUN, None if ns is None else START + ns) == expected


@pytest.mark.parametrize(
    ("ns", "expected"),
    [
        (-1_100_000_000, "1.1 s before the first packet"),
        (-20_000_000, "0.020 s before the first packet"),
        (-300_000, "t=0.000 s"),
    ],
)
def test_what_a_log_recorded_before_the_capture_has_no_negative_time(ns: int, expected: str):
    assert moment(RUN, START + ns) == expected


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (5_231_000_000, 6_999_000_000, "t=5.2 s to t=7.0 s"),
        (5_231_000_000, 5_245_000_000, "t=5.231 s to t=5.245 s"),
        (5_231_000_000, 5_231_000_000, "t=5.2 s"),
        (-1_000_000_000, 2_000_000_000, "1.0 s before the first packet to t=2.0 s"),
    ],
)
def test_a_span(first: int, last: int, expected: str):
    assert span(RUN, START + first, START + last) == expected


def test_a_log_that_is_not_joined_may_have_a_clock_without_a_date():
    assert moment(RUN, 12_999_206_000) == "13.0 s on a clock without a date"
    assert span(RUN, 12_990_000_000, 12_999_000_000) == (
        "12.990 s on a clock without a date to 12.999 s on a clock without a date"
    )


def test_a_clock_that_began_with_the_machine_has_no_date():
    assert utc(12_999_206_000) == "12.999 s on a clock without a date"
    assert utc(1_795_251_765_612_896_691) == "2026-11-21 09:02:45.612 UTC"
