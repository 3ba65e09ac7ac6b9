"""Senders over UDP under heavy marks."""

from dataclasses import replace

import pytest

from l4strace.derive.senders import pressed
from l4strace.evidence import Evidence
from l4strace.model import Finding, Skipped
from l4strace.rules.l4s202_no_response_to_ce import check
from tests.support.frames import evidence, frame

ROUNDS, ROUND_NS = 100, 25_000_000


def scene(transport: str = "udp-prague", ce: int = 30, slower: int = 1) -> Evidence:
    """Rounds of 40 packets, later of fewer, of which ``ce`` are marked."""
    packets = [40] * 20 + [40 // slower] * (ROUNDS - 20)
    starts = [n * ROUND_NS for n in range(ROUNDS)]
    made = evidence(
        flows=frame("flows", transport=transport, vantage="client"),
        directions=frame("directions", data_ect1=1000, data_ect0=0, data_not_ect=0),
        rounds=frame(
            "rounds",
            round=list(range(ROUNDS)),
            round_trips=1,
            start_ns=starts,
            end_ns=[ns + ROUND_NS for ns in starts],
            sent_packets=packets,
            sent_bytes=[1000 * count for count in packets],
            acked_packets=packets,
            ce_best=[min(ce, count) for count in packets],
        ),
    )
    return replace(made, pressed=pressed.table(made))


def test_a_rate_that_goes_on_is_no_response() -> None:
    (row,) = pressed.table(scene()).to_dicts()
    assert row["before_bps"] == row["after_bps"] == pytest.approx(12.8e6)
    (found,) = check(scene())
    assert isinstance(found, Finding)
    assert "it sent 12.8 Mbit/s from then on and 12.8 Mbit/s before" in found.message


def test_half_of_the_rate_is_one() -> None:
    assert pressed.table(scene(slower=2)).height == 1
    assert check(scene(slower=2)) == []


def test_few_marks_ask_for_too_little() -> None:
    assert pressed.table(scene(ce=10)).is_empty()
    (found,) = check(scene(ce=10))
    assert found == Skipped("1 flow over UDP: too few CE marks to expect a halved rate")


def test_senders_over_tcp_have_laws() -> None:
    assert pressed.senders(scene("tcp")).is_empty()
    assert check(scene("tcp")) == []
