"""Starvation beside another flow."""

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.model import Confidence, Skipped
from l4strace.rules.l4s501_starvation import ACTIONS, check
from tests.support.datagrams import COUNT, LINK, over_udp, run, wave
from tests.support.frames import MS, evidence, frame
from tests.support.scenes import DIRECTIONS, FLOWS, starving, two_flows


def test_fires_for_the_one_that_starves() -> None:
    scene = two_flows(coexistence=starving(1, 0))
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
        (found,) = check(two_flows(coexistence=late))
        assert found.confidence is confidence


def test_silent_when_nobody_starves() -> None:
    fed = starving(1, 0).with_columns(starved_since_ns=None)
    assert check(two_flows(coexistence=fed)) == []


def test_skips_a_lone_flow() -> None:
    assert isinstance(check(evidence())[0], Skipped)


def test_the_remedy_follows_from_what_shares_the_queue() -> None:
    """No finding sends its reader to another one: the bottleneck is known here."""
    actions = set()
    for kind in ("fifo", "l4s", "classic", "unknown"):
        necks = frame("bottlenecks", flow=[1], forward=[True], kind=kind)
        scene = two_flows(coexistence=starving(1, 0), bottlenecks=necks)
        (found,) = check(scene)
        assert "L4S4" not in found.action
        actions.add(found.action)
    assert len(actions) == 4


def test_the_remedy_is_that_of_the_capture_nearest_to_the_sender() -> None:
    """In whichever order the captures were given."""
    for near in (0, 1):
        seen = ["server", "client"] if near else ["client", "server"]
        kinds = ["unknown", "l4s"] if near else ["l4s", "unknown"]
        both = [
            frame("bottlenecks", source=source, flow=[1], forward=[True], kind=kind)
            for source, kind in enumerate(kinds)
        ]
        scene = evidence(
            flows=pl.concat(
                FLOWS.with_columns(source=pl.lit(source, pl.UInt16), vantage=pl.lit(place))
                for source, place in enumerate(seen)
            ),
            directions=pl.concat(
                DIRECTIONS.with_columns(source=pl.lit(source, pl.UInt16)) for source in (0, 1)
            ),
            coexistence=starving(1, 0).with_columns(source=pl.lit(near, pl.UInt16)),
            bottlenecks=pl.concat(both),
        )
        assert [found.action for found in check(scene)] == [ACTIONS["l4s"]]


@pytest.mark.parametrize(
    ("transport", "name", "confidence", "action"),
    [
        ("udp-prague", "UDP Prague", Confidence.HIGH, ACTIONS["classic"]),
        ("quic", "QUIC", Confidence.MEDIUM, "Check whether flow 9 responds to marks and losses."),
    ],
)
def test_fires_for_tcp_beside_a_flow_over_udp(
    transport: str, name: str, confidence: Confidence, action: str
) -> None:
    made = run(wave(2.0, COUNT, 100), over_udp([18.0] * 300, transport))
    (found,) = check(pipeline.derive(made, strict=True))
    assert found.message == (
        "Flow 0 (port 40001, ECT(0)) starves from t=0.000 s: 1.97 Mbit/s beside 18 Mbit/s of "
        f"flow 9 ({name}, ECT(1)) while both send."
    )
    assert (found.flow, found.confidence, found.action) == (0, confidence, action)


def test_silent_on_a_call_and_a_game_beside_tcp() -> None:
    for rate, transport in ((3.0, "rtp"), (0.3, "udp")):
        made = run([LINK - rate] * COUNT, over_udp([rate] * 300, transport))
        assert check(pipeline.derive(made, strict=True)) == []
