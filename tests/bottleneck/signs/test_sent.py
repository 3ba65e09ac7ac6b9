"""What was sent, and what of it a capture shows."""

import pytest

from l4strace.bottleneck.evidence import Direction
from l4strace.bottleneck.sign import Sign
from l4strace.bottleneck.signs import sent


@pytest.mark.parametrize(
    ("sign", "shown", "denied"),
    [
        (sent.ect1, {"marked_as": "ect1"}, {"marked_as": "ect0"}),
        (sent.not_ect1, {"marked_as": "not_ect"}, {"marked_as": "ect1"}),
        (sent.not_ect, {"marked_as": "not_ect"}, {"marked_as": "ect0"}),
        (sent.feedback_mangled, {"deaf": True}, {}),
        (
            sent.marked_before,
            {"path_reported": 600, "path_marked_before": 585},
            {"path_reported": 600, "path_marked_before": 200},
        ),
        (sent.marked_before, {"path_marked_before": 1}, {}),
        # What zeroes ACE, zeroes ECE.
        (
            sent.feedback_mangled,
            {"cleared": True, "classic_feedback": True},
            {"cleared": True, "classic_feedback": True, "marks": 1},
        ),
        (sent.erased, {"erased": True}, {}),
        (sent.reordered, {"late_share": 0.001}, {"late_share": 0.0009}),
        (
            sent.reordered,
            {"late_share": 0.06, "losses": 21, "lost_between": 10},
            {"late_share": 0.06, "losses": 21, "lost_between": 11},
        ),
    ],
)
def test_a_sign(sign: Sign, shown: dict[str, object], denied: dict[str, object]) -> None:
    assert sign(Direction(**shown)).true is True
    assert sign(Direction(**denied)).true is False


def test_packets_whose_order_nobody_saw_are_not_known_to_be_late() -> None:
    assert sent.reordered(Direction()).true is None
