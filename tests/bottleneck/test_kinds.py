"""Each row of kinds fires on evidence that shows it, and is silent where one sign is unknown."""

import re
from math import nan

import pytest

from l4strace.bottleneck import kinds, verdict
from l4strace.bottleneck.evidence import Direction, Neighbors
from l4strace.bottleneck.kinds import ROWS, Row
from l4strace.bottleneck.sign import Shown, Sign, has_number
from l4strace.bottleneck.verdict import Asked, fires
from l4strace.schema.words import BOTTLENECKS

SHOWN = (
    Direction(cleared=True, classic_feedback=True),
    Direction(marks=279, classic=Neighbors(waiting=18, uneven=0.07, unlike=0.6)),
    Direction(
        mark_limit_us=3_000.0,
        marks=85,
        marking_delay_us=620.0,
        classic=Neighbors(slots=54, apart=0.5, marked_slots=4, mark_delay_us=17_600.0),
    ),
    Direction(
        marked_as="ect0",
        mark_limit_us=3_000.0,
        marks=5,
        marking_delay_us=17_600.0,
        scalable=Neighbors(slots=54, apart=0.5, marked_slots=19, mark_delay_us=560.0),
    ),
    Direction(
        marked_as="ect0",
        floor_us=4_900.0,
        base_us=4_500.0,
        mark_limit_us=3_000.0,
        marks=89,
        scalable=Neighbors(
            slots=67, queue_us=770.0, own_queue_us=15_600.0, marks=1107, mark_delay_us=20.5
        ),
    ),
    Direction(
        floor_us=20_400.0,
        base_us=20_400.0,
        mark_limit_us=3_000.0,
        marks=25,
        marking_delay_us=55_000.0,
        classic=Neighbors(slots=8, queue_us=9_000.0, own_queue_us=65_000.0),
    ),
    Direction(
        mark_limit_us=3_000.0,
        marks=98,
        marking_delay_us=290.0,
        classic=Neighbors(slots=89, queue_us=8_000.0, own_queue_us=700.0),
    ),
    Direction(
        queue_max_us=210.0,
        path_max_us=27_000.0,
        met_peak=True,
        mark_limit_us=3_000.0,
        first_marking_us=9.7,
    ),
    Direction(
        began=False,
        flat=False,
        floor_us=18_400.0,
        queue_max_us=7_800.0,
        mark_limit_us=3_000.0,
        marks=80,
        marking_delay_us=2_600.0,
    ),
    Direction(marks=100, acked=100, queue_delay_us=500.0),
    Direction(mark_limit_us=5_700.0, marks=81, marking_delay_us=850.0, far_unmarked=7),
    Direction(
        mark_limit_us=3_000.0,
        marks=918,
        marking_delay_us=1_000.0,
        classic=Neighbors(slots=87, corr=0.7, gap=0.21, marked_slots=85, mark_delay_us=3.0),
    ),
    Direction(
        mark_limit_us=13_000.0, marks=309, marking_delay_us=3.4, ect0_marks=233, ect0_ratio=1.3
    ),
    Direction(
        mark_limit_us=8_000.0,
        marks=56,
        marking_delay_us=2_140.0,
        classic=Neighbors(slots=50, queue_us=700.0, own_queue_us=300.0, ect0=0),
    ),
    Direction(
        mark_limit_us=11_500.0,
        marks=431,
        marking_delay_us=0.14,
        classic=Neighbors(slots=36, marked_slots=19, mark_delay_us=0.22),
    ),
    Direction(mark_limit_us=3_000.0, marks=75, marking_delay_us=520.0),
    Direction(
        marked_as="ect0",
        mark_limit_us=5_700.0,
        marks=8,
        marking_delay_us=3_400.0,
        ect0_ratio=0.02,
        scalable=Neighbors(marks=124, mark_delay_us=850.0),
    ),
    Direction(
        marked_as="ect0", mark_limit_us=3_000.0, marks=90, marking_delay_us=740.0, stepped=0.97
    ),
    Direction(marked_as="ect0", mark_limit_us=8_700.0, marks=20, marking_delay_us=4_200.0),
    Direction(
        seconds=6.5,
        serialisation_us=1_760.0,
        mark_limit_us=4_000.0,
        marks=549,
        all_marks=604,
        marking_delay_us=13_400.0,
        first_marking_us=310.0,
        high_acked=582,
        high_marks=582,
        classic=Neighbors(queue_us=16_000.0, gap=0.05),
    ),
    Direction(
        seconds=6.5,
        serialisation_us=620.0,
        mark_limit_us=3_000.0,
        marks=549,
        all_marks=604,
        marking_delay_us=5_140.0,
        first_marking_us=310.0,
        high_acked=582,
        high_marks=582,
    ),
    Direction(mark_limit_us=5_300.0, marks=57, marking_delay_us=67_000.0),
    Direction(
        mark_limit_us=3_000.0,
        marks=47,
        marking_delay_us=20_000.0,
        path_far_unmarked=20,
        scalable=Neighbors(slots=16, corr=1.0, gap=0.023),
    ),
    Direction(
        mark_limit_us=3_000.0,
        marks=152,
        marking_delay_us=7_400.0,
        far_unmarked=3,
        classic=Neighbors(queue_us=8_000.0, waiting=59, uneven=1.17),
    ),
    Direction(
        mark_limit_us=7_000.0,
        marks=154,
        marking_delay_us=23_000.0,
        far_unmarked=46,
        classic=Neighbors(
            slots=22, queue_us=113_000.0, own_queue_us=31_000.0, least_us=176.0, corr=0.43, gap=0.6
        ),
    ),
    Direction(
        mark_limit_us=3_000.0,
        marks=9,
        marking_delay_us=16_000.0,
        far_unmarked=46,
        first_slots=7,
        first_met=0,
        first_passed=7,
        first_apart_us=6_000.0,
    ),
    Direction(
        mark_limit_us=5_300.0,
        marks=33,
        marking_delay_us=17_000.0,
        far_unmarked=48,
        first_slots=7,
        first_met=7,
        first_passed=0,
    ),
    Direction(
        mark_limit_us=5_400.0,
        marks=99,
        marking_delay_us=6_700.0,
        high_acked=140,
        scalable=Neighbors(slots=58, queue_us=9_800.0),
    ),
    Direction(mark_limit_us=3_000.0, marks=30, marking_delay_us=90_000.0, high_acked=694),
    Direction(
        noise_us=2_900.0,
        queue_max_us=4_600.0,
        mark_limit_us=3_000.0,
        marks=60,
        marking_delay_us=3_300.0,
    ),
    Direction(noise_us=nan, mark_limit_us=3_000.0, marks=8, marking_delay_us=6_300.0),
    Direction(noise_us=8_000.0, mark_limit_us=3_000.0, marks=8, marking_delay_us=6_300.0),
    Direction(mark_limit_us=3_000.0, marks=10, marking_delay_us=4_000.0),
    Direction(
        mark_limit_us=3_000.0,
        first_marking_us=25_000.0,
        high_acked=488,
        scalable=Neighbors(corr=1.0, gap=0.06),
    ),
    Direction(mark_limit_us=3_000.0, first_marking_us=33_000.0, high_acked=124),
    Direction(
        mark_limit_us=3_000.0, all_marks=5, first_marking_us=530.0, ect0_marks=29, ect0_ratio=11.0
    ),
    Direction(mark_limit_us=3_000.0, all_marks=5, first_marking_us=1_300.0),
    Direction(
        marked_as="not_ect",
        lost=117,
        lost_us=1_000.0,
        group_lost=4.0,
        policed_bps=9.55e6,
        policed_uneven=0.024,
    ),
    Direction(erased=True, lost=18, lost_us=45_000.0),
    Direction(erased=True, queue_high_us=270_000.0),
    Direction(erased=True),
    Direction(
        marked_as="ect0",
        mark_limit_us=3_000.0,
        scalable=Neighbors(slots=40, marked_slots=34, mark_delay_us=340.0),
    ),
    Direction(marked_as="not_ect"),
    Direction(all_marks=7),
    Direction(lost=4, lost_us=1_000.0, losses=81, lost_before=99),
    Direction(queue_high_us=3.2, lost=4, lost_us=1_000.0),
    Direction(possible_share=0.9),
    Direction(late_share=0.5, lost=14, lost_us=16_000.0),
    Direction(
        path_max_us=68_000.0,
        lost=12,
        lost_us=67_000.0,
        path_lost=12,
        path_lost_rounds=6,
        path_lost_low_us=70_000.0,
        path_lost_high_us=70_000.0,
    ),
    Direction(
        path_max_us=480_000.0,
        lost=8,
        lost_rounds=8,
        lost_us=15_000.0,
        lost_low_us=25_000.0,
        top_us=57_000.0,
        path_lost_high_us=53_000.0,
    ),
    Direction(queue_delay_us=80_000.0, lost=21, lost_us=80_000.0),
    Direction(lost=2, lost_us=6_000.0),
    Direction(noise_us=8_500.0, queue_max_us=6_800.0),
    Direction(queue_max_us=55.0),
    Direction(queue_max_us=43.0, seen_marks=1),
    Direction(queue_high_us=33_000.0),
    Direction(),
)
"""For each row the least evidence on which it is the first that fires, from simulated runs."""

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
