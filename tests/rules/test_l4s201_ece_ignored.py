"""ECE without an answer."""

from dataclasses import replace

import polars as pl

from l4strace.model import Confidence, Severity, Skipped
from l4strace.rules.l4s201_ece_ignored import check
from tests.support.frames import evidence, frame
from tests.support.scenes import DIRECTIONS, FLOWS, packet_cuts


def scene(cwr: int = 0, ce: int = 0, **columns: object):
    seen = frame("directions", cwr_packets=cwr, data_ce=ce)
    directions = DIRECTIONS.with_columns(
        cwr_packets=seen["cwr_packets"][0], data_ce=seen["data_ce"][0]
    )
    cuts = packet_cuts(10, **({"flow": 1, "cause": "ece"} | columns))
    return evidence(flows=FLOWS, directions=directions, cuts=cuts)


def test_fires_when_the_flight_never_falls_and_no_cwr_is_sent() -> None:
    (found,) = check(scene())
    assert found.confidence is Confidence.HIGH
    assert [m.value for m in found.measures] == [1.0, 0]


def test_fires_with_less_confidence_when_cwr_claims_a_cut() -> None:
    (found,) = check(scene(cwr=9))
    assert found.confidence is Confidence.MEDIUM


def test_not_judged_behind_the_queue() -> None:
    """Lab run s2501-122, a router's capture: CUBIC set CWR and "ignored ECE", by its flight there.

    A sender that sends no CWR at all ignores ECE wherever it is seen.
    """
    (skipped,) = check(scene(cwr=4, ce=6))
    assert isinstance(skipped, Skipped)
    (found,) = check(scene(cwr=0, ce=6))
    assert found.confidence is Confidence.HIGH


def test_silent_on_cuts_small_windows_and_one_long_echo() -> None:
    assert check(scene(fraction=0.3, fraction_hi=0.35)) == []
    assert check(scene(cwnd_before=3.0)) == []
    assert check(scene(cwr=1, round=list(range(10)))) == []


def test_fires_on_an_echo_that_no_cwr_ever_ends() -> None:
    """765 of 765 ACKs of a second carried ECE, and the flight did not change: one echo in all."""
    (found,) = check(scene(round=list(range(10))))
    assert "after 10 of 10 congestion echoes, and it sent no CWR" in found.message
    assert check(scene(round=list(range(10)), fraction=0.4, fraction_hi=0.45)) == []


def test_fires_as_notice_on_dctcp_whose_law_is_another() -> None:
    dctcp = scene(cwr=9)
    named = dctcp.directions.with_columns(cc=pl.lit("dctcp"))
    (found,) = check(replace(dctcp, directions=named))
    assert found.severity is Severity.NOTICE
    assert "runs dctcp, which reduces by half the share of marked packets" in found.message
    cubic = dctcp.directions.with_columns(cc=pl.lit("cubic"))
    (found,) = check(replace(dctcp, directions=cubic))
    assert found.severity is Severity.WARNING
    assert found.message.startswith("The sender (cubic) ignored ECE")
