"""Marks that a sender's own bursts cause."""

from typing import Any

import pytest

from l4strace.evidence import Evidence
from l4strace.rules.l4s211_own_bursts_marked import RULE
from tests.support.ends import findings, path, recorded, sent

PLAIN = {
    "matched": 10_000,
    "ect1_to_ce": 1300,
    "long_bursts": 1500,
    "burst_heads_marked": 30,
    "burst_tails": 1700,
    "burst_tails_marked": 1000,
    "burst_tail_frame": 25,
}


def run(transport: str = "quic", **columns: Any) -> Evidence:
    return sent([1, 10_000], transport, paths=path(**(PLAIN | columns)))


def test_fires_on_a_recorded_sender_whose_bursts_are_marked():
    (found,) = findings(RULE, recorded("pq1"))
    assert "43 bursts of three packets and more, 55 % of the third" in found.message
    assert found.frames == (25,)


def test_fires_where_third_packets_are_marked_and_others_are_not():
    (found,) = findings(RULE, run())
    assert "59 % of the third and later packets are CE, 1 % of the first two" in found.message


def test_marks_of_ect0_count_as_well():
    columns = {"ect1_to_ce": 0, "ect0_to_ce": 1300}
    (found,) = findings(RULE, run(**columns))
    assert found.measures[1].value == 1300


def test_silent_on_a_recorded_sender_that_paces():
    assert findings(RULE, recorded("up1")) == []
    assert findings(RULE, recorded("pq1", "a")) == []


@pytest.mark.parametrize(
    "columns",
    [
        {"burst_tails_marked": 9, "burst_heads_marked": 0, "ect1_to_ce": 9},  # by chance
        {"burst_heads_marked": 1500, "ect1_to_ce": 2600},  # the queue was there before
        {"ect1_to_ce": 2600},  # so it was for all others
        {"burst_tails": 700, "burst_tails_marked": 400},  # most marks come without bursts
        {"burst_heads_marked": 1500, "ect1_to_ce": 0, "ect0_to_ce": 2600},  # classic, all alike
        {"transport": "tcp"},
        {"transport": "udp"},  # a tunnel: the bursts of the flow in it
    ],
)
def test_silent_where_something_else_causes_the_marks(columns: dict[str, Any]):
    assert findings(RULE, run(**columns)) == []


def test_one_capture_is_not_judged():
    (skipped,) = RULE.check(recorded("pq1", "a"))
    assert "both ends" in skipped.reason
