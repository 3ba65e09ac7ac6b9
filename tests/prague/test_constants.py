"""Prague's constants: one source, the native core."""

import re

import pytest

from l4strace.core import _native
from l4strace.prague import constants
from tests.support.places import REPOSITORY

PACKAGE = REPOSITORY / "l4strace"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SCALABLE_THRESHOLD", 8),
        ("CLASSIC_THRESHOLD", 9),
        ("SCORE_MAX", 17),
        ("MDEV_REFERENCE_US", 750),
        ("DEPTH_REFERENCE_US", 2000),
        ("V0_LG_20BIT", 5_007_341),
        ("LARGEST_STEP_20BIT", 18 << 19),
        ("CUT_FLOOR", 0.3125),
        ("ALPHA_BITS", (20, 24, 31)),
        ("FRAC_CWND_UNIT", 1 << 20),
        ("GAIN_SHIFT", 4),
    ],
)
def test_the_published_values(name: str, value: object) -> None:
    """Against net/ipv4/tcp_prague.c of the published trees."""
    assert getattr(constants, name) == value


def test_the_zones_are_the_same_in_every_build() -> None:
    zones = {
        tuple(build[key] >> build["bits"] for key in ("l_sticky", "classic_ecn", "c_sticky"))
        for build in _native.prague_builds()
    }
    assert zones == {(8, 9, 17)}


def test_what_is_missing_agrees_with_the_steps_that_the_core_replays() -> None:
    """A step with a deviation of 1 us is minus the reference itself."""
    build = next(build for build in _native.prague_builds() if build["name"] == "20-bit")
    assert -constants.V0_LG_20BIT % build["modulus"] == build["residues"][0]


def test_no_other_module_states_them() -> None:
    """Names of the kernel with a number behind them, as `C_STICKY = 17`."""
    names = r"L_STICKY|C_STICKY|CLASSIC_ECN|[VD]0\w*|\w*FLOOR|FRAC_UNIT|\w*REFERENCE_US"
    stated = re.compile(rf"^({names})\b.*= *[(\d]", re.MULTILINE)
    assert [
        path.name
        for path in PACKAGE.rglob("*.py")
        if path.name != "constants.py" and stated.search(path.read_text())
    ] == ["reductions.py"], "reductions.py labels CUT_FLOOR for the chart"
