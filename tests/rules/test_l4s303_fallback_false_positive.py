"""False positive by the path: slow link or jitter."""

import polars as pl

from l4strace.model import Confidence, Severity, Skipped
from l4strace.pipeline import with_fallback
from l4strace.rules.l4s303_fallback_false_positive import check
from tests.support.frames import evidence, frame
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

SLOW = {"rate_bps": 4e6, "serialisation_us": 3028.0}


def scene(place: pl.DataFrame, **columns: object):
    return two_flows(bottlenecks=place, detector=steps(**(HIGH | columns)))


def test_fires_as_notice_on_a_slow_link() -> None:
    (found,) = check(scene(bottleneck("l4s", **SLOW)))
    assert found.severity is Severity.NOTICE
    assert found.measures[-1].value == 3028.0


def test_fires_as_warning_where_the_rate_explains_nothing() -> None:
    (found,) = check(scene(bottleneck("l4s")))
    assert found.severity is Severity.WARNING
    assert "scaling bug is not the cause" in found.message


def test_does_not_acquit_a_build_whose_replay_disagrees() -> None:
    (found,) = check(scene(bottleneck("l4s"), score_fixed=0.0))
    assert "scaling bug" not in found.message


def test_silent_on_a_misfire_a_classic_aqm_and_a_low_score() -> None:
    assert check(scene(bottleneck("l4s"), mdev_us=120.0, score_fixed=0.0)) == []
    assert check(scene(bottleneck("classic"))) == []
    assert check(scene(bottleneck("l4s"), score=0.0)) == []


def test_skips_without_a_capture() -> None:
    assert check(evidence(detector=steps())) == [Skipped("no capture shows what the bottleneck is")]


def test_fires_where_correct_thresholds_give_the_same_score() -> None:
    """Jitter comes and goes: the medians of the inputs may stay low."""
    (found,) = check(scene(bottleneck("l4s"), mdev_us=500.0))
    assert found.severity is Severity.WARNING


def test_a_score_with_no_mark_to_respond_to_is_a_notice() -> None:
    silence, marks = log(3, delivered_ce=3), log(3, delivered_ce=[3, 4, 5])
    for kernel, severity in ((silence, Severity.NOTICE), (marks, Severity.WARNING)):
        table = {"bottlenecks": bottleneck("l4s"), "detector": steps(**HIGH)}
        (found,) = check(evidence(kernel=kernel, **table))
        assert found.severity is severity


def test_a_score_that_is_only_observed_is_a_notice() -> None:
    cuts = frame("cuts", ts_ns=list(range(20)), origin="kernel", classic_ecn=17.0, law="alpha/2")
    (found,) = check(evidence(bottlenecks=bottleneck("l4s"), detector=steps(**HIGH), cuts=cuts))
    assert found.severity is Severity.NOTICE
    assert "No reduction used the score." in found.message


def packets(law: str | None = None, asked: bool = True, **columns: object):
    plain = {"origin": "packets", "score": None, "score_fixed": 17.0, "mdev_us": 1100.0}
    return two_flows(
        bottlenecks=bottleneck("l4s", **SLOW),
        detector=steps(**(plain | columns)),
        laws=laws(law, ll_floor_fixed=-100.0 if asked else -20.0),
    )


def test_without_a_log_the_replayed_score_shows_a_slow_link() -> None:
    (found,) = check(packets())
    assert (found.severity, found.confidence) == (Severity.NOTICE, Confidence.LOW)
    assert "because the link is slow (one packet takes 3.0 ms)" in found.message


def test_a_long_queue_is_blamed_before_jitter() -> None:
    """A sender that hears of no mark fills the queue: its depth is the detector's input."""
    long = bottleneck("l4s", queue_delay_us=14_700.0, noise_us=300.0)
    table = steps(origin="packets", score=None, score_fixed=17.0)
    seen = two_flows(bottlenecks=long, detector=table, laws=laws(None))
    (found,) = check(seen)
    assert "because its queue is long (14.7 ms, threshold 2 ms)" in found.message
    (found,) = check(evidence(bottlenecks=long, detector=steps(score_fixed=17.0)))
    assert "because its queue is long. RTT deviation" in found.message
    assert "L4S404" in found.action


def test_without_a_log_bounds_on_both_sides_of_8_show_nothing() -> None:
    half = [0.0] * 60 + [17.0] * 40
    (found,) = check(packets(score_fixed_lo=half, score_fixed_hi=17.0))
    assert "exceeds 8 for 39 to 100 % of the time" in found.message
    assert check(packets(score_fixed_lo=0.0, score_fixed_hi=17.0)) == [Skipped("no kernel log")]


def test_without_a_log_silent_on_a_low_score_and_where_a_law_leads() -> None:
    skipped = [Skipped("no kernel log")]
    assert check(packets(score_fixed=0.0)) == skipped
    assert check(packets("alpha/2")) == skipped
    assert check(packets("alpha/2", asked=False)) != skipped, "reductions at a low score"
    assert check(packets("floor")) == skipped


def test_an_input_that_the_other_outweighs_is_the_build_s_fault() -> None:
    """6 ms of queue delay beside 0.1 ms of deviation: correct thresholds stay below 8."""
    inputs = {"mdev_us": 140.0, "depth_us": 6000.0, "score_fixed": 0.0}
    assert check(scene(bottleneck("l4s"), **inputs, build="24-bit buggy")) == []
    assert len(check(scene(bottleneck("l4s"), **inputs))) == 1


def test_ect1_flows_alone_do_not_show_that_the_aqm_is_l4s() -> None:
    """CoDel with ce_threshold marks them from 1 ms as DualPI2 does, and is classic."""
    (sure,) = check(scene(bottleneck("l4s", **SLOW)))
    (likely,) = check(scene(bottleneck("l4s", **SLOW, confidence=0.7)))
    assert (sure.confidence, likely.confidence) == (Confidence.HIGH, Confidence.MEDIUM)
    (fast,) = check(scene(bottleneck("l4s", confidence=0.7)))
    assert (fast.severity, fast.confidence) == (Severity.NOTICE, Confidence.LOW)
    assert "took what is probably an L4S AQM for a classic one" in fast.message


def test_fires_where_jitter_hides_the_bottleneck_and_keeps_the_score_up() -> None:
    def found(jitter_us: float):
        table, noise = steps(mdev_us=2400.0, score_fixed=17.0), path_noise(jitter_us=jitter_us)
        return check(two_flows(detector=table, noise=noise, bottlenecks=bottleneck("unknown")))

    (jittery,) = found(4200.0)
    assert (jittery.severity, jittery.confidence) == (Severity.NOTICE, Confidence.LOW)
    assert "2.4 ms (threshold 0.75 ms) on a path with 4.2 ms of jitter" in jittery.message
    assert found(300.0) == []


def test_without_a_log_jitter_that_hides_the_bottleneck_keeps_the_replayed_score_up() -> None:
    def found(jitter_us: float, mdev_us: float = 1700.0, **tables: object):
        inputs = {"origin": "packets", "score": None, "score_fixed": 17.0, "mdev_us": mdev_us}
        noise = path_noise(jitter_us=jitter_us)
        return check(two_flows(detector=steps(**inputs), noise=noise, laws=laws(None), **tables))

    skipped = [Skipped("no kernel log")]
    for place in (None, bottleneck("unknown")):
        tables = {} if place is None else {"bottlenecks": place}
        (jittery,) = found(2300.0, **tables)
        assert (jittery.severity, jittery.confidence) == (Severity.NOTICE, Confidence.LOW)
        assert "takes this path for classic, whatever the AQM: RTT deviation" in jittery.message
        assert found(300.0, **tables) == skipped
        assert found(2300.0, mdev_us=300.0, **tables) == skipped
    assert found(2300.0, bottlenecks=bottleneck("classic")) == skipped


def test_a_slow_link_keeps_the_score_up_whatever_the_aqm_is() -> None:
    """Lab run s1301-097: DualPI2 at 3 Mbit/s, which two Prague flows do not show to be L4S."""

    def found(place: pl.DataFrame, **tables: object):
        hosts = FLOWS.with_columns(client=pl.lit("10.0.1.2"), server=pl.lit("10.0.3.2"))
        tables = {"flows": hosts, "phases": path} | tables
        return check(evidence(directions=DIRECTIONS, bottlenecks=place, **tables))

    named = {"path": "10.0.1.0/24>10.0.3.0/24", "capacity_shown": True}
    path = frame("phases", **named, busy_share=1.0)
    replay = {
        "detector": steps(origin="packets", score=None, score_fixed=17.0, mdev_us=3600.0),
        "laws": laws(None),
    }
    slow, shown = bottleneck("unknown", **SLOW), "on a link where one packet takes 3.0 ms"
    (logged,) = found(slow, detector=steps(mdev_us=3600.0, score_fixed=17.0))
    (seen,) = found(slow, **replay)
    for one in (logged, seen):
        assert (one.severity, one.confidence) == (Severity.NOTICE, Confidence.LOW)
        assert shown in one.message
    assert "The time of a packet keeps the score of Prague's detector above 8" in logged.message
    assert "unless the AQM is classic" in logged.action
    skipped = [Skipped("no kernel log")]
    assert found(bottleneck("unknown"), **replay) == skipped
    # Lab run s1301-150: jitter makes 6.9 of 22.8 Mbit/s look like the rate of the link.
    pauses = frame("phases", **named, busy_share=0.76)
    assert found(slow, **replay, phases=pauses) == skipped


def test_jitter_longer_than_a_packet_is_blamed_before_the_slow_link() -> None:
    """Lab run s1101-126: a packet takes 1.52 ms, and the path has 5.8 ms of jitter."""
    slow = bottleneck("l4s", rate_bps=8e6, serialisation_us=1_520.0)
    tables = {"bottlenecks": slow}
    for jitter, cause in ((2_900.0, "because of 2.9 ms of jitter"), (800.0, "the link is slow")):
        noise = path_noise(jitter_us=jitter)
        (logged,) = check(two_flows(**tables, noise=noise, detector=steps(**HIGH)))
        replay = steps(origin="packets", score=None, **HIGH)
        (seen,) = check(two_flows(**tables, noise=noise, detector=replay, laws=laws(None)))
        assert cause in logged.message
        assert cause in seen.message


def test_a_low_rate_alone_is_no_slow_link() -> None:
    """Lab runs s1701-001 and 056: an application paces the flow; jitter thins it."""
    cases = (("paced", 19_500.0, 740.0, 73_000.0), ("jitter", 1_700.0, 4_890.0, 5_700.0))
    for name, packet, mdev, depth in cases:
        place = bottleneck("l4s", rate_bps=12_112e6 / packet, serialisation_us=packet)
        (found,) = check(scene(place, mdev_us=mdev, depth_us=depth))
        assert ", as jitter, reordering, a slow link, " in found.message, name


def test_a_build_with_the_bug_is_not_acquitted_where_it_adds_to_the_score() -> None:
    """Lab run s1401-093: "the scaling bug is not the cause" beside L4S302."""
    score = {"score_fixed": [17.0, 17.0, 17.0, 0.0] * 25, "build": "24-bit buggy"}
    (found,) = check(scene(bottleneck("l4s"), **score))
    assert "exceeds 8 too in 75 % of the steps; the scaling bug makes that 100 %." in found.message


def test_the_remedy_names_jitter_only_where_it_is_the_cause() -> None:
    (calm,) = check(scene(bottleneck("l4s")))
    assert "jitter, or set" not in calm.action
    assert "L4S408" in calm.action


def test_reductions_that_alpha_makes_as_deep_show_no_effect_of_the_score() -> None:
    """Lab run s1401-024: windows of 3 to 7 packets, alpha 0.93: "No reduction used the score"."""
    cut = {"origin": "kernel", "cause": "ce", "classic_ecn": 17.0, "cwnd_before": 6.5}
    for alpha, deepened in ((0.93, False), (0.56, True)):
        laws_of = ["none"] * 15 + ["floor"] * 5
        cuts = frame("cuts", ts_ns=list(range(20)), alpha=alpha, fraction=0.26, law=laws_of, **cut)
        place = bottleneck("l4s")
        made = two_flows(bottlenecks=place, detector=steps(**HIGH), cuts=cuts)
        (found,) = check(made)
        assert "No reduction used" not in found.message
        assert ("made hardly any reduction deeper: in 100 %" in found.message) is not deepened
        assert found.severity is (Severity.WARNING if deepened else Severity.NOTICE)


def test_the_rate_of_the_path_shows_a_slow_link_where_a_flow_has_few_round_trips() -> None:
    """Simulated runs s8101-078 and s8103-142: no rule stated a score that was above 8."""

    def found(place: pl.DataFrame, **columns: object):
        hosts = FLOWS.with_columns(client=pl.lit("10.0.1.2"), server=pl.lit("10.0.3.2"))
        path = {"path": "10.0.1.0/24>10.0.3.0/24", "capacity_shown": True, "busy_share": 0.85}
        return check(
            evidence(
                flows=hosts,
                directions=DIRECTIONS,
                bottlenecks=place,
                detector=steps(mdev_us=9600.0, score_fixed=17.0),
                phases=frame("phases", **(path | columns)),
            )
        )

    few = bottleneck("unknown", rate_bps=None, serialisation_us=None)
    (one,) = found(few, capacity_bps=4.376e6)
    assert (one.severity, one.confidence) == (Severity.NOTICE, Confidence.LOW)
    assert "on a link where one packet takes 2.8 ms. Whether the AQM is classic cannot" in (
        one.message
    )
    assert found(few, capacity_bps=4.376e6, capacity_shown=False) == []
    assert found(few, capacity_bps=44e6) == []
    (slower,) = found(bottleneck("unknown", **SLOW), capacity_bps=1e6)
    assert "where one packet takes up to 12.1 ms" in slower.message


def test_silent_on_a_score_that_passes_8_at_the_end() -> None:
    """Simulated run s9401-052: jitter "keeps the score above 8 for 0 % of the time"."""
    for place in (bottleneck("l4s"), bottleneck("unknown")):
        for scores, found in (([0.0] * 7 + [9.0], 0), ([0.0] * 6 + [9.0] * 2, 1)):
            tables = {"bottlenecks": place}
            tables["detector"] = steps(8, score=scores, mdev_us=2400.0, score_fixed=17.0)
            tables["noise"] = path_noise(jitter_us=4200.0)
            assert len(check(two_flows(**tables))) == found


def test_names_the_flow_whose_bottleneck_no_capture_shows() -> None:
    """Simulated run s9401-116: one short flow lacked it, and L4S401 showed the others."""
    table = steps(200, flow=[0] * 100 + [7] * 100, ts_ns=[*range(100)] * 2, score_fixed=17.0)
    run = evidence(flows=FLOWS, detector=table, bottlenecks=bottleneck("classic"))
    found = check(with_fallback(run, strict=True))
    assert found == [Skipped("no capture shows what the bottleneck of flow 7 is")]
