"""Counters that cannot be."""

from l4strace.model import Severity
from l4strace.rules.l4s110_accecn_option_implausible import check
from tests.support.frames import evidence, frame

FLOWS = frame("flows", handshake="full")


def test_fires_on_counters_beyond_what_was_sent():
    rows = frame(
        "directions", option_zeroed=0, option_implausible=4, accecn_options=9, option_fault_frame=2
    )
    (found,) = check(evidence(flows=FLOWS, directions=rows))
    assert found.severity is Severity.WARNING
    assert found.frames == (2,)


def test_fires_on_zeroed_options():
    rows = frame("directions", option_zeroed=9, option_implausible=0, accecn_options=9)
    (found,) = check(evidence(flows=FLOWS, directions=rows))
    assert [m.value for m in found.measures] == [9, 0]
    assert found.message == (
        "Of 9 AccECN options, 9 report 0 in their first counter, which starts at 1."
    )


def test_silent_on_plausible_options():
    rows = frame("directions", option_zeroed=0, option_implausible=0, accecn_options=9)
    assert check(evidence(flows=FLOWS, directions=rows)) == []


def test_silent_on_bytes_that_were_sent_before_the_capture_began():
    rows = frame("directions", option_zeroed=0, option_implausible=17, accecn_options=567)
    assert check(evidence(flows=frame("flows", handshake="none"), directions=rows)) == []
