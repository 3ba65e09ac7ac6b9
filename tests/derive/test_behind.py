"""Captures behind a queue: marks and losses that come before them."""

import polars as pl
import pytest

from l4strace.derive import behind
from l4strace.derive.senders import cuts
from l4strace.evidence import Capture
from tests.support.frames import capture, frame, rounds


def run(made: pl.DataFrame | None = None, **direction: object) -> Capture:
    given = rounds(40) if made is None else made
    return capture(flows=frame("flows"), directions=frame("directions", **direction), rounds=given)


@pytest.mark.parametrize(
    ("direction", "is_so"),
    [
        ({"data_ce": 50, "ce_fed_back_best": 100}, True),
        ({"data_ce": 49, "ce_fed_back_best": 100}, False),
        ({"data_ce": 0, "ce_fed_back_best": 0}, False),
        ({"lost_before": 50, "retransmits": 100}, True),
        ({"lost_before": 49, "retransmits": 100}, False),
        ({"lost_before": None, "retransmits": None}, False),
    ],
)
def test_most_marks_or_losses_come_before_the_capture(
    direction: dict[str, object], is_so: bool
) -> None:
    assert (behind.directions(run(**direction)).height == 1) is is_so


def test_under_classic_ecn_the_fewer_of_echoes_and_answers_count() -> None:
    """Simulated runs s6436-019 and s6436-008: 45 marks, 209 rounds with ECE, and CWR of losses."""
    classic = {"data_ce": 45, "ce_fed_back_best": None}
    long = rounds(400, ece_acks=[1] * 209 + [0] * 191)
    short = rounds(400, ece_acks=[1] * 35 + [0] * 365)
    for made, cwr, marks in ((long, 62, 62), (short, 330, 35)):
        found = behind.counts(run(made, cwr_packets=cwr, **classic))
        assert found["path_reported"].to_list() == [marks]


def test_no_window_shows_there() -> None:
    """The fallback "does not act" as Reno halved its window (simulated run s6436-040)."""
    flight = [20, 20, 20, 10, 10, 10, 10, 10] * 8
    made = rounds(
        64,
        ce_best=[0, 0, 1, 0, 0, 0, 0, 0] * 8,
        inflight_max_packets=flight,
        acked_packets=flight,
        limited_by="cwnd",
        alpha=0.02,
    )
    counted = {"data_ect1": 1000, "ce_fed_back_best": 8}
    seen, unseen = run(made, **counted), run(made, data_ce=8, **counted)
    assert (cuts.table(seen).height, cuts.table(unseen).height) == (8, 0)


def test_echoes_are_kept_there_as_cwr_answers_them() -> None:
    """L4S201 judges a sender that sets no CWR wherever it is captured."""
    flight = [20, 20, 20, 10, 10, 10, 10, 10] * 8
    made = rounds(
        64,
        ce_best=None,
        ece_acks=[0, 0, 1, 0, 0, 0, 0, 0] * 8,
        inflight_max_packets=flight,
        acked_packets=flight,
        limited_by="cwnd",
    )
    found = cuts.table(run(made, data_ce=8, cwr_packets=0, ce_fed_back_best=None))
    assert found["cause"].to_list() == ["ece"] * 8
