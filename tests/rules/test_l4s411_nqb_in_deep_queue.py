"""Flows that ask for the low-latency queue and wait in a deep one."""

from typing import Any

import polars as pl
import pytest

from l4strace.evidence import Evidence
from l4strace.model import Finding, Severity, Skipped
from l4strace.rules.l4s411_nqb_in_deep_queue import check
from l4strace.schema.words import NQB
from tests.support.ends import path
from tests.support.frames import evidence, frame, stack

SECOND = 10**9
ASKS = {
    "nqb": {"dscp": NQB, "data_ect1": 0, "data_not_ect": 1000},
    "ect1": {"dscp": 0, "data_ect1": 1000, "data_not_ect": 0},
    "none": {"dscp": 0, "data_ect1": 0, "data_not_ect": 1000},
}


def scene(*flows: tuple[str, float], limited_by: str = "media", **last: int) -> Evidence:
    """Flows of one path with what each asks for, and its median wait in ms."""
    names, waits = [asks for asks, _ in flows], [1000 * ms for _, ms in flows]
    times = {"first_ns": 0, "last_ns": 10 * SECOND}

    def direction(flow: int, asks: str) -> pl.DataFrame:
        later: dict[str, Any] = last if flow else {}
        counts = ASKS[asks] | times | later
        return frame("directions", flow=flow, data_packets=1000, **counts)

    return evidence(
        flows=stack(
            *(
                frame("flows", flow=n, client="10.0.1.1", server="10.0.2.1", vantage="client")
                for n in range(len(flows))
            )
        ),
        directions=stack(*(direction(n, asks) for n, asks in enumerate(names))),
        rounds=frame("rounds", round=list(range(10)), limited_by=limited_by),
        paths=stack(*(path(flow=n, forward=True, owd_median_us=us) for n, us in enumerate(waits))),
    )


def test_fires_on_nqb_that_waits_with_a_classic_flow() -> None:
    (found,) = check(scene(("nqb", 15), ("none", 20)))
    assert isinstance(found, Finding)
    assert (found.variant, found.severity) == ("waits", Severity.NOTICE)
    (found,) = check(scene(("nqb", 15), ("none", 20), ("ect1", 1)))
    assert isinstance(found, Finding)
    assert found.severity == Severity.WARNING


def test_ect1_is_judged_where_another_shows_a_low_latency_queue() -> None:
    assert check(scene(("ect1", 15), ("none", 20))) == []
    (found,) = check(scene(("ect1", 15), ("none", 20), ("nqb", 1)))
    assert isinstance(found, Finding)
    assert found.message.startswith("Packets with ECT(1) wait 15 ms (median, threshold 10 ms)")


@pytest.mark.parametrize("limited_by", ["cwnd", "media"])
def test_alone_the_window_shows_who_fills_the_queue(limited_by: str) -> None:
    (found,) = check(scene(("nqb", 15), limited_by=limited_by))
    if limited_by == "cwnd":
        assert isinstance(found, Finding)
        assert found.variant == "builds"
    else:
        assert found == Skipped("no neighbor shows whose queue its packets wait in", 0)


def test_silent_on_short_waits_and_on_who_asks_for_nothing() -> None:
    assert check(scene(("nqb", 9), ("none", 20))) == []
    assert check(scene(("none", 15), ("none", 20))) == []


@pytest.mark.parametrize(("last_s", "variants"), [(5, ["waits"]), (4, [])])
def test_a_neighbor_sends_for_half_of_the_time(last_s: int, variants: list[str]) -> None:
    found = check(scene(("nqb", 15), ("none", 20), last_ns=last_s * SECOND))
    assert [one.variant for one in found if isinstance(one, Finding)] == variants


@pytest.mark.parametrize(("other", "variants"), [(30, ["waits"]), (31, []), (7.5, ["waits"])])
def test_waits_of_one_queue_are_alike(other: float, variants: list[str]) -> None:
    found = check(scene(("nqb", 15), ("none", other)))
    assert [one.variant for one in found if isinstance(one, Finding)] == variants


def test_one_capture_shows_no_wait() -> None:
    assert check(evidence()) == [Skipped("needs captures at both ends of the path")]
