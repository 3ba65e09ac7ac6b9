"""Whether the sender of a direction is Prague: its score is shown only then."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from l4strace.model import Analysis
from l4strace.page.case import Case
from l4strace.page.direction import Direction, rows_of
from l4strace.page.figures import queue, reductions
from tests.support.frames import evidence, frame, rounds
from tests.support.scenes import bottleneck, laws, log


def direction(*, ect1: int = 1000, cc: str | None = None, **tables: Any) -> Direction:
    run = evidence(
        sources=frame("sources", first_ns=0, last_ns=10**9),
        flows=frame("flows"),
        directions=frame(
            "directions", data_ect1=ect1, data_ect0=1000 - ect1, data_not_ect=0, cc=cc
        ),
        rounds=rounds(3),
        **tables,
    )
    (found,) = Case(run, Analysis(())).charted
    return found


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"kernel": log(3)}, True),
        ({"kernel": log(3, classic_ecn=None), "cc": "bbr", "laws": laws("alpha/2")}, False),
        ({"cc": "prague"}, True),
        ({"cc": "bbr", "laws": laws("alpha/2")}, False),
        ({"laws": laws("alpha/2")}, True),
        ({"laws": laws("floor")}, True),
        ({"laws": laws("none")}, False),
        ({"laws": laws(None)}, False),
        ({}, False),
    ],
)
def test_prague_is_known_by_score_or_name_and_likely_from_its_law(
    tables: dict[str, Any], expected: bool
) -> None:
    assert direction(**tables).prague is expected


def test_a_sender_of_ect0_is_no_prague() -> None:
    assert not direction(ect1=0, laws=laws("alpha/2")).prague


def test_a_chart_says_no_more_than_the_packets_show() -> None:
    """Lab runs s1401-082 and s1401-149: a delay of jitter, a step below one packet's time."""
    place = bottleneck("l4s", marking_delay_us=2_030.0, serialisation_us=4_200.0)
    cuts = frame("cuts", origin="packets", fraction=0.3, law="floor", cause="ce")
    noisy = frame("noise", common_us=2_860.0)
    shown = direction(bottlenecks=place, noise=noisy, cuts=cuts)
    assert queue.describe(shown).endswith(
        "marking starts below 4.2 ms (one packet). Jitter of 2.86 ms is part of it."
    )
    assert reductions.describe(shown).endswith("estimated from packets: 1 as the fallback's floor.")
    calm = direction(bottlenecks=place, noise=frame("noise", common_us=300.0))
    assert "Jitter" not in queue.describe(calm)


def test_a_reduction_that_fits_a_law_only_after_growth_is_not_counted_as_by_it() -> None:
    """Lab run s2501-115: a log without a sample for each ACK shows the window late."""
    late = frame(
        "cuts",
        origin="kernel",
        cause="ce",
        law="none",
        alpha=0.02,
        classic_ecn=17.0,
        ts_ns=5,
        cwnd_before=24.0,
        cwnd_after=17.4,
        fraction=0.275,
        fraction_lo=0.274,
        fraction_hi=0.276,
    )
    shown = direction(kernel=log(3), cuts=late)
    assert shown.cuts["law"].to_list() == ["none"]
    assert shown.reductions["law"].to_list() == ["floor"]
    assert reductions.describe(shown) == (
        "1 reduction recorded by the kernel: 1 as the fallback's floor if the window grew before "
        "the log shows it."
    )


def test_rows_of_a_direction_need_not_lie_together() -> None:
    keys = {"source": [0, 0, 1, 0, 0], "flow": [1, 1, 1, 2, 1], "forward": [True] * 4 + [False]}
    table = pl.DataFrame(keys | {"row": range(5)})
    assert rows_of(table, 1, True)["row"].to_list() == [0, 1, 2]
    assert rows_of(table.reverse(), 1, True, 0)["row"].to_list() == [1, 0]
    apart = pl.concat([table, table])
    assert rows_of(apart, 1, True, 0)["row"].to_list() == [0, 1, 0, 1]
    assert rows_of(table, 3, True).schema == table.schema
