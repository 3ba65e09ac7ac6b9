"""One row a direction: state, cause, what shows them, confidence."""

from typing import Any

import polars as pl
import pytest

from l4strace.fallback.row import Row
from l4strace.fallback.table import rows, table
from l4strace.model import Confidence
from l4strace.pipeline import derive, with_fallback
from l4strace.schema import TABLES
from tests.support.frames import capture, frame, stack
from tests.support.phases import phases
from tests.support.scenes import (
    HIGH,
    bottleneck,
    laws,
    log,
    path_noise,
    steps,
    two_flows,
)

L4S, CLASSIC, HIDDEN = bottleneck("l4s"), bottleneck("classic"), bottleneck("unknown")
LIKELY = bottleneck("l4s", confidence=0.7)
BUGGY = {"build": "24-bit buggy"}
SLOW = bottleneck("l4s", rate_bps=4e6, serialisation_us=3028.0)
FLOOR, WRONG = laws("floor", references="correct"), laws("floor", references="wrong")
FLOOR_CUT = {"law": "floor", "cwnd_before": 40.0, "alpha": 0.04, "fraction": 0.3125}
CUTS = frame("cuts", ts_ns=list(range(20)), origin="kernel", classic_ecn=17.0, law="alpha/2")
DEEP = frame("cuts", ts_ns=list(range(20)), origin="kernel", classic_ecn=17.0, **FLOOR_CUT)
LATE = {"mdev_us": 1100.0, "score": [0.0] * 200 + [17.0] * 200, "score_fixed": 17.0}
UNMARKED = {"saw_ce": False, "delivered_ce": 0}
SHALLOW = bottleneck("shallow", confidence=0.6)
# A step of 1 ms for all flows: at times the score exceeds 8, 10 % is the median reduction.
MOSTLY = laws(None, fraction=0.1, ll_half_alpha=-60.0, ll_floor_always=-950.0, ll_half=-1400.0)
ZONES = {"@c_sticky": 485, "@l_sticky": 3, "@transition": 0}
INPUTS = {"@mdev_l": 2324, "@mdev_l_sum": 99132, "@sdepth_l": 2321, "@sdepth_l_sum": 122036}


def only(**tables: Any) -> Row:
    (row,) = rows(two_flows(**tables))
    return row


def replay(score: float = 17.0, **columns: object) -> pl.DataFrame:
    """The score that packets give."""
    return steps(origin="packets", score=None, score_fixed=score, **columns)


@pytest.mark.parametrize(
    ("state", "shown_by", "tables"),
    [
        ("acts", "log", {"detector": steps()}),
        ("observes", "log", {"detector": steps(), "cuts": CUTS}),
        ("observes", "log", {"detector": steps(), "kernel": log(delivered_ce=7)}),
        ("idle", "log", {"detector": steps(score=0.0)}),
        # The score passes 8 in the last step: some of the steps, none of the time.
        ("idle", "log", {"detector": steps(4, score=[0.0, 0.0, 0.0, 9.0])}),
        ("idle", "log", {"kernel": log(classic_ecn=0.0, **UNMARKED)}),
        ("absent", "log", {"kernel": log(classic_ecn=None)}),
        ("unknown", None, {"kernel": log(classic_ecn=None, event="poll")}),
        ("acts", "packets", {"laws": FLOOR, "detector": replay()}),
        ("idle", "packets", {"laws": laws("alpha/2")}),
        ("idle", "packets", {"bottlenecks": SHALLOW, "laws": MOSTLY}),
        ("unknown", None, {"bottlenecks": L4S, "laws": MOSTLY}),
        ("unknown", None, {"bottlenecks": SHALLOW, "laws": MOSTLY.with_columns(fraction=0.3)}),
        ("unknown", None, {"laws": laws("half")}),
        ("unknown", None, {"laws": laws("deep"), "bottlenecks": L4S, "detector": replay()}),
        ("unknown", None, {"laws": laws(None), "detector": replay(0.0)}),
        ("acts", "counters", {"aggregates": ZONES | INPUTS}),
        ("idle", "counters", {"aggregates": ZONES | {"@c_sticky": 0}}),
    ],
)
def test_each_state_has_what_shows_it(state: str, shown_by: str, tables: dict[str, Any]) -> None:
    row = only(**tables)
    assert (row.state, row.shown_by) == (state, shown_by)


@pytest.mark.parametrize(
    ("cause", "tables"),
    [
        ("classic AQM", {"bottlenecks": CLASSIC, "detector": steps()}),
        ("classic AQM", {"bottlenecks": bottleneck("per-flow"), "detector": steps()}),
        ("nothing", {"bottlenecks": L4S, "detector": steps()}),
        ("nothing", {"detector": steps()}),
        ("scaling bug", {"bottlenecks": L4S, "detector": steps(**BUGGY)}),
        ("scaling bug", {"bottlenecks": CLASSIC, "detector": steps(**BUGGY)}),
        ("path", {"bottlenecks": L4S, "detector": steps(**HIGH)}),
        ("path", {"bottlenecks": L4S, "detector": steps(**HIGH, **BUGGY)}),
        ("slow link", {"bottlenecks": SLOW, "detector": steps(**HIGH)}),
        (
            "jitter",
            {"bottlenecks": L4S, "detector": steps(**HIGH), "noise": path_noise(jitter_us=2e3)},
        ),
        (
            "changed path",
            {"bottlenecks": L4S, "detector": steps(400, **LATE), "phases": phases(50, 20)},
        ),
        (
            "slow link",
            {"bottlenecks": L4S, "detector": steps(400, **LATE), "phases": phases(50, 5)},
        ),
        (
            "long queue",
            {"bottlenecks": bottleneck("l4s", queue_delay_us=9e3), "detector": steps(**HIGH)},
        ),
        (
            "jitter",
            {"bottlenecks": HIDDEN, "detector": steps(**HIGH), "noise": path_noise(jitter_us=800)},
        ),
        ("unknown", {"bottlenecks": HIDDEN, "detector": steps(**HIGH)}),
        ("unknown", {"bottlenecks": bottleneck("fifo"), "detector": steps(**HIGH)}),
        (None, {"bottlenecks": CLASSIC, "detector": steps(score=0.0)}),
        ("nothing", {"aggregates": ZONES | INPUTS}),
        ("unknown", {"aggregates": ZONES}),
    ],
)
def test_a_recorded_score_has_its_cause(cause: str | None, tables: dict[str, Any]) -> None:
    assert only(**tables).justified_by == cause


@pytest.mark.parametrize(
    ("state", "cause", "place", "law", "score"),
    [
        ("acts", "classic AQM", CLASSIC, FLOOR, 17.0),
        ("acts", "nothing", L4S, WRONG, 0.0),
        ("acts", "slow link", SLOW, FLOOR, 17.0),
        ("acts", "path", L4S, FLOOR, 17.0),
        ("acts", "unknown", L4S, FLOOR, 0.0),
        ("acts", "unknown", HIDDEN, FLOOR, 17.0),
        # Windows of 4 packets at alpha/2 of 11 %: a packet more or less makes the misfire.
        ("unknown", None, L4S, WRONG.with_columns(window_packets=4.0, half_alpha=0.108), 0.0),
        ("unknown", "path", L4S, laws(None), 17.0),
        ("unknown", "slow link", SLOW, laws(None), 17.0),
        ("unknown", None, CLASSIC, laws(None), 17.0),
    ],
)
def test_packets_have_theirs(
    state: str, cause: str | None, place: pl.DataFrame, law: pl.DataFrame, score: float
) -> None:
    """In the state `unknown` the cause is what would take the path for classic."""
    row = only(bottlenecks=place, laws=law, detector=replay(score, mdev_us=1100.0))
    assert (row.state, row.justified_by) == (state, cause)


@pytest.mark.parametrize(
    ("confidence", "tables"),
    [
        (Confidence.HIGH, {"bottlenecks": L4S, "detector": steps()}),
        (
            Confidence.MEDIUM,
            {"bottlenecks": bottleneck("l4s", confidence=0.7), "detector": steps()},
        ),
        (Confidence.HIGH, {"bottlenecks": SLOW, "detector": steps(**HIGH)}),
        (Confidence.MEDIUM, {"bottlenecks": L4S, "detector": steps(**HIGH)}),
        (Confidence.LOW, {"bottlenecks": HIDDEN, "detector": steps(**HIGH)}),
        (Confidence.LOW, {"bottlenecks": LIKELY, "detector": steps(**HIGH)}),
        # Reductions in the log show that the fallback acts.
        (Confidence.MEDIUM, {"bottlenecks": LIKELY, "detector": steps(**HIGH), "cuts": DEEP}),
        (
            Confidence.MEDIUM,
            {"bottlenecks": LIKELY, "detector": steps(400, **LATE), "phases": phases(50, 20)},
        ),
        (Confidence.HIGH, {"bottlenecks": L4S, "laws": WRONG, "detector": replay(0.0)}),
        (Confidence.MEDIUM, {"bottlenecks": L4S, "laws": FLOOR, "detector": replay()}),
        (Confidence.LOW, {"laws": FLOOR.with_columns(by_host=True)}),
    ],
)
def test_a_row_is_as_sure_as_what_shows_it(confidence: Confidence, tables: dict[str, Any]) -> None:
    assert only(**tables).confidence is confidence


def test_a_log_is_asked_before_the_packets() -> None:
    row = only(laws=FLOOR, detector=stack(steps(score=0.0), replay()))
    assert (row.state, row.shown_by) == ("idle", "log")
    assert row.response is not None
    assert row.replayed is not None


def test_other_senders_have_no_row() -> None:
    """Flow 1 sends ECT(0): no law of its reductions is that of Prague."""
    assert rows(two_flows(laws=FLOOR.with_columns(flow=pl.lit(1, pl.UInt32)))) == ()


def test_a_replay_whose_score_is_not_known_is_none() -> None:
    hidden = replay().with_columns(score_fixed=pl.lit(None, pl.Float64))
    assert only(laws=FLOOR, detector=hidden).replayed is None


def test_the_time_above_8_is_that_between_steps() -> None:
    row = only(detector=steps(score=[0.0] * 20 + [17.0] * 40 + [0.0] * 40))
    assert row.recorded is not None
    assert (row.recorded.share, row.recorded.crossings) == (0.4, 2)
    assert row.recorded.time == pytest.approx(40 / 99)
    assert row.recorded.time_since == pytest.approx(40 / 79)


def test_marks_count_from_the_first_step_above_8_on() -> None:
    since = 20 * 25_000_000
    kernel = log(3, ts_ns=[0, since, since + 1], delivered_ce=[3, 5, 9])
    row = only(detector=steps(score=[0.0] * 20 + [17.0] * 80), kernel=kernel)
    assert row.use.marks_since == 4


def test_reductions_of_a_host_show_whether_its_score_is_used() -> None:
    table = steps(flow=[0] * 100 + [1] * 8, ts_ns=[*range(100), *range(8)], count=108)
    assert [row.state for row in rows(two_flows(detector=table, cuts=CUTS))] == [
        "observes",
        "observes",
    ]


def test_the_exported_table_has_the_rows_and_their_numbers() -> None:
    logged = two_flows(bottlenecks=L4S, detector=steps(**BUGGY))
    (row,) = with_fallback(logged, strict=True).fallback.to_dicts()
    assert row["state"] == "acts"
    assert (row["justified_by"], row["shown_by"], row["confidence"]) == (
        "scaling bug",
        "log",
        "high",
    )
    assert (row["above_share"], row["correct_share"], row["score_max"]) == (1.0, 0.0, 17.0)
    assert (row["mdev_us"], row["depth_us"], row["build"]) == (120.0, 400.0, "24-bit buggy")
    seen = two_flows(laws=FLOOR, detector=replay(score_fixed_lo=0.0))
    (row,) = table(seen).to_dicts()
    assert (row["shown_by"], row["marked_rounds"], row["half_alpha"]) == ("packets", 100, 0.02)
    assert (row["above_share"], row["above_most"]) == (0.0, 1.0)
    assert table(seen).schema == TABLES["fallback"].schema
    assert derive(capture()).fallback.is_empty()


@pytest.mark.parametrize(
    ("place", "packet_us"),
    [
        ({}, None),
        ({"bottlenecks": L4S}, 242.0),
        ({"bottlenecks": L4S, "phases": phases(4.0, 1.0)}, 12_112.0),  # the slowest phase
        ({"noise": path_noise(jitter_us=0.0)}, None),
    ],
)
def test_a_low_score_alone_is_in_the_table_only(
    place: dict[str, Any], packet_us: float | None
) -> None:
    seen = two_flows(detector=replay(0.0, mdev_us=90.0, score_fixed_hi=17.0), **place)
    assert rows(seen) == ()
    (row,) = table(seen).to_dicts()
    assert (row["state"], row["justified_by"], row["shown_by"]) == ("unknown", None, None)
    assert (row["confidence"], row["jitter_us"], row["packet_us"]) == ("low", 0.0, packet_us)
    assert (row["above_share"], row["above_most"], row["score_max"]) == (0.0, 1.0, 0.0)
    assert (row["mdev_us"], row["build"], row["marked_rounds"]) == (90.0, None, None)


def test_a_high_score_alone_says_what_would_explain_it() -> None:
    row = only(bottlenecks=SLOW, detector=replay(mdev_us=1100.0, score_fixed_lo=17.0))
    assert (row.state, row.justified_by, row.shown_by) == ("unknown", "slow link", None)
