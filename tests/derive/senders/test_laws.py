"""The law of a sender's response, from windows made by that law."""

import math
import random
from collections.abc import Callable

import polars as pl
import pytest

from l4strace.derive.senders import laws
from tests.support import frames

RTT_NS = 40 * frames.MS
COUNT = 400

Share = Callable[[float], float]
"""Alpha -> share of the window that a reduction gives up."""


def windows(
    given: Share, every: int = 8, start: float = 20.0, jitter: float = 0.0, most: float = math.inf
):
    """Rounds of a sender with a mark every so many rounds, +1 packet a round, by one law."""
    noise = random.Random(1)
    window, alpha, flight, alphas, marks = start, 1.0, [], [], []
    for n in range(COUNT):
        marked = n % every == 0
        alpha += ((1 / window if marked else 0.0) - alpha) / 16
        flight.append(max(2, math.ceil(window + noise.uniform(-jitter, jitter))))
        alphas.append(alpha)
        marks.append(int(marked))
        window = min(most, max(2.0, window * (1 - given(alpha)) if marked else window + 1))
    return {"inflight_max_packets": flight, "alpha": alphas, "ce_best": marks}


def judged(
    columns: dict[str, object], score: float = 0.0, marked_before: int = 0, **more: object
) -> dict[str, object]:
    plain = {
        "start_ns": [n * RTT_NS for n in range(COUNT)],
        "end_ns": [(n + 1) * RTT_NS for n in range(COUNT)],
        "rtt_mean_us": RTT_NS / 1000,
        "alpha_updates": list(range(1, COUNT + 1)),
        "alpha_25ms": columns["alpha"],
        "alpha_25ms_updates": list(range(1, COUNT + 1)),
        "slow_start": False,
        "classic_ecn": score,
        "classic_ecn_buggy": 17.0,
    }
    capture = frames.capture(
        flows=frames.frame("flows"),
        directions=frames.frame(
            "directions", data_ect1=1000, data_ce=marked_before, ce_fed_back_best=50
        ),
        rounds=frames.rounds(COUNT, **(plain | columns | more)),
    )
    table = laws.table(capture)
    return table.row(0, named=True) if table.height else {}


def test_no_law_where_the_capture_lies_behind_the_queue_that_marks() -> None:
    """A fallback "did not act", by what was in flight there (simulated run s6436-040)."""
    given = windows(lambda alpha: alpha / 2)
    assert judged(given)["law"] == "alpha/2"
    assert judged(given, marked_before=50) == {}


@pytest.mark.parametrize("jitter", [0.0, 1.0])
@pytest.mark.parametrize(
    ("given", "score", "law", "references"),
    [
        (lambda alpha: alpha / 2, 0.0, "alpha/2", None),
        (lambda alpha: alpha / 2, 17.0, "alpha/2", None),
        (lambda alpha: max(alpha / 2, 0.3125), 17.0, "floor", "correct"),
        (lambda alpha: max(alpha / 2, 0.3125), 0.0, "floor", "wrong"),
        (lambda _: 0.5, 0.0, "half", None),
    ],
)
def test_the_law_that_made_the_windows_leads(given, score, law, references, jitter) -> None:
    row = judged(windows(given, jitter=jitter), score)
    assert (row["law"], row["references"]) == (law, references)
    assert row["lead"] >= laws.LEAD


@pytest.mark.parametrize(
    ("most", "score", "law"), [(4.0, 17.0, None), (4.0, 0.0, "alpha/2"), (12.0, 17.0, "alpha/2")]
)
def test_a_floor_that_the_score_asks_for_hides_in_windows_of_few_packets(most, score, law) -> None:
    """Simulated run s9401-011: 75 of 78 reductions to the floor, in windows of 5 packets."""
    seen = windows(lambda alpha: alpha / 2, start=most, most=most)
    assert judged(seen, score, classic_ecn_buggy=score)["law"] == law


def twice(given: float, again: Callable[[int], bool]) -> dict[str, object]:
    """Marks that are still on their way reach the sender a round after each reduction."""
    window, alpha, flight, alphas, marks = 60.0, 0.05, [], [], []
    for n in range(COUNT):
        first, second = n % 24 == 0, n % 24 == 1
        alpha += ((1 / window if first or second else 0.0) - alpha) / 16
        flight.append(math.ceil(window))
        alphas.append(alpha)
        marks.append(int(first or second))
        cut = first or (second and again(n // 24))
        window = window * (1 - given) if cut else window + 1
    return {"inflight_max_packets": flight, "alpha": alphas, "ce_best": marks}


def test_marks_on_their_way_make_a_second_reduction() -> None:
    """36 reductions of 35 % at an alpha/2 of 2.5 %: some once, some twice the floor."""
    row = judged(twice(0.3125, lambda event: event % 2 == 0), score=17.0)
    assert (row["law"], row["references"]) == ("floor", "correct")


def test_the_reduction_is_given_with_growth_added_back() -> None:
    row = judged(windows(lambda _: 0.3125))
    assert row["fraction"] == pytest.approx(0.3125, abs=0.06)
    assert row["half_alpha"] < 0.05


def test_marks_in_every_round_without_a_response_are_none() -> None:
    silent = {"inflight_max_packets": 40, "alpha": 0.5, "ce_best": 10}
    assert judged(silent)["law"] == "none"


def test_marks_in_every_round_and_a_window_in_balance_are_alpha_2() -> None:
    """At an alpha of 0.05 and 40 packets one packet a round balances: a floor would need ten."""
    row = judged({"inflight_max_packets": 40, "alpha": 0.05, "ce_best": 2})
    assert row["law"] == "alpha/2"
    assert row["isolated"] <= 1


def test_alpha_that_starts_at_zero_is_no_lack_of_response() -> None:
    """The replay starts at 1: soon after the first mark it is too large for such a build."""
    columns = windows(lambda _: 0.0)
    row = judged(columns | {"alpha": [(15 / 16) ** n for n in range(COUNT)]})
    assert row["law"] != "none"


@pytest.mark.parametrize(
    "more",
    [
        {"retransmits": 1},
        {"slow_start": True},
        {"inflight_max_packets": 3},
        {"ce_best": 0},
        {"alpha_updates": 8},
    ],
)
def test_rounds_that_show_nothing_are_left_out(more: dict[str, object]) -> None:
    assert judged(windows(lambda _: 0.3125), **more) == {}


def test_few_rounds_decide_nothing() -> None:
    columns = windows(lambda _: 0.3125, every=100)
    row = judged(columns)
    assert row["samples"] < laws.MIN_LAW_ROUNDS
    assert row["law"] is None


def test_six_reductions_by_a_third_at_a_low_alpha_are_enough() -> None:
    row = judged(windows(lambda _: 0.3125, every=60))
    assert row["samples"] == 6
    assert (row["law"], row["references"]) == ("floor", "wrong")


def test_other_senders_have_no_row() -> None:
    capture = frames.capture(
        flows=frames.frame("flows"),
        directions=frames.frame("directions", data_ect0=1000, data_ect1=0),
        rounds=frames.rounds(COUNT, ce_best=1),
    )
    assert laws.table(capture).is_empty()


def hosts(*flows: dict[str, object], ends: tuple[str, ...] = ("10.0.1.2", "10.0.1.2")):
    """`law`, `lead`, `references` and `by_host` of flows that these addresses send."""
    plain = {
        "source": 0,
        "forward": True,
        "samples": 5,
        "misfit": 0.6,
        "law": None,
        "lead": None,
        "references": None,
        "asked": 0.0,
        "ll_half_alpha": -3.0,
        "ll_floor": -4.0,
    }
    rows = [plain | {"flow": n, "sender": ends[n]} | one for n, one in enumerate(flows)]
    own = pl.DataFrame(rows, schema_overrides={"law": pl.String, "lead": pl.Float64})
    known = {"source": 0, "sender": "10.0.1.2", "law": "floor", "lead": 54.0, "references": "wrong"}
    shown = laws._with_hosts(own, pl.DataFrame(known)).sort("flow")
    return shown.select("law", "lead", "references", "by_host").rows()


def test_what_a_host_gives_up_is_weighed_by_what_shows_it() -> None:
    """Nine single reductions of one flow count nine times as much as one of the other."""
    flows = pl.DataFrame(
        {
            "source": 0,
            "sender": "10.0.1.2",
            "samples": [30, 10],
            "window_packets": [20.0, 40.0],
            "half_alpha": [0.1, 0.2],
            "asked": [0.0, 1.0],
            "isolated": [9, 1],
            "fraction": [0.1, 0.4],
        }
    )
    (host,) = laws._of_hosts(flows).to_dicts()
    assert (host["flows"], host["samples"], host["isolated"]) == (2, 40, 10)
    assert host["fraction"] == pytest.approx(0.13)
    assert (host["window_packets"], host["asked"]) == (pytest.approx(25.0), pytest.approx(0.25))


def test_a_flow_that_shows_little_has_the_law_of_its_host() -> None:
    """Lab run s1101-127: five marked rounds of one flow, 25 of the other: one kernel."""
    floor = ("floor", 54.0, "wrong", True)
    elsewhere = ("10.0.1.2", "10.0.1.9")
    assert hosts({}, {})[1] == floor
    assert hosts({}, {}, ends=elsewhere)[1] == (None, None, None, False)
    assert hosts({}, {"samples": 2})[1][0] is None
    assert hosts({}, {"ll_half_alpha": -3.0, "ll_floor": -10.0})[1][0] is None, "it contradicts"
    assert hosts({}, {"misfit": 2.0})[1][0] is None


def test_alpha_by_a_narrow_lead_is_not_named_against_its_host() -> None:
    """Lab run s1101-139: 6.9 nats of 16 rounds in bursts, where the other flows' floor had 22."""
    narrow = {"law": "alpha/2", "lead": 6.9, "ll_half_alpha": -6.6, "ll_floor": -13.5}
    assert hosts({}, narrow)[1] == (None, None, None, False)
    assert hosts({}, narrow | {"lead": 60.0})[1][:2] == ("alpha/2", 60.0)


def test_the_rounds_of_all_flows_of_a_host_are_compared_together() -> None:
    """Three marked rounds in one flow of the buggy build, forty in the other."""
    columns = windows(lambda alpha: max(alpha / 2, 0.3125), every=10)
    short = {name: values[-35:] for name, values in columns.items()}
    plain = {"rtt_mean_us": RTT_NS / 1000, "slow_start": False, "classic_ecn": 0.0}

    def flow(number: int, made: dict[str, list]):
        count = len(made["alpha"])
        return frames.rounds(
            count,
            flow=number,
            start_ns=[n * RTT_NS for n in range(count)],
            end_ns=[(n + 1) * RTT_NS for n in range(count)],
            alpha_updates=list(range(100, 100 + count)),
            alpha_25ms=made["alpha"],
            alpha_25ms_updates=list(range(100, 100 + count)),
            classic_ecn_buggy=17.0,
            **(plain | made),
        )

    both = {"flow": [0, 1], "client": "10.0.1.2", "server": "10.0.3.2"}
    table = laws.table(
        frames.capture(
            flows=frames.frame("flows", **both),
            directions=frames.frame("directions", flow=[0, 1], data_ect1=1000),
            rounds=pl.concat([flow(0, columns), flow(1, short)]),
        )
    )
    assert table["samples"].to_list()[1] < laws.MIN_LAW_ROUNDS
    assert table["law"].to_list() == ["floor", "floor"]
    assert table["by_host"].to_list() == [False, True]
    assert table["references"].to_list() == ["wrong", "wrong"]


def decided(**columns: object) -> str | None:
    plain = {
        "samples": 100,
        "isolated": 40,
        "window_packets": 20.0,
        "fraction": 0.28,
        "half_alpha": 0.04,
        "asked": 0.0,
        **dict.fromkeys(("ll_half_alpha", "ll_floor_fixed"), -160.0),
        **dict.fromkeys(("ll_floor_buggy", "ll_floor_always"), -60.0),
        **dict.fromkeys(("ll_half", "ll_none"), -300.0),
    }
    law = laws._decided(pl.DataFrame(plain | columns))["law"][0]
    return None if law is None else str(law)


def test_a_floor_shows_in_single_reductions_too() -> None:
    """Where every round is marked a build that reduces more often looks like a deeper reduction."""
    assert decided() == "floor"
    assert decided(fraction=0.13) is None
    assert decided(fraction=0.13, isolated=3) == "floor", "too few to contradict"


def test_the_floor_or_one_half_is_named_where_both_are_far_from_alpha() -> None:
    assert decided(ll_half=-62.0) == "deep"
    assert decided(ll_half=-62.0, fraction=0.05) is None
    assert decided(ll_half=-62.0, isolated=3) is None
    assert decided(ll_half=-62.0, ll_half_alpha=-65.0) is None


def test_single_reductions_near_the_floor_are_not_alpha() -> None:
    """Lab run s1101-001: reductions by 47 %, and rounds in which nothing was reduced."""
    mixed = {"ll_half_alpha": -15.4, "ll_floor_buggy": -31.6, "ll_floor_always": -31.6}
    mixed |= {"ll_floor_fixed": -31.6, "half_alpha": 0.2, "samples": 15, "isolated": 9}
    assert decided(**mixed, fraction=0.47, ll_none=-18.1) is None
    assert decided(**mixed, fraction=0.47, ll_none=-60.0) == "alpha/2", "rounding of few packets"
    assert decided(**mixed, fraction=0.2, ll_none=-18.1) == "alpha/2"


def test_a_third_and_a_half_of_a_few_packets_are_the_same_reduction() -> None:
    """Of 5 packets the floor leaves 3.4 and one half 2.5: counted in whole packets, 3 or 4."""
    deeper = {"ll_half": -30.0, "fraction": 0.41}
    assert decided(**deeper) == "half"
    assert decided(**deeper, window_packets=5.0) == "floor"
    assert decided(**deeper, window_packets=5.0, ll_half_alpha=-39.0) is None


def test_alpha_is_not_named_where_the_score_explains_as_much() -> None:
    alike = {"ll_half_alpha": -62.0, "ll_floor_always": -160.0, "ll_floor_buggy": -160.0}
    assert decided(**alike, ll_floor_fixed=-62.0) == "alpha/2", "that score never exceeds 8"
    assert decided(**alike, ll_floor_fixed=-60.0, asked=0.5) is None
    assert decided(**alike, ll_floor_fixed=-120.0, asked=0.5) == "alpha/2"


def test_a_host_gives_what_most_of_its_rounds_give() -> None:
    """Lab run s1201-030: 0.27 in eight rounds of a flow and 0.2 in five of the other."""
    frame = pl.DataFrame({"fraction": [0.27, 0.2, None], "isolated": [8, 5, 4]})
    assert frame.select(laws._mean("fraction", pl.col("isolated"))).item() == pytest.approx(
        0.243, abs=0.001
    )


def test_errors_larger_than_assumed_ask_for_a_longer_lead() -> None:
    """Lab run s1401-088: super-packets blur the window, and the floor leads by 147 nats."""
    blurred = {"samples": 54, **dict.fromkeys(("ll_floor_buggy", "ll_floor_always"), -107.0)}
    assert decided(**blurred, ll_half_alpha=-254.0) == "floor"
    assert decided(**blurred, ll_half_alpha=-125.0) is None
    assert decided(**blurred | {"samples": 45}, ll_half_alpha=-254.0) is None, "it explains nothing"
