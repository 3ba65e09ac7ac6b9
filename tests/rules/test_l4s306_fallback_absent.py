"""Builds without the fallback."""

import pytest

from l4strace.model import Severity, Skipped
from l4strace.rules.l4s306_fallback_absent import check
from tests.support.scenes import bottleneck, log, two_flows


def scene(kind: str = "l4s", **columns: object):
    return two_flows(bottlenecks=bottleneck(kind), kernel=log(**({"classic_ecn": None} | columns)))


def test_fires_as_information_on_an_l4s_path() -> None:
    (found,) = check(scene())
    assert found.severity is Severity.INFO


def test_fires_as_warning_where_a_classic_aqm_asks_for_it() -> None:
    (found,) = check(scene("classic"))
    assert found.severity is Severity.WARNING


def test_silent_where_the_score_is_recorded() -> None:
    assert check(scene(classic_ecn=0.0)) == []


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"event": "poll"}, "the kernel log does not probe Prague's own functions"),
        # A struct prague that fits no known layout: its functions were probed, its fields not read.
        ({"alpha": None}, "the kernel log probes Prague's functions, but not its state"),
    ],
)
def test_skipped_where_the_log_shows_no_state(columns: dict[str, object], reason: str) -> None:
    assert check(scene(**columns)) == [Skipped(reason)]
