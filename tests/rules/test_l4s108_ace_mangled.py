"""ACE zeroed, frozen, changed."""

import polars as pl

from l4strace.model import Confidence, Severity
from l4strace.rules.l4s108_ace_mangled import check
from tests.support.frames import evidence, frame, stack


def rows(**feedback: object) -> pl.DataFrame:
    data = frame("directions", forward=True, ce=0, ceb_bytes=200_000, ace_distinct=3, ace_first=5)
    return stack(data, frame("directions", forward=False, **feedback))


def test_fires_on_a_zeroed_counter():
    (found,) = check(evidence(flows=frame("flows"), directions=rows(ace_first=0, ace_distinct=1)))
    assert (found.severity, found.forward) == (Severity.ERROR, False)
    assert found.measures[0].value == "000"


def test_fires_on_a_counter_that_never_moves():
    (found,) = check(evidence(flows=frame("flows"), directions=rows(ace_first=5, ace_distinct=1)))
    assert (found.measures[0].name, found.forward) == ("marks", False)


def test_marks_that_pass_a_capture_may_be_erased_behind_it():
    """Simulated run s6436-015: ECN bleached behind the router whose egress was captured."""
    data = frame("directions", ce=300, ce_fed_back_hi=0)
    still = frame("directions", forward=False, ace_first=5, ace_distinct=1)
    for vantage, freezes in (("client", False), ("middle", False), ("server", True)):
        flows = frame("flows", vantage=vantage)
        (found,) = check(evidence(flows=flows, directions=stack(data, still)))
        assert ("a node behind it erases ECN, or" in found.message) is not freezes
        assert (found.confidence is Confidence.HIGH) is freezes


def test_fires_on_bits_changed_between_two_captures():
    paths = frame("paths", near=1, far=0, matched=50, ace_changed=49)
    (found,) = check(evidence(paths=paths))
    assert found.measures[0].value == 49


def test_silent_where_lost_packets_may_be_paired_with_their_retransmissions():
    assert check(evidence(paths=frame("paths", matched=91, lost=12, ace_changed=1))) == []


def test_silent_on_a_counter_that_moves():
    assert check(evidence(flows=frame("flows"), directions=rows(ace_first=5, ace_distinct=8))) == []


def test_silent_on_a_still_counter_without_marks():
    still = frame(
        "directions", forward=[True, False], ce=0, ceb_bytes=0, ace_first=5, ace_distinct=1
    )
    assert check(evidence(flows=frame("flows"), directions=still)) == []


def test_silent_under_classic_ecn():
    flows = frame("flows", mode="classic")
    assert check(evidence(flows=flows, directions=rows(ace_first=0, ace_distinct=1))) == []


def test_silent_where_acks_of_many_packets_hide_the_marks():
    """ACKs of sixteen packets that are all marked leave ACE as it is."""
    hidden = rows(ace_first=5, ace_distinct=1).with_columns(ce_fed_back_hi=pl.lit(1600, pl.UInt64))
    assert check(evidence(flows=frame("flows"), directions=hidden)) == []
