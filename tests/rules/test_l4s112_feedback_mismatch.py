"""Marks seen against marks reported."""

from dataclasses import replace

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Severity, Skipped
from l4strace.rules.l4s112_feedback_mismatch import check
from tests.support.frames import evidence, frame


def at(vantage: str, ce: int, low: int, high: int) -> Evidence:
    rows = frame("directions", ce=ce, ce_fed_back_lo=low, ce_fed_back_hi=high)
    return evidence(flows=frame("flows", vantage=vantage), directions=rows)


def test_fires_when_less_is_reported_than_arrived():
    (found,) = check(at("server", 500, 100, 120))
    assert found.severity is Severity.WARNING
    assert "reported 100 to 120" in found.message


def test_fires_when_more_is_reported():
    assert len(check(at("server", 100, 500, 500))) == 1


def test_silent_within_the_bounds_and_the_last_round_trip():
    assert check(at("server", 500, 490, 510)) == []
    assert check(at("server", 500, 492, 492)) == []


def test_skipped_at_the_sender():
    (skipped,) = check(at("client", 0, 100, 120))
    assert isinstance(skipped, Skipped)


def test_skipped_where_the_snapshot_length_cut_the_options_of_the_acks():
    """Without AccECN option and SACK a turn of the counter is not seen: 24 marks are missing."""
    scene = at("server", 347, 323, 323)
    acks = frame("directions", forward=False, options_cut=6000)
    (skipped,) = check(replace(scene, directions=pl.concat([scene.directions, acks])))
    assert isinstance(skipped, Skipped)
    assert "snapshot length" in skipped.reason


def test_counts_over_udp_are_compared_too_but_for_a_receiver_that_reports_none():
    """That it reports none is L4S119."""
    for reported, fires in ((100, True), (495, False), (0, False)):
        scene = at("server", 500, reported, reported)
        quic = scene.flows.with_columns(transport=pl.lit("quic"), mode=pl.lit(None, pl.String))
        found = check(replace(scene, flows=quic))
        assert len(found) == fires
        assert all("ACE" not in one.action for one in found)
