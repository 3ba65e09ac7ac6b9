"""Alpha sixteen times too large or too small."""

import polars as pl
import pytest

from l4strace.model import Confidence, Severity
from l4strace.rules.l4s209_alpha_scale_misread import check
from tests.support.frames import frame, rounds
from tests.support.scenes import log, two_flows


def scene(stats: pl.DataFrame | None = None, **columns: object):
    return two_flows(
        **{} if stats is None else {"stats": stats},
        rounds=rounds(200, alpha=0.02, alpha_lo=0.02, alpha_hi=0.02, ce_best=1),
        kernel=log(**({"event": "poll"} | columns)),
    )


def test_fires_beyond_one() -> None:
    (found,) = check(scene(alpha=[16.0] + [0.32] * 199))
    assert found.confidence is Confidence.HIGH
    assert [m.value for m in found.measures] == [16.0]


@pytest.mark.parametrize(("alpha", "times"), [(0.32, 16.0), (0.00125, 1 / 16)])
def test_fires_on_sixteen_times_what_the_marks_give_or_a_sixteenth(alpha: float, times: float):
    (found,) = check(scene(alpha=alpha))
    assert found.confidence is Confidence.MEDIUM
    assert [m.value for m in found.measures] == [alpha, pytest.approx(times)]


def test_silent_on_the_right_scale() -> None:
    assert check(scene()) == []
    assert check(scene(alpha=0.005)) == []
    assert check(scene(alpha=0.1)) == []


def test_silent_while_the_start_of_alpha_is_not_known() -> None:
    """Builds start alpha at 1 or at 0: soon after, the replay may be sixteen times too large."""
    late = rounds(40, alpha=0.32, alpha_lo=0.01, alpha_hi=0.32, ce_best=1)
    scene_of = two_flows(rounds=late, kernel=log(event="poll", alpha=0.02))
    assert check(scene_of) == []


def test_reports_a_width_that_the_samples_overrule() -> None:
    claim = "The log claims 24 bits of alpha; its samples show 20."
    stats = frame("stats", source=1, name="alpha_scale_overruled", count=1, detail=claim)
    (found,) = check(scene(stats=stats))
    assert (found.severity, found.confidence) == (Severity.INFO, Confidence.HIGH)
    assert found.message.startswith(claim)
