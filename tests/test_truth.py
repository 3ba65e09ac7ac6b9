"""The judge of the corpus: what it takes for right, wrong and missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.places import REPOSITORY
from tests.support.truth import CUBIC, PRAGUE, alone, facts, found, judged, load
from tests.support.truth import lab_path as lab_path


def test_every_rule_is_judged_or_said_not_to_be() -> None:
    files = (REPOSITORY / "l4strace" / "rules").glob("l4s[0-9]*.py")
    codes = {path.name.split("_")[0].upper() for path in files}
    judged = set(load("judge").TRUE) | set(load("judge").NOT_JUDGED)
    assert codes == judged, "each rule is in TRUE or NOT_JUDGED of fixtures/lab/judge.py"


def test_marks_that_no_queue_set_show_no_bottleneck() -> None:
    """Lab run s1101-059: the kernel counts 256 behind a FIFO, as a path bleaches its codepoints."""
    assert facts().marks(PRAGUE) == 100
    assert facts("fifo", "none", fault="bleach").marks(PRAGUE) == 0


@pytest.mark.parametrize(("at", "answer"), [("before", True), ("after", False)])
def test_behind_a_classic_queue_alone_the_fallback_is_justified(at: str, answer: bool) -> None:
    """Lab run s1101-009: DualPI2, all ECT(1) packets of which were made ECT(0) before it."""
    remarked = facts(fault="remark", fault_at=at)
    assert judged("L4S309", remarked) is answer
    assert judged("L4S301", remarked) is not answer


def test_marks_on_every_packet_are_those_of_the_flow() -> None:
    """Lab run s1101-110: 669 of 688 packets of Prague, beside 26 of 831 of CUBIC."""
    truth = facts()
    truth.flows[PRAGUE]["codepoints"]["to_receiver"] = {"ect1>ce": 669, "ect1>ect1": 19}
    assert judged("L4S403", truth) is True
    assert judged("L4S403", truth, CUBIC) is False


def test_a_misfire_is_an_error_only_where_cuts_follow_it() -> None:
    assert judged("L4S301", facts()) is True
    assert judged("L4S301", facts("classic", "all")) is False
    assert judged("L4S301", facts(socket={"share_above": 0.0})) is False
    assert judged("L4S301", facts(socket={"fallback_cuts": 0})) is False
    assert judged("L4S301", facts(socket={"fallback_cuts": 0}), severity="notice") is True


@pytest.mark.parametrize(
    ("variant", "at_floor", "answer"),
    [
        ("classic-AQM", True, True),
        ("path", False, False),
        ("idle", False, True),
        ("idle", True, False),
        ("not-falling-back", False, False),
    ],
)
def test_cuts_from_packets(variant: str, at_floor: bool, answer: bool) -> None:
    truth = facts(socket={"fallback_cuts": 45 if at_floor else 0})
    assert judged("L4S308", truth, variant=variant) is answer


def test_a_misfire_from_packets_is_judged_as_one() -> None:
    assert judged("L4S308", facts(), variant="misfire") is True
    assert judged("L4S308", facts("shallow", "all"), variant="misfire") is False


def test_no_fallback_behind_a_bottleneck_that_moves_is_left_open() -> None:
    """Lab run s1401-043: from a queue per flow to a classic AQM that all share."""
    second = {"name": "red", "nature": "classic", "marks": "all"}
    one = facts("per-flow", "none", second=second, socket={"fallback_cuts": 0})
    slower = [*one.truth["capacity"], {"s": 4.7, "hop": "second", "kbit": 40_000}]
    moved = load("facts").Facts(one.truth | {"capacity": slower})
    assert judged("L4S308", one, variant="not-falling-back") is False
    assert judged("L4S308", moved, variant="not-falling-back") is None


def test_a_step_that_only_prague_meets_is_an_l4s_aqm_to_it() -> None:
    """Lab runs s1101-113 and s1201-008: what it would do to others no packet shows."""
    assert judged("L4S308", alone("shallow", 0.0), variant="misfire") is None
    assert judged("L4S303", alone("shallow", 0.9), variant="path") is None
    assert judged("L4S303", alone("shallow", 0.0), variant="path") is False


def test_a_queue_per_flow_with_one_flow_is_a_classic_aqm() -> None:
    """Lab runs s1201-057 and s1201-099: as for L4S401."""
    assert judged("L4S309", alone("per-flow", 0.9)) is True
    assert judged("L4S309", facts("per-flow", "all")) is False


def test_what_jitter_does_to_the_detector_does_not_depend_on_the_aqm() -> None:
    said = {"variant": "any-aqm-jitter"}
    high = {"right_references": {"share_above": 0.9}}
    shaken = facts("classic", "all", noise="jitter", socket=high)
    assert judged("L4S303", shaken, **said) is True
    assert judged("L4S303", shaken, variant="jitter") is False
    assert judged("L4S303", facts("classic", "all", socket=high), **said) is False
    assert judged("L4S303", facts(noise="jitter", socket={"steps": 0}), **said) is None


def test_what_a_slow_link_does_to_the_detector_does_not_depend_on_the_aqm() -> None:
    said = {"variant": "any-aqm-slow-link"}
    for right, kbit, answer in ((0.9, 2_900, True), (0.9, 50_000, False), (0.0, 2_900, False)):
        slow = facts("classic", "all", socket={"right_references": {"share_above": right}})
        slow.truth["capacity"][0]["kbit"] = kbit
        assert judged("L4S303", slow, **said) is answer


def test_starvation_is_the_share_beside_the_largest_rival() -> None:
    truth = facts()
    assert truth.share(PRAGUE) == pytest.approx(700 / 6000)
    assert judged("L4S501", truth) is True
    assert judged("L4S501", truth, CUBIC) is False


def test_a_short_flow_that_takes_seconds_beside_a_long_one_starves() -> None:
    """Run s1701-152: 381 kB took nine seconds, at 191 kbit/s beside 4.1 Mbit/s."""
    span = [int(2e9), int(8e9)]
    truth = facts()
    truth.flows[PRAGUE]["kind"] = "short"
    assert judged("L4S501", truth, span_ns=span) is True
    truth.flows[PRAGUE]["arrived_bytes"] = truth.flows[CUBIC]["arrived_bytes"]
    assert judged("L4S501", truth, span_ns=span) is False


def test_a_starvation_is_judged_in_the_time_that_it_names() -> None:
    """Run s1601-094: 2.3 beside 19 Mbit/s from t=4.6 s, after an equal share before."""
    truth = facts()
    got = truth.flows[PRAGUE]["arrived_bytes"]
    rival = truth.flows[CUBIC]["arrived_bytes"]
    truth.flows[PRAGUE]["arrived_bytes"] = [*rival[:-3], *got[-3:]]
    end = len(rival)
    span = [int((end - 3) * 1e9), int(end * 1e9)]
    assert judged("L4S501", truth, span_ns=span) is True
    assert judged("L4S501", truth, span_ns=[0, int(2e9)]) is not True


def test_a_flow_that_gets_what_it_asks_for_is_not_starved() -> None:
    asked = {"dport": PRAGUE, "kind": "paced", "numbers": [6000]}
    rival = {"dport": CUBIC, "kind": "bulk", "numbers": []}
    assert facts(flows=[asked, rival]).share(PRAGUE) is None
    assert facts(flows=[asked | {"numbers": [20_000]}, rival]).share(PRAGUE) is not None


def test_a_spike_must_stand_where_it_is_said() -> None:
    truth = facts()
    assert truth.spike_ms(0, 3) == 80.0
    assert judged("L4S503", truth, span_ns=[int(1.9e9), int(2.3e9)]) is True
    assert judged("L4S503", truth, span_ns=[int(6e9), int(7e9)]) is False


def test_a_late_capture_of_a_path_that_is_idle_by_then_shows_no_bottleneck() -> None:
    """Lab run s1301-088: twelve marks in slow start, and nothing in what was captured."""
    said = {"variant": "none"}
    for late_s, answer in ((0, False), (4.0, True)):
        idle = {str(port): [5.0] * 35 + [0.1] * 65 for port in (PRAGUE, CUBIC)}
        truth = load("facts").Facts(facts(late_s=late_s).truth | {"one_way_ms": idle})
        assert judged("L4S401", truth, **said) is answer


def test_an_overshoot_before_the_capture_began_cannot_be_found() -> None:
    """The spike of 80 ms is at 2.0 s. Lab runs s1101-013 and 093."""
    for late_s, asked in ((0, True), (1.9, True), (2.3, False)):
        names = [wish.name for wish in load("judge").expected(facts(late_s=late_s))]
        assert ("overshoot" in names) is asked


def test_the_height_of_a_spike_is_compared_with_the_one_way_delay() -> None:
    said = {"name": "largest delay", "value": 60_000.0}
    spike = found("L4S503", span_ns=[int(2e9), int(2.2e9)], measures=[said])
    assert load("truth").height(facts(), [CUBIC], spike) == 0.75
    assert load("truth").height(facts(), [CUBIC], found("L4S503")) is None
    # Lab run s1501-086: ACKs show it a round trip after its packets left.
    late = found("L4S503", span_ns=[int(2.4e9), int(2.6e9)], measures=[said])
    assert load("truth").height(facts(rtt_ms=500.0), [CUBIC], late) == 0.75
    assert load("truth").height(facts(rtt_ms=10.0), [CUBIC], late) != 0.75


def test_the_kernel_miscounts_where_other_marks_arrived() -> None:
    """s801-020: delivered_ce grew by 336 behind a path that had erased every mark."""
    assert judged("L4S208", facts()) is False
    truth = facts()
    truth.flows[PRAGUE]["codepoints"] = {"to_receiver": {"ect1>ce": 0, "ect1>not-ect": 100}}
    assert judged("L4S208", truth) is True
    assert judged("L4S208", facts(offloads=True)) is None


def test_what_must_be_found() -> None:
    names = [(wish.name, wish.dport) for wish in load("judge").expected(facts())]
    assert ("misfire", PRAGUE) in names
    assert ("starvation", PRAGUE) in names
    assert ("overshoot", None) in names
    assert ("bottleneck", CUBIC) in names
    quiet = load("judge").expected(facts(socket={"share_above": 0.0, "fallback_cuts": 0}))
    assert "misfire" not in [wish.name for wish in quiet]


def test_an_expectation_is_met_by_its_rule_at_its_flow() -> None:
    wish = load("judge").Expectation("starvation", ("L4S501",), PRAGUE)
    assert wish.met([(PRAGUE, found("L4S501"))])
    assert not wish.met([(CUBIC, found("L4S501"))])
    assert not wish.met([(PRAGUE, found("L4S502"))])


def test_a_run_is_tallied_by_rule_confidence_and_wish() -> None:
    truth = load("truth")
    tally = truth.Tally()
    document = {
        "flows": [{"source": 0, "flow": 0, "server_port": PRAGUE}],
        "findings": [
            found("L4S301", flow=0, confidence="high"),
            found("L4S104", flow=0, confidence="medium", message="erased"),
        ],
    }
    truth.judge_run(facts(), document, tally)
    assert tally.weighty["high"] == {"right": 1}
    assert tally.weighty["medium"] == {"wrong": 1}
    assert tally.expectations["misfire"] == {"found": 1}
    assert tally.expectations["starvation"] == {"missed": 1}
    text = truth.report(tally, "x", 5)
    assert "| misfire | 1 | 0 | 100.0 % |" in text
    assert "wrong: L4S104 error (medium), port 5201: erased" in text


def test_noise_must_be_named() -> None:
    wishes = load("judge").expected(facts(noise="slots", noise_values=[5.0, 8.0]))
    wish = next(one for one in wishes if one.name == "bursty link")
    assert wish.met([(None, found("L4S406"))])
    assert not wish.met([(None, found("L4S401", variant="l4s"))])
    calm = load("judge").expected(facts(noise="slots", noise_values=[2.0, 3.0]))
    assert "bursty link" not in [one.name for one in calm]
    slow = facts(noise="slots", noise_values=[5.0, 8.0])
    slow.truth["capacity"][0]["kbit"] = 2_000  # a packet takes 6 ms
    assert "bursty link" not in [one.name for one in load("judge").expected(slow)]


def test_jitter_below_the_time_of_two_packets_cannot_be_found() -> None:
    """12 ms of a packet at 1 Mbit/s."""
    for kbit, names in ((1_000, set()), (50_000, {"jitter"})):
        capacity = [{"s": 0.0, "hop": "first", "kbit": kbit}]
        shaken = facts(noise="jitter", noise_values=[4.0]).truth | {"capacity": capacity}
        wishes = load("judge").expected(load("facts").Facts(shaken))
        assert {wish.name for wish in wishes if wish.name == "jitter"} == names


def test_packets_that_overtake_others_skip_their_delay() -> None:
    assert judged("L4S405", facts(noise="reordering")) is True
    assert judged("L4S405", facts(noise="loss")) is False


def test_the_delay_that_packets_skip_is_no_queue() -> None:
    """Lab run s1201-063: 31.95 ms of netem stood above the shortest one-way delay."""
    shaken = facts(noise="reordering", rtt_ms=60.0).truth
    slices = [31.0] * 50 + [None, 0.2, 75.0] + [31.0] * 47
    truth = load("facts").Facts(shaken | {"one_way_ms": {str(CUBIC): slices, str(PRAGUE): [1.0]}})
    assert (truth.peak_ms(0, 4, CUBIC), truth.peak_ms(0, 10, CUBIC)) == (1.0, 45.0)
    assert truth.peak_ms(0, 4, PRAGUE) == 1.0  # no packet of it overtook another


def test_reordering_that_the_queue_behind_it_undoes_cannot_be_found() -> None:
    """Lab run s1101-104: netem let 0.35 % overtake others, and no packet arrived late."""
    for late in (0, 35):
        shaken = facts(noise="reordering", noise_values=[0.0035]).truth
        wishes = load("judge").expected(
            load("facts").Facts(shaken | {"reordering": {"late": late, "packets": 10_000}})
        )
        assert ("reordering" in [wish.name for wish in wishes]) is (late > 0)


def test_a_fall_that_no_packet_shows_cannot_be_found() -> None:
    """To more than the 48 Mbit/s that pass, or before the capture began."""
    for late_s, kbit, falls in ((0, 60_000, []), (0, 20_000, [5.0]), (5.6, 20_000, [])):
        fell = {"s": 5.0, "hop": "second", "kbit": kbit}
        capacity = [{"s": 0.0, "hop": "first", "kbit": 200_000}, fell]
        changed = load("facts").Facts(facts(late_s=late_s).truth | {"capacity": capacity})
        assert changed.capacity_falls == falls


def test_the_height_is_that_of_the_flows_that_waited() -> None:
    """Slow start of one flow makes the queue; its finding states the delay of all that it hit."""
    ports = {"flows": [{"flow": 0, "server_port": PRAGUE}, {"flow": 1, "server_port": CUBIC}]}
    waiting = load("truth").waiting
    for text, waited in [
        ("Slow start overshot. Flow 1 waited.", [CUBIC]),
        ("Latency spike. Flows 0 and 1 waited.", [PRAGUE, CUBIC]),
        ("Latency spike.", [PRAGUE]),
    ]:
        assert waiting(ports, PRAGUE, found("L4S204") | {"message": text}) == waited
    assert waiting({"flows": []}, None, found("L4S204")) == []


def test_the_named_project_diagnoses_wherever_this_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("named", "other"):
        package = tmp_path / name / "l4strace"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "__main__.py").write_text(f'print(\'{{"tree": "{name}"}}\')')
    run, cache = tmp_path / "run", tmp_path / "cache"
    for folder in (run, cache):
        folder.mkdir()
    (run / "truth.json").touch()
    monkeypatch.chdir(tmp_path / "other")
    found = load("truth").diagnose(run, ("sender.pcap.zst",), cache, tmp_path / "named")
    assert found == {"tree": "named"}
