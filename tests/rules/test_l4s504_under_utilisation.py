"""A path left idle."""

import polars as pl

from l4strace.model import Confidence, Skipped
from l4strace.rules.l4s504_under_utilisation import check
from tests.support.frames import MS, evidence
from tests.support.phases import phases
from tests.support.scenes import DIRECTIONS, FLOWS

LOW = {"rate_bps": 6e6, "low_ns": 4_500 * MS, "low_share": 0.9}
"""6 of 50 Mbit/s."""


def found(**columns: object):
    return check(
        evidence(flows=FLOWS, directions=DIRECTIONS, phases=phases(50.0, **(LOW | columns)))
    )


def test_fires_on_long_lows_with_an_empty_queue() -> None:
    (finding,) = found()
    assert finding.message == (
        "The path was not full: for 90 % of the time it carried less than 60 % of its capacity "
        "although the queue was empty. From t=0.000 s to t=5.0 s it carried 6 Mbit/s of 50 Mbit/s."
    )
    assert [m.value for m in finding.measures] == [6e6, 50e6]
    assert finding.confidence is Confidence.MEDIUM


def test_a_capacity_from_trains_alone_is_less_certain() -> None:
    (finding,) = found(capacity_shown=False)
    assert finding.confidence is Confidence.LOW
    assert finding.message.endswith(
        "it carried 6 Mbit/s of about 43.8 to 50 Mbit/s, as packet trains show."
    )


def test_the_rate_that_growing_flows_reach_is_the_least_that_the_path_carries() -> None:
    (finding,) = found(capacity_shown=False, ramp_ns=4_600 * MS)
    assert finding.confidence is Confidence.LOW
    assert "6 Mbit/s of at least 50 Mbit/s, which they reached without" in finding.message
    assert finding.measures[1].name == "capacity, at least"


def test_silent_on_a_full_path_single_dips_and_coarse_rates() -> None:
    assert found(low_ns=0, low_share=0.0) == []
    assert found(low_share=0.2) == []
    assert found(low_ns=1_000 * MS) == []
    assert found(low_share=None) == []
    assert found(capacity_bps=0.5e6) == []


def test_not_judged_where_the_clock_was_set() -> None:
    stepped = DIRECTIONS.with_columns(clock_ahead_ns=pl.lit(3_600_000 * MS))
    (skipped,) = check(evidence(flows=FLOWS, directions=stepped, phases=phases(50.0, **LOW)))
    assert isinstance(skipped, Skipped)
    assert "the clock" in skipped.reason


def test_skips_without_data() -> None:
    assert isinstance(check(evidence())[0], Skipped)
