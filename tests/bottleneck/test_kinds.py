"""Each row of kinds fires on evidence that shows it, and is silent where one sign is unknown."""

import re

import pytest

from l4strace.bottleneck import kinds, verdict
from l4strace.bottleneck.evidence import Direction, Neighbors
from l4strace.bottleneck.kinds import ROWS, Row
from l4strace.bottleneck.sign import Shown, Sign, has_number
from l4strace.bottleneck.verdict import Asked, fires
from l4strace.schema.words import BOTTLENECKS
from tests.support.kinds import SHOWN

CASES = [
    pytest.param(row, shown, id=f"{number}-{row.kind}")
    for number, (row, shown) in enumerate(zip(ROWS, SHOWN, strict=True))
]


class Without(Asked):
    """A direction of which one sign is unknown."""

    def __init__(self, direction: Direction, sign: Sign) -> None:
        super().__init__(direction)
        self._unknown = sign

    def shows(self, sign: Sign, beside: str) -> Shown:
        return Shown(None) if sign is self._unknown else super().shows(sign, beside)


@pytest.mark.parametrize(("row", "shown"), CASES)
def test_fires_first_on_the_evidence_that_shows_it(row: Row, shown: Direction) -> None:
    asked = Asked(shown)
    assert next(one for one in ROWS if fires(one, asked) is not None) is row


@pytest.mark.parametrize(("row", "shown"), CASES)
def test_is_silent_where_a_sign_that_it_needs_is_unknown(row: Row, shown: Direction) -> None:
    assert all(fires(row, Without(shown, sign)) is None for sign in row.needs)


@pytest.mark.parametrize(("row", "shown"), CASES)
def test_its_sentence_states_signs_that_it_needs_and_their_numbers(
    row: Row, shown: Direction
) -> None:
    named = set(re.findall(r"{(\w+)}", row.says))
    assert named <= {sign.key for sign in row.needs}
    signs = fires(row, Asked(shown))
    assert signs is not None
    text = verdict.sentence(row, signs)
    stated = [(sign, one) for sign, one in signs if sign.key in named and sign.unit]
    for sign, one in stated:
        assert has_number(one)
        assert sign.value(one) in text
        assert sign.threshold(one) in text or "{threshold}" not in sign.says
    assert not text[0].islower()
    assert text.endswith(".")


@pytest.mark.parametrize(("before", "kind"), [(0, "policed"), (117, "unknown")])
def test_what_is_lost_before_the_capture_shows_no_policer(before: int, kind: str) -> None:
    (dropped,) = (shown for row, shown in zip(ROWS, SHOWN, strict=True) if row.kind == "policed")
    assert verdict.of(dropped._replace(lost_before=before)).kind == kind


def test_two_thresholds_far_apart_are_not_those_of_one_aqm_for_each_flow() -> None:
    """Simulated run s9902-009: DualPI2 with jitter, of which CUBIC showed "a queue per flow"."""
    jitter = {"mark_limit_us": 3_000.0, "noise_us": 11_900.0, "floor_us": 12.6e3, "base_us": 8.5e3}
    beside = {"slots": 72, "queue_us": 7_200.0, "own_queue_us": 21_500.0, "corr": -0.2, "gap": 0.65}
    marked = {"least_us": 0.0, "apart": 0.86, "marks": 190, "marked_slots": 65}

    def kind(mark_delay_us: float) -> str:
        scalable = Neighbors(**beside, **marked, mark_delay_us=mark_delay_us)
        late = Direction(
            marked_as="ect0", marks=14, marking_delay_us=23.8e3, far_unmarked=3, scalable=scalable,
            **jitter,
        )  # fmt: skip
        return verdict.of(late).kind

    assert kind(4_600.0) == "unknown"
    assert kind(20_000.0) == "per-flow"


def test_flows_whose_delays_are_apart_share_no_queue_at_whatever_rates() -> None:
    """Simulated run s9902-152: fq_codel with jitter."""
    waits = Neighbors(
        slots=61, queue_us=34.7e3, own_queue_us=9.5e3, least_us=93.0, corr=-0.66, gap=0.69,
        apart=0.88, waiting=60, uneven=0.63,
    )  # fmt: skip
    shown = Direction(
        marks=471, marking_delay_us=12e3, mark_limit_us=3_000.0, floor_us=32.9e3, base_us=32.9e3,
        far_unmarked=3, classic=waits,
    )  # fmt: skip
    assert verdict.of(shown).kind == "per-flow"


def test_two_queues_that_mark_alike_are_no_coupled_ones() -> None:
    """Simulated run s6173-078: CoDel with a step for all, where Prague hardly sends."""
    waits = Neighbors(
        slots=67, queue_us=3.0, own_queue_us=6_800.0, marks=3, marked_slots=3, mark_delay_us=1_400.0
    )
    shown = Direction(
        marked_as="ect0", marks=13, marking_delay_us=1_050.0, mark_limit_us=8_100.0,
        floor_us=20e3, base_us=20e3, ect0_marks=16, ect0_ratio=6.4, scalable=waits,
    )  # fmt: skip
    assert verdict.of(shown._replace(ect0_ratio=0.1)).kind == "l4s"
    assert verdict.of(shown).kind == "unknown"


def test_without_evidence_no_kind_is_named() -> None:
    found = verdict.of(Direction())
    assert (found.kind, found.confidence) == ("unknown", 0.0)


def test_the_table_names_every_row_and_every_sign() -> None:
    lines = kinds.listed().splitlines()
    assert len(lines) == len(ROWS)
    for line, row in zip(lines, ROWS, strict=True):
        assert line.startswith(f"- {BOTTLENECKS[row.kind]}")
        assert all(sign.name in line for sign in (*row.needs, *row.unless))


def test_every_number_of_a_sign_has_a_source() -> None:
    signs = {sign for row in ROWS for sign in (*row.needs, *row.unless)}
    assert not [sign.name for sign in signs if sign.unit and not sign.source]
