"""What polls of a qdisc add up to, beside the packets of the same moments."""

from typing import Any

import polars as pl

from l4strace.derive import qdisc_polls
from tests.support import frames

POLL_NS = 10 * frames.ROUND_NS


def polls(**columns: Any) -> pl.DataFrame:
    values = {
        "ts_ns": [POLL_NS * n for n in range(4)],
        "kind": "dualpi2",
        "handle": "1:",
        "sent_packets": [100, 200, 300, 400],
        "drops": [0, 0, 5, 5],
    }
    return frames.frame("qdiscs", **(values | columns))


def test_counters_grow_between_polls_and_marks_add_up() -> None:
    found = polls(marks=[1, 2, 3, 7], step_marks=[0, 0, 10, 10], delay_us=[None, 4.0, 8.0, 6.0])
    (row,) = qdisc_polls.summary(frames.capture(qdiscs=found)).to_dicts()
    assert (row["polls"], row["sent"], row["drops"], row["marks"]) == (4, 300, 5, 16)
    assert (row["delay_us"], row["most_us"], row["packets_us"]) == (6.0, 8.0, None)


def test_a_qdisc_that_is_replaced_counts_from_zero() -> None:
    found = polls(sent_packets=[100, 200, 10, 60], drops=[7, 7, 0, 0])
    (row,) = qdisc_polls.summary(frames.capture(qdiscs=found)).to_dicts()
    assert (row["sent"], row["drops"], row["marks"]) == (150, 0, None)


def test_a_qdisc_that_sends_nothing_is_left_out() -> None:
    assert qdisc_polls.summary(frames.capture(qdiscs=polls(sent_packets=5))).is_empty()


def test_the_packets_of_the_same_moments_stand_beside() -> None:
    rounds = frames.rounds(25, queue_delay_us=[1000.0 * n for n in range(25)])
    capture = frames.capture(
        qdiscs=polls(),
        rounds=rounds,
        directions=frames.frame("directions", flow=[0], payload_bytes=[10**6]),
    )
    (row,) = qdisc_polls.summary(capture).to_dicts()
    # Polls in rounds 0, 10 and 20; the last comes after all rounds.
    assert row["packets_us"] == 10_000.0
