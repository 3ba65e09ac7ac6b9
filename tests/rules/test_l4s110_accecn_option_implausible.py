"""Counters that cannot be."""

from l4strace.model import Severity
from l4strace.rules.l4s110_accecn_option_implausible import check
from tests.support.frames import evidence, frame


def test_fires_on_counters_beyond_what_was_sent():
    rows = frame(
        "directions", option_zeroed=0, option_implausible=4, accecn_options=9, option_fault_frame=2
    )
    (found,) = check(evidence(directions=rows))
    assert found.severity is Severity.WARNING
    assert found.frames == (2,)


def test_fires_on_zeroed_options():
    rows = frame("directions", option_zeroed=9, option_implausible=0, accecn_options=9)
    assert [m.value for m in check(evidence(directions=rows))[0].measures] == [9, 0]


def test_silent_on_plausible_options():
    rows = frame("directions", option_zeroed=0, option_implausible=0, accecn_options=9)
    assert check(evidence(directions=rows)) == []
