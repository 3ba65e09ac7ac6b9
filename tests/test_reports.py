"""What strangers' captures showed: each small input gets its right answer."""

from functools import cache

import pytest

from l4strace import pipeline
from l4strace.model import Analysis, Finding, Severity
from tests.support.places import FIXTURES


@cache
def analysis(*names: str) -> Analysis:
    evidence = pipeline.derive(
        pipeline.read([str(FIXTURES / "reports" / f"{name}.pcap.xz") for name in names]),
        strict=True,
    )
    return pipeline.judge(evidence, strict=True)


def worst(*names: str) -> dict[str, Finding]:
    """Findings at WARNING or above, by rule."""
    found = analysis(*names).findings
    return {one.rule: one for one in found if one.severity >= Severity.WARNING}


REMARKED = ("remark-both-ends-snd", "remark-both-ends-rcv")


@pytest.mark.parametrize("names", [REMARKED, REMARKED[::-1]])
def test_a_path_that_makes_ect1_of_ect0_is_to_blame_and_the_sender_is_not(
    names: tuple[str, str],
) -> None:
    assert set(worst(*names)) == {"L4S105"}


def test_the_same_packets_at_the_receiver_alone_accuse_nobody() -> None:
    found = worst("remark-both-ends-rcv")["L4S102"]
    assert "or the path re-marks ECT(0)" in found.message


def test_ce_at_the_sender_accuses_no_hop() -> None:
    found = worst("ce-at-the-sender")
    assert set(found) == {"L4S403"}
    assert "no hop has marked them" in found["L4S403"].message
