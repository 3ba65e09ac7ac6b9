"""Starvation beside another flow."""

from l4strace.model import Confidence, Skipped
from l4strace.rules.l4s501_starvation import check
from tests.support.frames import MS, evidence, frame
from tests.support.scenes import DIRECTIONS, FLOWS, starving


def test_fires_for_the_one_that_starves() -> None:
    scene = evidence(flows=FLOWS, directions=DIRECTIONS, coexistence=starving(1, 0))
    (found,) = check(scene)
    assert found.flow == 1
    assert found.message == (
        "Flow 1 (port 40002, ECT(0)) starves from t=2.0 s: 5 Mbit/s beside 45 Mbit/s of flow 0 "
        "(port 40001, ECT(1)) while both send."
    )


def test_a_share_that_fell_late_is_less_sure() -> None:
    """Lab runs s801-010 and s11-041: fair for seven seconds, a sixth in the last two."""
    for since, confidence in ((9_000, Confidence.HIGH), (15_000, Confidence.MEDIUM)):
        late = starving(1, 0).head(1).with_columns(starved_since_ns=since * MS)
        (found,) = check(evidence(flows=FLOWS, directions=DIRECTIONS, coexistence=late))
        assert found.confidence is confidence


def test_silent_when_nobody_starves() -> None:
    fed = starving(1, 0).with_columns(starved_since_ns=None)
    assert check(evidence(flows=FLOWS, directions=DIRECTIONS, coexistence=fed)) == []


def test_skips_a_lone_flow() -> None:
    assert isinstance(check(evidence())[0], Skipped)


def test_the_remedy_follows_from_what_shares_the_queue() -> None:
    """No finding sends its reader to another one: the bottleneck is known here."""
    actions = set()
    for kind in ("fifo", "l4s", "classic", "unknown"):
        necks = frame("bottlenecks", flow=[1], forward=[True], kind=kind)
        scene = evidence(
            flows=FLOWS, directions=DIRECTIONS, coexistence=starving(1, 0), bottlenecks=necks
        )
        (found,) = check(scene)
        assert "L4S4" not in found.action
        actions.add(found.action)
    assert len(actions) == 4
