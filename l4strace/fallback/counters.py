"""Counters of the published bpftrace scripts: evidence from logs that have no timestamps.

The names are those of Greenscreen23/prague-fallback-experiments (trace-classic-ecn.bt,
trace-classic-ecn-change.bt, trace-srtt-mdev.bt).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from l4strace.prague.constants import (
    DEPTH_REFERENCE_US,
    LARGEST_STEP_20BIT,
    MDEV_REFERENCE_US,
    SCALABLE_THRESHOLD,
    V0_LG_20BIT,
)
from l4strace.wording.quantities import quantity

MDEV_REFERENCE, DEPTH_REFERENCE = (
    quantity(us, "us") for us in (MDEV_REFERENCE_US, DEPTH_REFERENCE_US)
)
"""References that the scripts compare with: V0 and D0 of tcp_prague.c."""


class Zones(NamedTuple):
    """How many reductions fell into each zone of the score (below 8, 8 to 9, above 9)."""

    classic: int
    transition: int
    scalable: int

    @property
    def classic_share(self) -> float:
        return (self.classic + self.transition) / max(1, self.total)

    @property
    def total(self) -> int:
        return self.classic + self.transition + self.scalable

    @property
    def text(self) -> str:
        acting = self.classic + self.transition
        return f"{acting:,} of {self.total:,} reductions at a score above {SCALABLE_THRESHOLD:g}"


class Inputs(NamedTuple):
    """Means of the detector's inputs, and the share of steps below their references.

    ``low_share`` is the smaller of the shares of RTT deviation and queue delay.
    """

    low_share: float
    mdev_us: float
    depth_us: float
    text: str


def number(maps: Mapping[str, Any], name: str) -> int:
    """A counter by name, with or without bpftrace's `@`; 0 when it is absent."""
    value = maps.get(f"@{name}", maps.get(name, 0))
    return value if isinstance(value, int) else 0


def has(maps: Mapping[str, Any], *names: str) -> bool:
    """Whether any of the counters exists."""
    return any(f"@{name}" in maps or name in maps for name in names)


def zones(maps: Mapping[str, Any]) -> Zones | None:
    """Reductions per zone (trace-classic-ecn.bt)."""
    if not has(maps, "c_sticky", "l_sticky"):
        return None
    return Zones(number(maps, "c_sticky"), number(maps, "transition"), number(maps, "l_sticky"))


def inputs(maps: Mapping[str, Any]) -> Inputs | None:
    """RTT deviation and queue delay against their references (trace-srtt-mdev.bt)."""
    if not has(maps, "mdev_l", "mdev_ge"):
        return None
    counts = {name: number(maps, name) for name in ("mdev_l", "mdev_ge", "sdepth_l", "sdepth_ge")}
    sums = {name: number(maps, f"{name}_sum") for name in counts}
    mdevs, depths = counts["mdev_l"] + counts["mdev_ge"], counts["sdepth_l"] + counts["sdepth_ge"]
    mdev_us = (sums["mdev_l"] + sums["mdev_ge"]) / max(1, mdevs)
    depth_us = (sums["sdepth_l"] + sums["sdepth_ge"]) / max(1, depths)
    text = (
        f"RTT deviation was below {MDEV_REFERENCE} in {counts['mdev_l']:,} of {mdevs:,} steps "
        f"(mean {quantity(mdev_us, 'us')})"
    )
    if depths:
        text += (
            f" and queue delay below {DEPTH_REFERENCE} in {counts['sdepth_l']:,} of {depths:,} "
            f"(mean {quantity(depth_us, 'us')})"
        )
    low = min(
        counts["mdev_l"] / max(1, mdevs), counts["sdepth_l"] / max(1, depths) if depths else 1
    )
    return Inputs(low, mdev_us, depth_us, text)


def scaling_bug(maps: Mapping[str, Any]) -> str | None:
    """Proof of the scaling bug from the sums of steps (trace-classic-ecn-change.bt), or None.

    A step at an RTT deviation of 1 us is minus the reference itself. The bug shows as the 20-bit
    reference in a score that rises by more than any 20-bit step.
    """
    falls, rises = number(maps, "mdev_change_neg"), number(maps, "mdev_change_pos")
    if not falls or not rises:
        return None
    fall = number(maps, "mdev_change_neg_sum") / falls
    rise = number(maps, "mdev_change_pos_sum") / rises
    if abs(fall) != V0_LG_20BIT or rise <= LARGEST_STEP_20BIT:
        return None
    return (
        f"steps fall by {V0_LG_20BIT:,}, the reference of {MDEV_REFERENCE} on a 20-bit scale, but "
        f"rise by {rise:,.0f} on average, which only a 24-bit scale allows"
    )
