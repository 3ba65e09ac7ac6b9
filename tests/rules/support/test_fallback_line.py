"""The line on the fallback in the frame of a verdict."""

import polars as pl
import pytest

from l4strace.pipeline import judge
from l4strace.rules.support.verdict_lines import verdict_lines as framed
from tests.support.frames import MS, frame, stack
from tests.support.scenes import (
    DIRECTIONS,
    FLOWS,
    HIGH,
    bottleneck,
    laws,
    log,
    path_noise,
    steps,
    two_flows,
)

PRAGUE = pl.lit("prague")


def line(**tables: pl.DataFrame) -> str:
    found = framed(two_flows(**tables))
    assert found is not None
    return found.fallback


def replay(**columns: object) -> pl.DataFrame:
    """Steps that packets give."""
    return steps(origin="packets", score=None, **({"score_fixed": 17.0} | columns))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("l4s", "Misfires (flow 0)."),
        ("classic", "The score is high behind a classic AQM, as it should be (flow 0)."),
    ],
)
def test_the_line_is_what_the_rules_report(kind: str, words: str) -> None:
    """Their findings have the numbers: of a misfire 92 % stood there and here."""
    assert line(detector=steps(), bottlenecks=bottleneck(kind)) == words


def test_a_score_that_no_reduction_uses_does_not_misfire() -> None:
    cuts = frame("cuts", ts_ns=list(range(20)), origin="kernel", classic_ecn=17.0, law="alpha/2")
    assert line(detector=steps(), cuts=cuts).startswith(
        "The score is higher than the path explains, yet no reduction uses it (flow 0)."
    )


def test_a_score_that_the_path_gives_and_no_reduction_uses_is_not_active() -> None:
    made = {"ts_ns": list(range(20)), "origin": "kernel", "classic_ecn": 17.0}
    for law, begins in (
        ("alpha/2", "The score is high because of the path, yet no"),
        ("floor", "Active, and conditions of the path explain it"),
    ):
        tables = {"bottlenecks": bottleneck("l4s"), "cuts": frame("cuts", law=law, **made)}
        assert line(detector=steps(**HIGH), **tables).startswith(begins)


def test_a_score_is_not_called_active_where_alpha_alone_cuts_as_deep() -> None:
    """Simulated run s9601-070: prague_ecn_fallback=2 at an alpha of 0.78."""
    made = {"ts_ns": list(range(20)), "origin": "kernel", "classic_ecn": 17.0, "alpha": 0.78}
    tables = {"bottlenecks": bottleneck("l4s"), "cuts": frame("cuts", **made, cwnd_before=6.0)}
    assert line(detector=steps(**HIGH), **tables).startswith(
        "The score is high, and conditions of the path explain it (flow 0)."
    )


def test_the_scaling_bug_behind_a_classic_aqm_is_right_by_accident() -> None:
    made = {"ts_ns": list(range(20)), "origin": "kernel", "classic_ecn": 17.0, "law": "floor"}
    tables = {"bottlenecks": bottleneck("classic"), "cuts": frame("cuts", **made)}
    assert line(detector=steps(build="24-bit buggy"), **tables).startswith(
        "Active behind a classic AQM, by accident: the build has the scaling bug (flow 0)."
    )


def test_what_packets_only_suggest_is_not_stated() -> None:
    """Of a run whose fallback only observed it said "active, and conditions explain it"."""
    tables = {"bottlenecks": bottleneck("l4s"), "laws": laws(None)}
    assert line(detector=replay(mdev_us=1100.0), **tables) == (
        "Unknown: Prague's detector would take this path for a classic AQM (flow 0)."
    )


def test_a_recorded_score_is_not_called_unknown() -> None:
    """Lab run s1401-082: "Not shown: ...; the kernel's score is above 8 in 70 % of its steps"."""
    noise = path_noise(jitter_us=4200.0)
    assert line(detector=steps(mdev_us=2400.0, score_fixed=17.0), noise=noise) == (
        "Conditions of the path keep the score up, whatever the AQM is (flow 0)."
    )


def test_what_is_of_low_confidence_is_not_stated_as_a_fact() -> None:
    table = steps(mdev_us=1100.0, score_fixed=17.0)
    assert line(detector=table).startswith("Not certain: the score is high behind a classic AQM,")
    few = {"by_host": True, "law": "floor", "references": "wrong", "samples": 5}
    tables = {"bottlenecks": bottleneck("l4s"), "detector": replay(score_fixed=0.0)}
    wrong = line(laws=laws(**few), directions=DIRECTIONS.with_columns(cc=PRAGUE), **tables)
    assert wrong == (
        "Not certain: the classic-ECN fallback misfired behind an L4S AQM, as the packets show."
    )


def test_without_a_case_the_recorded_score_answers() -> None:
    assert line(detector=steps(score=2.5)) == "The kernel's score never exceeds 2.5 (threshold 8)."
    assert line().startswith("Unknown: no kernel log")
    plain = DIRECTIONS.with_columns(data_ect1=pl.lit(0, pl.UInt64))
    # Not "No Prague flow": one that the server refused AccECN sends no ECT(1) (run s8103-105).
    assert line(directions=plain).startswith("Nothing to judge: no data packet carries ECT(1)")
    udp = FLOWS.with_columns(transport=pl.lit("udp-prague"))
    assert line(flows=udp) == (
        "Nothing to judge: it is part of TCP Prague, and no flow over TCP sends ECT(1)."
    )


def test_a_log_without_steps_is_there() -> None:
    """Lab run s1401-018: "no kernel log with Prague's score" beside a log of Prague."""
    assert line(kernel=log(classic_ecn=0.0)) == (
        "Idle: the kernel log shows no step of the detector."
    )


@pytest.mark.parametrize(
    ("kind", "law", "words"),
    [
        ("classic", "alpha/2", "An ECT(1) sender does not fall back behind a classic AQM."),
        (
            "l4s",
            "alpha/2",
            "The sender's reductions follow alpha/2 (median 2.0 %): a classic-ECN fallback does "
            "not act.",
        ),
        (
            "fifo",
            "floor",
            "The classic-ECN fallback acts, or the sender is not Prague (CUBIC reduces so).",
        ),
    ],
)
def test_packets_alone_answer_with_the_fact_of_their_finding(
    kind: str, law: str, words: str
) -> None:
    tables = {"bottlenecks": bottleneck(kind), "laws": laws(law), "detector": replay()}
    assert line(**tables) == words
    (found,) = judge(two_flows(**tables), ["L4S308"]).findings
    assert found.message.startswith(words.rstrip("."))


def test_a_misfire_comes_before_the_other_flows() -> None:
    both = stack(laws("alpha/2"), laws("floor", flow=1, references="wrong"))
    places = stack(bottleneck("classic"), bottleneck("l4s", flow=1))
    ect1 = DIRECTIONS.with_columns(data_ect1=pl.lit(9, pl.UInt64), data_ect0=pl.lit(0, pl.UInt64))
    table = replay(flow=[0] * 50 + [1] * 50, score_fixed=0.0)
    ect1 = ect1.with_columns(cc=PRAGUE)
    words = line(laws=both, bottlenecks=places, directions=ect1, detector=table)
    assert words == "The classic-ECN fallback misfired behind an L4S AQM, as the packets show."


@pytest.mark.parametrize(
    ("place", "score_fixed", "right"),
    [
        (bottleneck("per-flow", marking_delay_us=6_000.0), 17.0, True),
        (bottleneck("per-flow", marking_delay_us=900.0), 17.0, False),
        (bottleneck("per-flow", marking_delay_us=6_000.0), 0.0, False),
        (bottleneck("per-flow", marking_delay_us=6_000.0, confidence=0.5), 17.0, False),
        (bottleneck("fifo"), 17.0, False),
    ],
)
def test_a_score_that_is_right_is_said_to_be(
    place: pl.DataFrame, score_fixed: float, right: bool
) -> None:
    """Simulated run s8101-203: 100 % of the steps behind PIE, and not a word on whether it should.

    The scaling bug leaves no finding but its own there.
    """
    words = line(bottlenecks=place, detector=steps(score_fixed=score_fixed))
    assert ("its steps, as intended behind this bottleneck." in words) == right


def test_the_steps_of_short_flows_do_not_dilute_those_of_a_long_one() -> None:
    """Lab run s2501-046: 70 % in the finding, 47 % in the frame."""
    short = steps(6, score=0.0, score_after=0.0).with_columns(flow=pl.lit(1, pl.UInt32))
    assert "above 8 in 100 % of its steps" in line(detector=stack(steps(score_fixed=17.0), short))
    assert line(detector=short) == "The kernel's score is 0 throughout: no fallback acts."


def test_the_line_does_not_depend_on_the_rules_that_were_asked() -> None:
    """Of a misfire, with --ignore L4S308, the frame stated "no clear reductions"."""
    tables = {"bottlenecks": bottleneck("classic"), "laws": laws("floor", last_ns=9 * MS)}
    chosen, every = (judge(two_flows(**tables), select=codes).frame for codes in (["L4S4"], []))
    assert chosen is not None
    assert chosen == every
    assert chosen.fallback.startswith("The classic-ECN fallback acts behind a classic AQM")
