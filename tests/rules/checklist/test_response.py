"""How a sender responds."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Severity
from l4strace.rules.checklist import response
from l4strace.rules.checklist.sender import Sender, senders
from l4strace.rules.support import logged_reductions
from tests.support.frames import MS, evidence, frame, stack
from tests.support.scenes import bottleneck, laws, log
from tests.support.sender_logs import marks, saw, scene

Tables = dict[str, pl.DataFrame]


def run(**tables: pl.DataFrame) -> Evidence:
    plain: Tables = {"flows": frame("flows"), "directions": frame("directions", data_ect1=1000)}
    return evidence(**(plain | tables))


def sender(*rules: str, **tables: pl.DataFrame) -> Sender:
    found = [Finding(Severity.ERROR, Confidence.HIGH, "m", rule=rule, flow=0) for rule in rules]
    return next(senders(run(**tables), found))


@pytest.mark.parametrize(
    ("law", "verdict"),
    [("alpha/2", "pass"), ("floor", "not shown"), ("half", "fail"), ("none", "fail"),
     (None, "not shown")],
)  # fmt: skip
def test_a_scalable_response_follows_alpha(law: str | None, verdict: str) -> None:
    assert response.scalable(sender(laws=laws(law)))[0] == verdict
    assert response.scalable(sender("L4S202", laws=laws(law)))[0] == "fail"


def test_over_udp_the_replay_or_what_marks_asked_for_shows_it() -> None:
    flows = frame("flows", transport="udp-prague")
    trips = {
        "round": list(range(40)),
        "round_trips": 1,
        "window_packets": [20 - trip % 2 for trip in range(40)],
        "inflight_max_packets": [20 - trip % 2 for trip in range(40)],
        "reductions": [1 + trip // 2 for trip in range(40)],
        "empty_reductions": 0,
    }
    follows = frame("udp_round_trips", **trips)
    assert response.scalable(sender(flows=flows, udp_round_trips=follows)) == (
        "pass",
        "The data in flight is the window of UDP Prague's controller, replayed from the feedback, "
        "in 100 % of 40 round trips with 19 reductions.",
    )
    assert response.scalable(sender("L4S202", flows=flows, udp_round_trips=follows))[0] == "fail"
    assert response.scalable(sender(flows=flows))[0] == "not shown"
    for after, verdict in ((4e6, "pass"), (6e6, "not shown")):
        pressed = frame("pressed", before_bps=1e7, after_bps=after)
        answer, fact = response.scalable(sender(flows=flows, pressed=pressed))
        assert (answer, fact[:34]) == (verdict, "Marks asked for half of the rate: ")


def test_over_udp_the_log_of_the_sender_shows_it_too() -> None:
    ce = [20 * marked for marked in marks(30)]
    for fraction, verdict in ((0.06, "pass"), (0.03, "not shown")):
        (found,) = senders(scene(saw(30, fraction), ce), ())
        assert response.scalable(found)[0] == verdict
    (found,) = senders(scene(saw(30, 0.06), ce), ())
    assert response.scalable(found)[1] == (
        "Its log shows 30 reductions after CE, by 6 % in the median; alpha/2 is at most 7.8 %."
    )
    classic = Finding(
        Severity.WARNING,
        Confidence.MEDIUM,
        "Like a classic one.",
        rule="L4S308",
        flow=0,
        variant=logged_reductions.VARIANT,
    )
    (found,) = senders(scene(saw(30, 0.3), ce), [classic])
    assert response.scalable(found) == ("fail", "Like a classic one.")


def losses(count: int, fraction: float, **columns: Any) -> pl.DataFrame:
    times = [i * 100 * MS for i in range(count)]
    plain = {"ts_ns": times, "cause": "loss", "cwnd_before": 40.0, "fraction": fraction}
    return frame("cuts", **(plain | columns))


def test_loss_must_cost_as_much_as_cubic_gives_up() -> None:
    assert response.loss(sender(cuts=losses(5, 0.5)))[0] == "pass"
    assert response.loss(sender(cuts=losses(5, 0.1)))[0] == "not shown"
    assert response.loss(sender(cuts=losses(2, 0.5)))[0] == "not shown"
    assert response.loss(sender())[0] == "not shown"
    assert response.loss(sender("L4S203", cuts=losses(5, 0.5)))[0] == "fail"


def test_retransmissions_after_reordering_show_nothing_unless_the_kernel_logged_them() -> None:
    noise = frame("noise", late_packets=9)
    assert response.loss(sender(cuts=losses(5, 0.5), noise=noise))[0] == "not shown"
    logged = losses(5, 0.5, origin="kernel", source=1)
    assert response.loss(sender(cuts=logged, noise=noise))[0] == "pass"


def test_packets_alone_show_a_missing_fallback() -> None:
    behind = {"bottlenecks": bottleneck("classic"), "laws": laws("alpha/2")}
    assert response.fallback(sender("L4S308", **behind))[0] == "fail"
    suited = sender("L4S308", **behind)
    mild = replace(suited, findings=(replace(suited.findings[0], severity=Severity.INFO),))
    assert response.fallback(mild)[0] == "not shown"


@pytest.mark.parametrize(
    ("kind", "rules", "law", "verdict"),
    [
        ("l4s", ("L4S301",), "floor", "not shown"),
        ("fifo", (), None, "not shown"),
        ("classic", ("L4S309",), None, "pass"),
        ("classic", (), "floor", "pass"),
        ("classic", (), "alpha/2", "not shown"),
        ("classic", ("L4S306",), "alpha/2", "fail"),
        ("classic", ("L4S305",), "alpha/2", "fail"),
        ("shallow", ("L4S304",), "alpha/2", "fail"),
    ],
)
def test_the_fallback_shows_only_behind_a_classic_bottleneck(
    kind: str, rules: tuple[str, ...], law: str | None, verdict: str
) -> None:
    one = sender(*rules, bottlenecks=bottleneck(kind), laws=laws(law))
    assert response.fallback(one)[0] == verdict


@pytest.mark.parametrize(
    ("other_rtt", "rate", "verdict"),
    [(40e3, 1.5, "pass"), (40e3, 4.5, "fail"), (40e3, 3.0, "not shown"), (11e3, 4.5, "not shown"),
     (2.5e3, 0.7, "pass")],
)  # fmt: skip
def test_rates_must_differ_less_than_the_rtts(other_rtt: float, rate: float, verdict: str) -> None:
    both = {
        "flows": frame("flows", flow=[0, 1]),
        "directions": frame(
            "directions", flow=[0, 1], data_ect1=1000, rtt_min_us=[10e3, other_rtt]
        ),
        "coexistence": frame(
            "coexistence", flow=0, other_flow=1, rate_bps=rate * 1e7, other_rate_bps=1e7
        ),
    }
    one = next(one for one in senders(run(**both), ()) if one.flow == 0)
    assert response.rtt(one)[0] == verdict


def test_a_window_below_two_packets_must_last() -> None:
    def windows(below: int) -> str:
        sizes = [int(1.5 * (1 << 20))] * below + [8 << 20] * 30
        return response.small_window(sender(kernel=log(below + 30, frac_cwnd=sizes)))[0]

    assert windows(25) == "pass"
    assert windows(3) == "not shown"
    assert response.small_window(sender())[0] == "not shown"


def phases(*rows: dict[str, Any]) -> Tables:
    plain = {"path": "10.0.1.0/24>10.0.3.0/24", "base_rtt_us": 10_000.0, "capacity_shown": True}
    return {
        "phases": stack(
            *(frame("phases", **(plain | {"phase": i} | row)) for i, row in enumerate(rows))
        )
    }


def test_a_start_is_fast_beside_a_bare_slow_start() -> None:
    def filled(rounds: int, *rules: str) -> str:
        tables = phases({"capacity_bps": 50e6, "ramp_ns": rounds * 10 * MS})
        return response.start(sender(*rules, **tables))[0]

    assert filled(6) == "pass"
    assert filled(200) == "not shown"
    assert filled(6, "L4S204") == "not shown"
    assert filled(6, "L4S505") == "fail"
    assert response.start(sender())[0] == "not shown"


def test_an_increase_is_faster_than_a_packet_a_round_trip() -> None:
    def grown(rounds: int, least: float = 25e6) -> str:
        steps = phases(
            {"capacity_bps": least},
            {"capacity_bps": 50e6, "changed": "capacity", "ramp_ns": rounds * 10 * MS},
        )
        return response.increase(sender(**steps))[0]

    assert grown(5) == "pass"
    assert grown(100) == "fail"
    assert grown(15) == "not shown"
    assert grown(5, least=48e6) == "not shown"
    assert response.increase(sender())[0] == "not shown"


@pytest.mark.parametrize(
    ("severity", "confidence", "words"),
    [
        (Severity.WARNING, Confidence.MEDIUM, "the fallback acts nevertheless"),
        (Severity.NOTICE, Confidence.MEDIUM, "the score is high nevertheless"),
        (Severity.NOTICE, Confidence.LOW, "no reduction shows a fallback"),
    ],
)
def test_a_score_that_only_packets_suggest_is_no_fallback_that_acts(
    severity: Severity, confidence: Confidence, words: str
) -> None:
    """Lab run s1401-082: "the fallback acts nevertheless", of a sender that never used it."""
    high = Finding(severity, confidence, "m", rule="L4S303", flow=0)
    (one,) = senders(run(bottlenecks=bottleneck("l4s")), [high])
    assert words in response.fallback(one)[1]
