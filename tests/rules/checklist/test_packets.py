"""What packets alone show of a sender."""

from typing import Any

import polars as pl
import pytest

from l4strace.model import Confidence, Finding, Severity
from l4strace.rules.checklist import packets
from l4strace.rules.checklist.sender import Answer, Sender, senders
from tests.support.frames import evidence, frame, rounds
from tests.support.scenes import bottleneck

PLAIN = {"data_ect1": 1000, "data_ect0": 0, "data_not_ect": 0, "packets": 1004, "not_ect": 0}


def sender(
    *rules: str, flow: dict[str, Any] | None = None, tables: dict[str, pl.DataFrame] | None = None,
    **columns: Any,
) -> Sender:  # fmt: skip
    run = evidence(
        flows=frame("flows", syn_ecn=1, **(flow or {})),
        directions=frame("directions", **(PLAIN | columns)),
        **(tables or {}),
    )
    found = [Finding(Severity.ERROR, Confidence.HIGH, "m", rule=rule, flow=0) for rule in rules]
    (one,) = senders(run, found)
    return one


def test_data_must_leave_as_ect1() -> None:
    assert packets.ect1(sender())[0] == "pass"
    mixed = {"data_ect1": 600, "data_not_ect": 400}
    assert packets.ect1(sender(**mixed)) == (
        "fail",
        "600 of 1,000 data packets left the sender as ECT(1).",
    )
    # Elsewhere the path may have changed them.
    assert packets.ect1(sender(flow={"vantage": "server"}, **mixed))[0] == "not shown"


@pytest.mark.parametrize(
    ("mode", "rules", "marks", "verdict"),
    [
        ("accecn", (), 7, "pass"),
        ("accecn", (), 0, "pass"),
        ("accecn", ("L4S108",), 7, "not shown"),
        ("classic", (), 7, "fail"),
        ("unknown", (), 7, "not shown"),
    ],
)
def test_feedback_needs_accecn(mode: str, rules: tuple[str, ...], marks: int, verdict: str) -> None:
    assert (
        packets.feedback(sender(*rules, flow={"mode": mode}, ce_fed_back_best=marks))[0] == verdict
    )


def burst(size: int, *rules: str, rate: float = 50e6, **columns: Any) -> Answer:
    tables = {
        "rounds": rounds(40, burst_bytes=size),
        "bottlenecks": bottleneck("l4s", rate_bps=rate),
    }
    return packets.bursts(sender(*rules, tables=tables, **columns))


def test_bursts_are_judged_as_time_at_the_rate_of_the_path() -> None:
    assert burst(1500) == ("pass", "The median burst of 40 round trips lasts 240 us at 50 Mbit/s.")
    assert burst(15_000, "L4S206")[0] == "fail"
    assert burst(3000)[0] == "not shown"
    assert burst(1500, super_packets=3)[0] == "not shown"
    assert packets.bursts(sender())[0] == "not shown"


def test_control_packets_must_be_ect() -> None:
    assert packets.control(sender())[0] == "pass"
    assert packets.control(sender(not_ect=3)) == (
        "fail",
        "1 of 4 packets without data left the sender as ECT.",
    )
    assert packets.control(sender(packets=1000))[0] == "not shown"
    assert packets.control(sender(flow={"vantage": "middle"}))[0] == "not shown"


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({"dscp": 0}, "not shown"),
        ({"dscp": None}, "not shown"),
        ({"dscp": 45}, "pass"),
        # Alone on a path, a sender that its application keeps low has the rate of all flows.
        ({"dscp": 45, "payload_bytes": 6_250_000}, "pass"),
    ],
)
def test_nqb_is_judged_by_bursts_where_it_is_asked_for(
    columns: dict[str, Any], verdict: str
) -> None:
    tables = {
        "rounds": rounds(40, burst_bytes=1500),
        "bottlenecks": bottleneck("l4s", rate_bps=50e6),
    }
    low = {"payload_bytes": 100_000, "first_ns": 0, "last_ns": 10**9}
    assert packets.nqb(sender(tables=tables, **(low | columns)))[0] == verdict
    assert packets.nqb(sender(**(low | columns)))[0] != "fail"


def test_nqb_fails_on_bursts_and_is_unknown_away_from_the_sender() -> None:
    low = {"dscp": 45, "payload_bytes": 100_000, "first_ns": 0, "last_ns": 10**9}
    tables = {
        "rounds": rounds(40, burst_bytes=15_000),
        "bottlenecks": bottleneck("l4s", rate_bps=50e6),
    }
    assert packets.nqb(sender("L4S206", tables=tables, **low))[0] == "fail"
    assert packets.nqb(sender(flow={"vantage": "server"}, **low))[0] == "not shown"


def test_tolerance_of_reordering_never_passes_by_its_absence() -> None:
    assert packets.loss_in_time(sender())[0] == "not shown"
    late = sender(tables={"noise": frame("noise", late_packets=90)})
    assert packets.loss_in_time(late)[1].startswith("90 packets arrived late, with 0 retransm")
