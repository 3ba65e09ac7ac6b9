"""The bottleneck as information."""

import pytest

from l4strace.model import Confidence, Severity, Skipped
from l4strace.rules.l4s401_bottleneck import check
from l4strace.wording.measures import OF_ROUNDS, ONE_WAY
from tests.support.frames import frame
from tests.support.phases import phases
from tests.support.scenes import FLOWS, bottleneck, two_flows


def scene(kind: str, **columns: object):
    place = bottleneck(kind, **columns)
    return two_flows(bottlenecks=place)


def test_fires_for_each_class_that_can_be_told() -> None:
    (found,) = check(scene("l4s", reason="Marks set in at 0.40 ms."))
    assert (found.severity, found.confidence) == (Severity.INFO, Confidence.HIGH)
    assert found.message == "L4S AQM at the bottleneck. Marks set in at 0.40 ms."


def test_fires_with_no_number_below_what_the_capture_shows() -> None:
    """The text had "below 100 us", its measure "85.6 us"."""
    (found,) = check(scene("l4s", marking_delay_us=85.6, serialisation_us=50.0))
    (value,) = (m.value for m in found.measures if m.name.startswith("queue delay at which"))
    assert value == "below 100 us"


@pytest.mark.parametrize(
    ("noise_us", "one_way", "shown"),
    [(0.0, None, [4_970.0]), (7_000.0, None, []), (0.0, 556.0, [556.0])],
)
def test_fires_with_the_median_that_noise_leaves_and_two_captures_show(
    noise_us: float, one_way: float | None, shown: list[float]
) -> None:
    """Lab run s1401-024: 4.97 ms, which was jitter of the ACKs, beside 556 us between captures."""
    place = bottleneck("l4s", queue_delay_us=4_970.0, noise_us=noise_us)
    tables = {"bottlenecks": place}
    if one_way is not None:
        tables["paths"] = frame("paths", flow=0, forward=True, owd_median_us=one_way)
    (found,) = check(two_flows(**tables))
    assert [m.value for m in found.measures if m.name in (OF_ROUNDS, ONE_WAY)] == shown


def test_silent_but_skipped_where_it_cannot() -> None:
    (skipped,) = check(scene("unknown", reason="The path erases ECN codepoints."))
    assert skipped == Skipped("1 of 1 flow directions: The path erases ECN codepoints.")
    (skipped,) = check(scene("unknown", reason="22 round trips are too few."))
    assert skipped == Skipped("1 of 1 flow directions: 22 round trips are too few.")


@pytest.mark.parametrize(
    ("fed_back", "ce", "shown"), [(123, 0, [0.123]), (None, 0, []), (None, 162, [0.162])]
)
def test_fires_with_the_share_of_marks_that_was_counted(
    fed_back: int | None, ce: int, shown: list[float]
) -> None:
    """Run s1501-058: 7.5 % of a classic flow, of which 16 % arrived marked: ECE is no count."""
    counts = {"data_packets": 1_000, "data_ce": [0, ce], "ce_fed_back_best": fed_back}
    both = frame("directions", source=[0, 1], **counts)
    tables = {"flows": FLOWS, "directions": both, "bottlenecks": bottleneck("classic")}
    (found,) = check(two_flows(**tables))
    assert [m.value for m in found.measures if m.name == "marked share"] == shown


@pytest.mark.parametrize(("capacities", "shown"), [((50.0,), [50e6]), ((50.0, 5.0), [])])
def test_fires_without_one_rate_for_a_path_that_changes(
    capacities: tuple[float, ...], shown: list[float]
) -> None:
    """Run s1501-021: 1.9 Mbit/s, on a path of 3.2 and then 0.96 Mbit/s."""
    tables = {"bottlenecks": bottleneck("classic")}
    (found,) = check(two_flows(**tables, phases=phases(*capacities)))
    rates = [m.value for m in found.measures if m.name == "rate of the path, payload"]
    assert rates == shown


def test_the_rate_of_a_path_that_is_never_full_is_a_bound() -> None:
    """Simulated run s8103-002: "16.2 Mbit/s" from packet trains, of 14.8."""
    for filled, words in ((True, "rate of the path, payload"), (False, "payload, at most")):
        size = phases(50.0, capacity_shown=filled)
        found = check(two_flows(phases=size, bottlenecks=bottleneck("l4s")))
        assert found[0].measures[-1].name.endswith(words)
