"""Reductions in a log of a user-space sender, and what explains them."""

from l4strace.derive.senders import logged
from l4strace.evidence import Evidence
from tests.support.frames import evidence
from tests.support.sender_logs import marks, saw, scene


def causes(of: Evidence) -> list[str | None]:
    return logged.reductions(of)["cause"].to_list()


def test_a_reduction_has_the_cause_that_the_counts_show() -> None:
    assert causes(scene(saw(2, 0.1))) == [None, None]
    assert causes(scene(saw(2, 0.1), marks(2))) == ["ce", "ce"]
    assert causes(scene(saw(2, 0.1), lost_packets=marks(2))) == ["loss", "loss"]
    assert causes(scene(saw(2, 0.1), [0, 0, *marks(2)[:-2]])) == [None, None], "two behind it"
    assert causes(scene(saw(2, 0.1), [*marks(2)[1:], 2])) == ["ce", "ce"], "one before it"


def test_logs_without_counts_or_bytes_show_none() -> None:
    assert causes(scene(saw(2, 0.1), frac_cwnd=None)) == []
    assert logged.reductions(evidence()).is_empty()


def test_alpha_is_the_most_that_any_law_makes_of_the_marks() -> None:
    found = logged.reductions(scene(saw(20, 0.1), marks(20)))["half_alpha"]
    assert found[0] > 0.2
    # One of 200 packets: alpha comes near to its share.
    assert found[-1] < 0.01
