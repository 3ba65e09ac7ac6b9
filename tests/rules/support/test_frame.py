"""The frame of a verdict: bottleneck, sharing, fallback."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Severity
from l4strace.pipeline import judge
from l4strace.rules.support.frame import frame as framed
from tests.support.frames import MS, evidence, frame, stack
from tests.support.scenes import DIRECTIONS, FLOWS, bottleneck, log, starving, steps


def scene(**tables: pl.DataFrame) -> Evidence:
    return evidence(**({"flows": FLOWS, "directions": DIRECTIONS} | tables))


def finding(rule: str) -> Finding:
    return Finding(rule, Severity.ERROR, Confidence.HIGH, f"message of {rule}", flow=0)


def test_no_packets_no_frame() -> None:
    assert framed(evidence(), ()) is None


def test_each_kind_of_bottleneck_names_its_flows() -> None:
    other = bottleneck("fifo", marking_delay_us=None, confidence=0.5).with_columns(
        flow=pl.lit(1, pl.UInt32)
    )
    both = framed(scene(bottlenecks=stack(bottleneck("l4s"), other)), ())
    assert both is not None
    assert both.limits == (
        "L4S AQM, marking at 400 us of queue delay (flow 0); possibly FIFO (flow 1)."
    )


def test_an_unknown_bottleneck_gives_its_reason() -> None:
    hidden = bottleneck(
        "unknown",
        marking_delay_us=None,
        confidence=0.0,
        reason="Cannot be determined: 6 ms of jitter hides the queue.",
    )
    shown = framed(scene(bottlenecks=hidden), ())
    assert shown is not None
    assert shown.limits == "Unknown: 6 ms of jitter hides the queue."
    nothing = framed(scene(), ())
    assert nothing is not None
    assert nothing.limits == "Unknown: no flow has enough round trips with data."


def test_starvation_is_stated_with_the_share_since_it_began() -> None:
    starves = framed(scene(coexistence=starving(1, 0)), ())
    assert starves is not None
    assert starves.starves
    assert starves.sharing == (
        "Flow 1 starves from t=2.0 s: 5 Mbit/s beside 45 Mbit/s of flow 0 (10 % of both)."
    )


def test_fair_rates_are_stated() -> None:
    fed = starving(1, 0).with_columns(starved_since_ns=None, jain=0.98)
    shares = framed(scene(coexistence=fed), ())
    assert shares is not None
    assert not shares.starves
    assert shares.sharing == (
        "Flow 0 has 45 Mbit/s, flow 1 5 Mbit/s while both send (Jain's index 0.98)."
    )


def test_a_flow_that_asks_for_no_more_has_no_unfair_share() -> None:
    """Lab run s1401-014: 1.98 beside 7.6 Mbit/s, "Jain's index 0.74", of a flow paced to that."""
    held = pl.Series([0.64, 0.01])
    paced = starving(1, 0).with_columns(starved_since_ns=None, held_back=held)
    shares = framed(scene(coexistence=paced), ())
    assert shares is not None
    assert shares.sharing == (
        "Flow 0 has 45 Mbit/s, flow 1 5 Mbit/s while both send "
        "(application or receive window limits flow 1)."
    )


def short_flows(count: int, **columns: object) -> dict[str, pl.DataFrame]:
    """A long flow 0 and ``count`` flows of 200 kB."""
    numbers = list(range(1, count + 1))
    flows = frame("flows", flow=[0, *numbers], client_port=[40001 + n for n in (0, *numbers)])
    plain = {"ended": "fin"}
    sizes = {
        "payload_bytes": [50_000_000] + [200_000] * count,
        "last_ns": [20_000 * MS] + [150 * MS] * count,
        "data_ect1": 139,
    }
    return {
        "flows": flows.with_columns(**{k: pl.lit(v) for k, v in plain.items()}),
        "directions": frame("directions", flow=[0, *numbers], **(sizes | columns)),
    }


def test_short_flows_are_judged_together_and_the_long_one_is_not_alone() -> None:
    shown = framed(evidence(**short_flows(9)), ())
    assert shown is not None
    assert shown.sharing == (
        "Flow 0 sends beside short flows, 20 Mbit/s; 9 short flows of 200 kB (port 5201) "
        "completed in 150 ms (median), 150 ms (P99)."
    )
    few = framed(evidence(**short_flows(2)), ())
    assert few is not None
    assert few.sharing == "Flow 0 is the only large flow, 20 Mbit/s."


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("L4S301", "Misfires (flow 0); the kernel's score is above 8 in 100 % of its steps "
         "(0 % with correct thresholds)."),
        ("L4S309", "Active behind a classic AQM, as it should be (flow 0); the kernel's score is "
         "above 8 in 100 % of its steps (0 % with correct thresholds)."),
    ],
)  # fmt: skip
def test_the_fallback_is_what_the_rules_found(rule: str, words: str) -> None:
    found = framed(scene(detector=steps()), (finding(rule),))
    assert found is not None
    assert found.fallback == words


def test_a_score_that_no_reduction_uses_does_not_misfire() -> None:
    idle = Finding("L4S301", Severity.NOTICE, Confidence.MEDIUM, "message", flow=0)
    found = framed(scene(), (idle,))
    assert found is not None
    assert found.fallback == (
        "The score is higher than the path explains, yet no reduction uses it (flow 0)."
    )


def test_what_packets_only_suggest_is_not_stated() -> None:
    """Of a run whose fallback only observed it said "active, and conditions explain it"."""
    suggested = Finding("L4S303", Severity.NOTICE, Confidence.LOW, "message", flow=0)
    found = framed(scene(), (suggested,))
    assert found is not None
    assert found.fallback == (
        "Unknown: Prague's detector would take this path for a classic AQM (flow 0)."
    )


def test_without_a_finding_the_recorded_score_answers() -> None:
    calm = framed(scene(detector=steps(score=2.5)), ())
    assert calm is not None
    assert calm.fallback == "The kernel's score never exceeds 2.5 (threshold 8)."
    unknown = framed(scene(), ())
    assert unknown is not None
    assert unknown.fallback.startswith("Unknown: no kernel log")
    plain = framed(scene(directions=DIRECTIONS.with_columns(data_ect1=pl.lit(0, pl.UInt64))), ())
    assert plain is not None
    # Not "No Prague flow": one that the server refused AccECN sends no ECT(1) (run s8103-105).
    assert plain.fallback.startswith("Nothing to judge: no data packet carries ECT(1)")


def test_packets_alone_answer_with_the_first_fact_of_their_finding() -> None:
    long = "An ECT(1) sender does not fall back behind a classic AQM: " + "so much for the why " * 4
    found = Finding("L4S308", Severity.WARNING, Confidence.MEDIUM, f"{long}; flow 3 starves.")
    shown = framed(scene(), (found,))
    assert shown is not None
    assert shown.fallback == "An ECT(1) sender does not fall back behind a classic AQM."


def test_a_recorded_score_is_not_called_unknown() -> None:
    """Lab run s1401-082: "Unknown: ...; the kernel's score is above 8 in 70 % of its steps"."""
    suggested = Finding("L4S303", Severity.NOTICE, Confidence.LOW, "message", flow=0)
    found = framed(scene(detector=steps(score_fixed=17.0)), (suggested,))
    assert found is not None
    assert found.fallback == (
        "Conditions of the path keep the score up, whatever the AQM is (flow 0); the kernel's "
        "score is above 8 in 100 % of its steps."
    )


@pytest.mark.parametrize(
    ("place", "score_fixed", "right"),
    [
        (bottleneck("classic"), 17.0, True),
        (bottleneck("per-flow", marking_delay_us=6_000.0), 17.0, True),
        (bottleneck("per-flow", marking_delay_us=900.0), 17.0, False),
        (bottleneck("classic"), 0.0, False),
        (bottleneck("classic", confidence=0.5), 17.0, False),
        (bottleneck("l4s"), 17.0, False),
    ],
)
def test_a_score_that_is_right_is_said_to_be(
    place: pl.DataFrame, score_fixed: float, right: bool
) -> None:
    """Simulated run s8101-203: 100 % of the steps behind PIE, and not a word on whether it should.

    The scaling bug leaves no finding but its own there.
    """
    found = framed(scene(bottlenecks=place, detector=steps(score_fixed=score_fixed)), ())
    assert found is not None
    assert ("its steps, as intended behind this bottleneck." in found.fallback) == right


def test_the_steps_of_short_flows_do_not_dilute_those_of_a_long_one() -> None:
    """Lab run s2501-046: 70 % in the finding, 47 % in the frame."""
    short = steps(6, score=0.0, score_after=0.0).with_columns(flow=pl.lit(1, pl.UInt32))
    found = framed(scene(detector=stack(steps(score_fixed=17.0), short)), ())
    assert found is not None
    assert "above 8 in 100 % of its steps" in found.fallback
    alone = framed(scene(detector=short), ())
    assert alone is not None
    assert alone.fallback == "The kernel's score is 0 throughout: no fallback acts."


def test_each_flow_without_a_verdict_has_a_reason_that_holds_for_it() -> None:
    """Lab run s2501-080: "Not-ECT packets cannot be marked", of an ECT(1) flow, too."""
    nothing = {"kind": "unknown", "marking_delay_us": None, "confidence": 0.0}
    both = stack(
        frame("bottlenecks", **nothing, flow=0, reason="Not-ECT packets cannot be marked."),
        frame("bottlenecks", **nothing, flow=1, reason="Cannot be determined: 2 marks."),
    )
    found = framed(scene(bottlenecks=both), ())
    assert found is not None
    assert found.limits == (
        "Unknown: 2 marks (flow 1); unknown: Not-ECT packets cannot be marked (flow 0)."
    )


def test_a_flow_that_is_alone_is_not_called_the_large_one() -> None:
    first = DIRECTIONS.head(1).with_columns(
        data_packets=pl.lit(100, pl.UInt64), payload_bytes=pl.lit(10**6, pl.UInt64)
    )
    found = framed(scene(directions=first), ())
    assert found is not None
    assert found.sharing.startswith("Flow 0 is the only flow with data")


def test_what_is_of_low_confidence_is_not_stated_as_a_fact() -> None:
    for rule, words in (
        ("L4S304", "Not certain: inactive behind a classic AQM (flow 0)."),
        ("L4S308", "Not certain: message of L4S308."),
    ):
        low = replace(finding(rule), confidence=Confidence.LOW)
        found = framed(scene(), (low,))
        assert found is not None
        assert found.fallback == words


def test_a_score_that_the_path_gives_and_no_reduction_uses_is_not_active() -> None:
    high = Finding("L4S303", Severity.NOTICE, Confidence.MEDIUM, "m", flow=0, forward=True)
    made = {"ts_ns": list(range(20)), "origin": "kernel", "classic_ecn": 17.0}
    for law, begins in (
        ("alpha/2", "The score is high because of the path, yet no"),
        ("floor", "Active, and"),
    ):
        cuts = frame("cuts", law=law, **made)
        found = framed(scene(detector=steps(score_fixed=17.0), cuts=cuts), (high,))
        assert found is not None
        assert found.fallback.startswith(begins)


def test_a_log_without_steps_is_there() -> None:
    """Lab run s1401-018: "no kernel log with Prague's score" beside a log of Prague."""
    found = framed(scene(kernel=log(classic_ecn=0.0)), ())
    assert found is not None
    assert found.fallback == "Idle: the kernel log shows no step of the detector."


def carried(*flows: tuple[int, bool, int]) -> str:
    """What the frame tells of directions (flow, forward, bytes) that none sent beside."""
    table = frame(
        "directions",
        flow=[flow for flow, _, _ in flows],
        forward=[forward for _, forward, _ in flows],
        payload_bytes=[size for _, _, size in flows],
    )
    shown = framed(scene(directions=table), ())
    assert shown is not None
    return shown.sharing


def test_the_other_direction_is_no_other_flow() -> None:
    only = carried((0, True, 10**6), (0, False, 529))
    assert only.startswith("Flow 0 is the only flow with data")


def test_a_few_bytes_are_no_large_flow() -> None:
    assert carried((0, True, 529), (1, True, 78)) == "No flow carried more than 529 B."
    assert carried((0, True, 10**6), (1, True, 78)).startswith("Flow 0 is the only large flow")
    two = carried((0, True, 10**6), (1, True, 9 * 10**5))
    assert two.startswith("Flow 0 carried most, and no other large one sent beside it for long")


def test_a_rule_that_was_left_out_has_not_looked() -> None:
    """Of a misfire, with --ignore L4S308: "no clear reductions"."""
    words = "Not judged: L4S308, which judges it from packets, was left out."
    unasked = framed(scene(), (), {"L4S308"})
    assert unasked is not None
    assert unasked.fallback == words
    logged = framed(scene(detector=steps(score=2.5)), (), {"L4S308"})
    assert logged is not None
    assert logged.fallback == "The kernel's score never exceeds 2.5 (threshold 8)."
    chosen, every = (judge(scene(), select=codes).frame for codes in (["L4S4"], []))
    assert chosen is not None
    assert every is not None
    assert chosen.fallback == words
    assert every.fallback.startswith("Unknown: no kernel log")
