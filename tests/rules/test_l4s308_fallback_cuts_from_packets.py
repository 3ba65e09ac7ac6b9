"""The fallback as the response to marks shows it."""

import polars as pl
import pytest

from l4strace.derive import neighbors
from l4strace.model import Confidence, Severity, Skipped
from l4strace.rules.l4s308_fallback_cuts_from_packets import ACTS, check
from tests.support.frames import MS
from tests.support.phases import phases
from tests.support.scenes import (
    DIRECTIONS,
    bottleneck,
    laws,
    log,
    starving,
    steps,
    two_flows,
)

FLOOR = {"law": "floor", "fraction": 0.3, "references": "correct"}
WRONG = FLOOR | {"references": "wrong"}
BETWEEN = {"law": None, "ll_floor": -50.0, "ll_floor_always": -90.0}
SLOW = {"rate_bps": 4e6, "serialisation_us": 3028.0}


def scene(
    kind: str,
    law: dict[str, object],
    place: dict[str, object] | None = None,
    score: float = 17.0,
    **tables: object,
):
    """Flow 0 under a law, behind a bottleneck, with the score that correct thresholds give."""
    plain = {
        "directions": DIRECTIONS.with_columns(cc=pl.Series(["prague", None])),
        "bottlenecks": bottleneck(kind, **(place or {})),
        "laws": laws(**law),
        "detector": steps(origin="packets", score=None, score_fixed=score),
    }
    return two_flows(**(plain | tables))


@pytest.mark.parametrize(
    ("kind", "law", "place", "severity", "words"),
    [
        ("l4s", FLOOR, SLOW, Severity.NOTICE, "acts on a slow L4S link"),
        ("l4s", BETWEEN, SLOW, Severity.NOTICE, "at times"),
        ("l4s", FLOOR, {}, Severity.NOTICE, "because of the path"),
        ("classic", FLOOR, {}, Severity.INFO, "behind a classic AQM, as intended"),
        ("classic-or-per-flow", FLOOR, {}, Severity.INFO, "one queue or with a queue per flow, as"),
        ("per-flow", FLOOR, {}, Severity.INFO, "AQM with a queue per flow, as intended"),
        ("fifo", FLOOR, {}, Severity.INFO, "fallback acts, first at t="),
        ("l4s", {}, {}, Severity.INFO, "does not act"),
        ("classic", {}, {}, Severity.WARNING, "exceeds 8 for 100 % of the time"),
        (
            "shallow",
            {},
            {},
            Severity.WARNING,
            "not fall back behind an AQM that marks classic flows",
        ),
        ("classic", {}, {"confidence": 0.5}, Severity.INFO, "does not act"),
    ],
)
def test_fires_with_the_verdict_that_fits(kind, law, place, severity, words) -> None:
    (found,) = check(scene(kind, law, place))
    assert found.severity is severity
    assert words in found.message


@pytest.mark.parametrize(
    ("cc", "words"),
    [
        (None, "acts behind a classic AQM, as intended, first at t=0.000 s, or the sender is not"),
        ("cubic", "The sender (cubic) reduces as a classic one behind a classic AQM"),
        ("prague", "The classic-ECN fallback acts behind a classic AQM, as intended"),
    ],
)
def test_fires_as_a_fallback_only_where_the_sender_is_known_to_run_prague(cc, words) -> None:
    """Simulated CUBIC under ECT(1) behind CoDel: "the classic-ECN fallback acts, as intended"."""
    named = DIRECTIONS.with_columns(cc=pl.lit(cc, dtype=pl.String))
    (found,) = check(scene("classic", FLOOR, directions=named))
    assert words in found.message
    assert (found.headline == ACTS) is (cc == "prague")


@pytest.mark.parametrize("kind", ["l4s", "classic"])
def test_reductions_under_a_low_score_do_not_show_what_a_high_one_does(kind: str) -> None:
    """Simulated run s9401-058: the score asked for nothing while windows could be compared."""
    alike = {"ll_floor_fixed": -19.0}
    (said,) = check(scene(kind, alike))
    assert isinstance(said, Skipped)
    (said,) = check(scene(kind, alike, score=0.0))
    assert not isinstance(said, Skipped)


@pytest.mark.parametrize(
    ("kind", "confidence"), [("l4s", Confidence.HIGH), ("unknown", Confidence.MEDIUM)]
)
def test_a_third_at_a_low_alpha_is_a_misfire_without_a_log(kind, confidence) -> None:
    """A lone flow with the scaling bug: neither queue nor deviation gives the floor a reason."""
    (found,) = check(scene(kind, WRONG, score=0.0))
    assert (found.severity, found.confidence) == (Severity.ERROR, confidence)
    assert "misfired" in found.message
    assert "shrank by 30 % (median) where alpha/2 is 2.0 %" in found.message
    assert "Queue delay (400 us, threshold 2 ms)" in found.message


@pytest.mark.parametrize(
    ("cc", "words"),
    [
        (None, "A classic reduction under ECT(1) behind an L4S AQM: Prague's fallback misfired,"),
        ("cubic", "The sender (cubic) reduces as a classic one behind an L4S AQM, although it "),
        ("prague", "The classic-ECN fallback misfired behind an L4S AQM"),
    ],
)
def test_only_a_sender_that_is_named_prague_has_a_fallback(cc: str | None, words: str) -> None:
    """CUBIC with a left-over ECT(1) flag gives up 30 %, and was an error of the fallback."""
    named = DIRECTIONS.with_columns(cc=pl.lit(cc, pl.String))
    (found,) = check(scene("l4s", WRONG, score=0.0, directions=named))
    assert found.message.startswith(words)
    assert found.severity is (Severity.ERROR if cc == "prague" else Severity.WARNING)


@pytest.mark.parametrize(
    ("kind", "severity"), [("l4s", Severity.WARNING), ("classic", Severity.INFO)]
)
@pytest.mark.parametrize("law", ["deep", "half"])
def test_reductions_far_deeper_than_alpha_are_named(
    kind: str, severity: Severity, law: str
) -> None:
    """36 reductions of 35 % at alpha/2 of 2.5 % ended in "Nothing wrong found"."""
    found, *more = check(scene(kind, {"law": law, "fraction": 0.35, "half_alpha": 0.025}))
    assert (found.severity, found.confidence, more) == (severity, Confidence.MEDIUM, [])
    assert found.message.startswith(
        "Reductions under ECT(1) are far deeper than alpha/2 (35 against 2.5 %): the fallback, or "
        "a classic sender, as 100 marked rounds show."
    )


@pytest.mark.parametrize(("filled", "words"), [(True, "slow L4S link"), (False, "of the path")])
def test_a_path_that_is_never_full_is_not_called_slow(filled: bool, words: str) -> None:
    """Lab run s1101-077: 1.3 of 87 Mbit/s, and "one packet takes 2.5 ms"."""
    named = neighbors.directions(two_flows())["path"][0]
    size = phases(4.0, capacity_shown=filled).with_columns(path=pl.lit(named))
    (found,) = check(scene("l4s", FLOOR, SLOW, phases=size))
    assert words in found.message


def test_what_only_the_other_flows_of_the_host_show_is_said_so() -> None:
    (found,) = check(scene("l4s", WRONG | {"by_host": True, "samples": 5}, score=0.0))
    assert found.confidence is Confidence.LOW
    assert "5 marked rounds of this flow alone do not show it, those of all flows" in found.message
    assert "shrank" not in found.message


def test_no_misfire_where_the_score_may_be_high_with_correct_thresholds() -> None:
    table = steps(origin="packets", score=None, score_fixed=0.0, score_fixed_hi=17.0)
    (found,) = check(scene("l4s", WRONG, detector=table))
    assert "misfired" not in found.message
    assert found.severity is Severity.NOTICE


def test_correct_thresholds_that_seldom_exceed_8_do_not_explain_a_floor_that_always_acts() -> None:
    """The buggy build on a path that correct thresholds take for classic now and then."""
    part = {"score_fixed_lo": [17.0] * 13 + [0.0] * 88, "score_fixed_hi": [17.0] * 35 + [0.0] * 66}
    table = steps(101, origin="packets", score=None, score_fixed=0.0, **part)
    (found,) = check(scene("l4s", WRONG, detector=table))
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.MEDIUM)
    assert "misfired behind an L4S AQM" in found.message
    assert "exceeds 8 for 13 to 35 % of the time" in found.message
    (open_,) = check(scene("unknown", WRONG, detector=table))
    assert open_.severity is Severity.INFO, "a classic AQM may justify it"


def test_the_path_is_no_cause_where_the_score_that_it_gives_stays_low() -> None:
    table = steps(origin="packets", score=None, score_fixed=0.0)
    (found,) = check(scene("l4s", FLOOR, detector=table))
    assert "acts behind an L4S AQM: after" in found.message
    assert "exceeds 8 for 0 % of the time" in found.message


def test_an_aqm_that_no_other_flow_shows_is_probably_l4s() -> None:
    (found,) = check(scene("l4s", FLOOR, {"confidence": 0.7}))
    assert "acts behind what is probably an L4S AQM because of the path" in found.message


def test_a_missed_aqm_whose_score_stays_low_leaves_the_cause_open() -> None:
    (found,) = check(scene("classic", {}, score=0.0))
    assert "off, absent or missed" in found.message


def test_says_nothing_about_a_score_that_no_packet_shows() -> None:
    """A capture that begins late: rounds, but no replay."""
    unknown = pl.DataFrame(schema=steps().schema)
    (missed,) = check(scene("classic", {}, detector=unknown))
    assert "off, absent or missed" in missed.message
    assert "time above 8" not in " ".join(measure.name for measure in missed.measures)
    (cut,) = check(scene("l4s", WRONG, detector=unknown))
    assert "misfired" not in cut.message
    assert "of the time" not in cut.message


def test_names_a_missing_fallback_where_the_score_deepens_some_reductions() -> None:
    """Simulated: a step of 1 ms for all flows, where a score passes 8 now and then."""
    mostly = {"law": None, "fraction": 0.1, "ll_half_alpha": -60.0, "ll_floor_always": -950.0}
    (found,) = check(scene("shallow", mostly, {"confidence": 0.6}))
    assert (found.severity, found.confidence) == (Severity.WARNING, Confidence.MEDIUM)
    assert found.message.startswith(
        "An ECT(1) sender does not fall back behind what is probably an AQM that marks classic "
        "flows too: most of its reductions follow alpha/2"
    )


def test_names_who_starves() -> None:
    (found,) = check(scene("classic", {}, coexistence=starving(1, 0)))
    assert "flow 1 (port 40002, ECT(0)) starves" in found.message


def test_silent_for_other_senders_and_laws_and_where_a_log_shows_it() -> None:
    assert check(scene("l4s", FLOOR | {"flow": 1})) == []
    assert check(scene("l4s", {"law": "none"})) == []
    assert check(scene("l4s", FLOOR, kernel=log())) == []


def test_silent_where_the_log_shows_a_build_without_a_score() -> None:
    assert check(scene("l4s", {}, kernel=log(event="ack", classic_ecn=None))) == []


def test_skips_where_no_law_leads() -> None:
    assert isinstance(check(scene("l4s", {"law": None}))[0], Skipped)


def test_silent_on_a_slow_link_where_no_law_explains_the_window() -> None:
    assert isinstance(check(scene("l4s", BETWEEN | {"misfit": 2.7}, SLOW))[0], Skipped)


def test_at_times_is_said_where_the_score_tells_when() -> None:
    """Lab run s1401-031, with its fallback off: a floor at all times explained as much."""
    always = BETWEEN | {"ll_floor_always": -50.0}
    assert isinstance(check(scene("l4s", always, SLOW))[0], Skipped)
    assert not isinstance(
        check(scene("l4s", always | {"ll_floor_always": -57.0}, SLOW))[0], Skipped
    )


def test_states_from_when_on_and_how_much_of_the_time_the_score_is_high() -> None:
    part = [0.0] * 20 + [17.0] * 40 + [0.0] * 40
    table = steps(origin="packets", score=None, score_fixed=part)
    (found,) = check(scene("classic", FLOOR, detector=table))
    assert "as intended, first at t=0.5 s and for 40 % of the flow's time: after" in found.message
    flapping = steps(origin="packets", score=None, score_fixed=[0.0] * 10 + [17.0, 0.0] * 45)
    (found,) = check(scene("classic", FLOOR, detector=flapping))
    assert "(the score flaps between 0.0 and 17.0)" in found.message
    (unsure,) = check(scene("fifo", WRONG, detector=table))
    assert "from t=" not in unsure.message, "another score than the replayed one acts"


def test_the_fallback_acts_first_within_the_time_of_the_finding() -> None:
    """Simulated run s8103-011: "t=0.9 s to t=7.7 s", and "first at t=0.8 s"."""
    table = steps(origin="packets", score=None, score_fixed=17.0)
    for first_ns, since in ((900 * MS, "t=0.9 s"), (0, "t=0.000 s")):
        (found,) = check(scene("classic", FLOOR | {"first_ns": first_ns}, detector=table))
        assert f"first at {since}" in found.message
        assert found.span_ns == (first_ns, 10_000 * MS)


@pytest.mark.parametrize(("samples", "words"), [(4, "too few marked rounds"), (464, "no law")])
def test_a_window_that_no_law_explains_is_not_called_short_of_marks(
    samples: int, words: str
) -> None:
    """Run s1501-058: 464 marked rounds, "too few"."""
    (found,) = check(scene("l4s", {"law": None, "samples": samples}))
    assert words in found.reason


def test_what_is_expected_is_what_was_needed() -> None:
    (found,) = check(scene("classic", FLOOR | {"samples": 416}))
    expected = {m.name: m.expected for m in found.measures}
    assert expected["time above 8, correct thresholds"] == ""
    assert not [name for name in expected if "likelihood" in name]


def test_three_rounds_at_the_floor_show_it_with_low_confidence() -> None:
    """Simulated run s8105-102: reductions of 30 % at alpha/2 of 3 %, and no rule stated it."""
    floors = {"ll_floor_fixed": -18.0, "ll_floor_buggy": -0.5, "ll_floor_always": -0.5}
    others = {"ll_half_alpha": -18.0, "ll_half": -17.98, "ll_none": -18.0, "misfit": 0.17}
    few = {"law": None, "samples": 3, "lead": None, "fraction": 0.3, "half_alpha": 0.03}
    law = few | {"ll_floor": -0.5} | floors | others
    (found,) = check(scene("l4s", law, score=0.0))
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.LOW)
    assert "misfired behind an L4S AQM, as the packets show: after 3 marked rounds" in found.message
    (right,) = check(scene("classic", law | {"ll_floor_fixed": -0.5}))
    assert (right.severity, right.confidence) == (Severity.INFO, Confidence.LOW)
    assert isinstance(check(scene("l4s", law | {"samples": 2}, score=0.0))[0], Skipped)


def test_windows_of_a_few_packets_do_not_make_a_misfire_sure() -> None:
    """Simulated run s8104-144: 4 packets at alpha/2 of 18 %, "misfired" with high confidence."""
    for window, confidence in ((40.0, Confidence.HIGH), (6.0, Confidence.MEDIUM)):
        (found,) = check(scene("l4s", WRONG | {"window_packets": window}, score=0.0))
        assert (found.severity, found.confidence) == (Severity.ERROR, confidence)


def test_silent_where_a_packet_more_or_less_makes_the_misfire() -> None:
    """Simulated run s9601-104: an error for three flows that reduced by alpha/2."""
    seen = WRONG | {"window_packets": 4.0, "half_alpha": 0.108}
    reason = "windows of a few packets hide how an ECT(1) sender reduces"
    assert check(scene("l4s", seen, score=0.0)) == [Skipped(reason)]
