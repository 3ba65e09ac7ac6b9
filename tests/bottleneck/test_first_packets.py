"""Whether flows that begin find the queue that a long flow waits in."""

from typing import Any

import polars as pl

from l4strace.bottleneck import table as room
from l4strace.schema.words import CLASSIC_OR_PER_FLOW
from tests.support.frames import MS, capture, frame, rounds, stack
from tests.support.queues import marked_above, of

BASE_US = 10_000.0
QUEUE = [6_000.0 * (1 + n // 20 % 4) for n in range(200)]
"""Of the long flow: two seconds of rounds of 10 ms."""
BEGINS = range(25, 200, 20)
"""Rounds of the long flow at which a short one begins."""


def shown(first_waits: list[float], handshake: str = "full") -> dict[str, Any]:
    """The long flow's verdict beside short flows whose first packet waits so long."""
    short = [
        rounds(3, flow=n + 1, begin_ns=at * 10 * MS, rtt_min_us=BASE_US + wait)
        for n, (at, wait) in enumerate(zip(BEGINS, first_waits, strict=True))
    ]
    numbers = list(range(len(short) + 1))
    table = room.bottlenecks(
        capture(
            flows=frame("flows", flow=numbers, mode="accecn", handshake=handshake),
            directions=frame("directions", flow=numbers, data_ect1=1000),
            rounds=stack(of(QUEUE, ce_best=marked_above(QUEUE, 24_000, 1)), *short),
        )
    )
    return table.filter(pl.col("flow") == 0).row(0, named=True)


def test_flows_that_begin_in_an_empty_queue_show_one_for_each() -> None:
    row = shown([300.0] * len(BEGINS))
    assert row["kind"] == "per-flow"
    assert "did not wait" in row["reason"]


def test_flows_that_begin_in_the_queue_of_the_long_one_share_it() -> None:
    row = shown([QUEUE[at] for at in BEGINS])
    assert row["kind"] == "classic"
    assert "waited as long" in row["reason"]


def test_flows_whose_beginning_was_not_captured_show_nothing() -> None:
    assert shown([300.0] * len(BEGINS), handshake="none")["kind"] != "per-flow"


def test_a_shorter_path_does_not_pass_for_an_empty_queue() -> None:
    """It keeps its distance, however long the queue is."""
    nearer = [QUEUE[at] - 3_000.0 for at in BEGINS]
    assert shown(nearer)["kind"] != "per-flow"


def test_without_flows_that_begin_a_lone_flow_leaves_it_open() -> None:
    row = room.bottlenecks(
        capture(
            flows=frame("flows", mode="accecn"),
            directions=frame("directions", data_ect1=1000),
            rounds=of(QUEUE, ce_best=marked_above(QUEUE, 24_000, 1)),
        )
    ).row(0, named=True)
    assert row["kind"] == CLASSIC_OR_PER_FLOW
