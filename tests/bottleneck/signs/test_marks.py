"""Signs of marks, each on the least evidence that shows it, and on evidence that denies it."""

import pytest

from l4strace.bottleneck.evidence import Direction, Neighbors
from l4strace.bottleneck.sign import Sign
from l4strace.bottleneck.signs import marks

LIMIT = {"mark_limit_us": 3_000.0, "marks": 10}
BEYOND = {**LIMIT, "high_acked": 200}
SLOW = {"mark_limit_us": 6_000.0, "marks": 10}
SURE = Neighbors(slots=20, gap=0.1, corr=0.9)
STEP = {"seconds": 5.0, "serialisation_us": 600.0, "high_acked": 200}
BEGAN = {"mark_limit_us": 3_000.0, "all_marks": 5}
IDLE = {"queue_max_us": 200.0, "first_marking_us": 100.0, "met_peak": True}


@pytest.mark.parametrize(
    ("sign", "shown", "denied"),
    [
        (marks.enough, {"marks": 3}, {"marks": 2}),
        (marks.some, {"all_marks": 1}, {"all_marks": 0}),
        (marks.early, LIMIT | {"marking_delay_us": 900.0}, LIMIT | {"marking_delay_us": 4e3}),
        (marks.about_border, LIMIT | {"marking_delay_us": 4e3}, LIMIT | {"marking_delay_us": 9e2}),
        # Up to CoDel's target a packet may have waited for something else.
        (marks.late, LIMIT | {"marking_delay_us": 6e3}, LIMIT | {"marking_delay_us": 4e3}),
        (marks.late, LIMIT | {"marking_delay_us": 4e3, "classic": SURE}, {**LIMIT, "marks": 2}),
        # Noise that reaches as far hides it, unless most packets that wait as long have no mark.
        (
            marks.late,
            BEYOND | {"marking_delay_us": 9e3, "noise_us": 8e3, "high_marks": 10},
            BEYOND | {"marking_delay_us": 9e3, "noise_us": 8e3, "high_marks": 190},
        ),
        (
            marks.jitter_hides,
            LIMIT | {"marking_delay_us": 5e3, "noise_us": 3e3},
            LIMIT | {"marking_delay_us": 9e3, "noise_us": 3e3},
        ),
        (
            marks.first_far_late,
            LIMIT | {"first_marking_us": 12e3, "acked": 900},
            LIMIT | {"first_marking_us": 9e3, "acked": 900},
        ),
        # Simulated run s9901-081: every packet is marked, the first one when the flow began.
        (
            marks.first_far_late,
            LIMIT | {"first_marking_us": 48e3, "marks": 294, "acked": 900},
            LIMIT | {"first_marking_us": 48e3, "marks": 294, "acked": 294},
        ),
        (
            marks.first_far_late,
            BEYOND | {"first_marking_us": 4e3, "high_marks": 1},
            BEYOND | {"first_marking_us": 4e3, "high_marks": 100},
        ),
        (marks.began_early, BEGAN | {"first_marking_us": 9e2}, BEGAN | {"first_marking_us": 4e3}),
        (
            marks.every_packet,
            {"marks": 96, "acked": 100, "queue_delay_us": 50.0},
            {"marks": 96, "acked": 100, "queue_delay_us": 5e3},
        ),
        (marks.seldom_marked, BEYOND | {"high_marks": 9}, BEYOND | {"high_marks": 190}),
        (marks.tolerated, BEYOND | {"high_marks": 9}, BEYOND | {"high_marks": 190}),
        (
            marks.tolerated,
            {"far_unmarked": 3},
            {"far_unmarked": 0, "high_acked": 200, "high_marks": 200},
        ),
        (
            marks.tolerated,
            {"path_far_unmarked": 9, "classic": SURE},
            {"path_far_unmarked": 0, "classic": SURE, "classic_feedback": True},
        ),
        (
            marks.tolerated,
            {"path_far_unmarked": 9, "classic": SURE, "high_marks": 200},
            {"path_far_unmarked": 9, "classic": SURE, "high_marks": 200, "cleared": True},
        ),
        (
            marks.tolerated,
            {"classic_feedback": True, "high_unmarked": 3},
            {"classic_feedback": True, "high_unmarked": 2, "path_far_unmarked": 0},
        ),
        (marks.all_beyond, STEP | {"high_marks": 195}, STEP | {"high_marks": 150}),
        # In 60 s CoDel marks every packet, too.
        (marks.all_beyond, STEP | {"high_marks": 195}, STEP | {"high_marks": 195, "seconds": 60.0}),
        (
            marks.step_below,
            STEP | BEGAN | {"high_marks": 195, "first_marking_us": 9e2},
            STEP | BEGAN | {"high_marks": 195, "first_marking_us": 9e3},
        ),
        (
            marks.never_beyond,
            {"mark_limit_us": 3e3, "marks": 30, "queue_max_us": 2e3},
            {"mark_limit_us": 3e3, "marks": 30, "queue_max_us": 9e3},
        ),
        (
            marks.hidden_queue,
            {"marking_delay_us": 1e3, "floor_us": 9e3, **LIMIT, "began": False, "flat": False},
            {"marking_delay_us": 1e3, "floor_us": 9e3, **LIMIT},
        ),
        (marks.stepped, {"stepped": 0.8}, {"stepped": 0.7}),
        (marks.slow, SLOW, LIMIT),
        (marks.slow_and_tolerated, SLOW | {"far_unmarked": 3}, LIMIT | {"far_unmarked": 3}),
        # Rounds without a mark of their own, while not one packet of 2,023 was unmarked.
        (
            marks.slow_and_tolerated,
            SLOW | {"far_unmarked": 3, "high_acked": 2_023, "high_marks": 200},
            SLOW | {"far_unmarked": 3, "high_acked": 2_023, "high_marks": 2_023},
        ),
        (
            marks.uncoupled,
            {"ect0_ratio": 0.5, "ect0_marks": 10},
            {"ect0_ratio": 0.2, "ect0_marks": 10},
        ),
        # Runs s7301-098 and, from the sender alone, s9921-045: the marks fell as Reno started.
        (
            marks.uncoupled,
            {"ect0_ratio": 2.0, "ect0_marks": 99, "ect0_parts": 3.0},
            {"ect0_ratio": 2.0, "ect0_marks": 99, "ect0_parts": 2.0},
        ),
        (marks.coupled, {"ect0_ratio": 0.2}, {"ect0_ratio": 0.5}),
        (
            marks.spared,
            LIMIT | IDLE | {"path_max_us": 20e3},
            LIMIT | IDLE | {"path_max_us": 10e3},
        ),
    ],
)
def test_a_sign_of_the_direction(
    sign: Sign, shown: dict[str, object], denied: dict[str, object]
) -> None:
    assert sign(Direction(**shown)).true is True
    assert sign(Direction(**denied)).true is not True


BESIDE = {"slots": 50, "marked_slots": 20, "marks": 40}


@pytest.mark.parametrize(
    ("sign", "own", "shown", "denied"),
    [
        (marks.ect1_marked, LIMIT, {"mark_delay_us": 9e2}, {"mark_delay_us": 4e3}),
        # s5519-029: fq_codel with a target of 10 ms at 3 Mbit/s was an L4S AQM at both ends.
        (marks.ect1_marked, SLOW, {"mark_delay_us": 4e3}, {"mark_delay_us": 5.5e3}),
        (
            marks.far_apart,
            LIMIT | {"marking_delay_us": 1e3},
            {"mark_delay_us": 12e3},
            {"mark_delay_us": 8e3},
        ),
        (
            marks.far_apart,
            LIMIT | {"marking_delay_us": 12e3, "marked_as": "ect0"},
            {"mark_delay_us": 1e3},
            {"mark_delay_us": 20e3},
        ),
        (
            marks.lower_early,
            LIMIT | {"marked_as": "ect0", "serialisation_us": 600.0},
            {"mark_delay_us": 1e3},
            {"mark_delay_us": 4e3},
        ),
        # On a slow link CoDel's marks lie below the border, too.
        (
            marks.lower_early,
            SLOW | {"marked_as": "ect0", "serialisation_us": 2_700.0},
            {"mark_delay_us": 4e3},
            {"mark_delay_us": 5.5e3},
        ),
        (marks.others_early, LIMIT, {"mark_delay_us": 5e3}, {"mark_delay_us": 7e3}),
        (
            marks.others_early,
            LIMIT,
            {"mark_delay_us": 5e3},
            {"mark_delay_us": 5e3, "marked_slots": 9},
        ),
    ],
)
def test_a_sign_of_the_flows_beside(
    sign: Sign, own: dict[str, object], shown: dict[str, float], denied: dict[str, float]
) -> None:
    d = Direction(**own)
    apart = {"gap": 0.9, "corr": 0.0, "apart": 0.5}
    assert sign(d, Neighbors(**BESIDE | apart | shown)).true is True
    assert sign(d, Neighbors(**BESIDE | apart | denied)).true is False
    assert sign(d).true is not True


def test_ect1_packets_that_are_marked_early_are_its_own_or_those_beside() -> None:
    own = Direction(**LIMIT, marking_delay_us=900.0)
    beside = Neighbors(slots=50, marked_slots=20, mark_delay_us=900.0)
    other = Direction(marked_as="ect0", mark_limit_us=3_000.0, scalable=beside)
    assert marks.ect1_early(own).true
    assert marks.ect1_early(other).true
    assert not marks.ect1_early(Direction(**SLOW, marking_delay_us=900.0)).true


def test_the_delay_is_no_more_precise_than_the_capture_shows_it() -> None:
    d = Direction(**LIMIT, marking_delay_us=300.0, serialisation_us=900.0)
    assert "marks begin below 900 us (one packet)" in marks.early.worded(marks.early(d))
    assert marks.early(Direction(**LIMIT)).true is None
