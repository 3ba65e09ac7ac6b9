"""Counters of the published bpftrace scripts: what logs without time still show.

The names are those of Greenscreen23/prague-fallback-experiments (trace-classic-ecn.bt,
trace-classic-ecn-change.bt, trace-srtt-mdev.bt).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

V0_20BIT = 5_007_341
"""Threshold of the RTT deviation as a step subtracts it: log2(750) * 2^20 / 2 (V0_LG of a 20-bit
build, tcp_prague.c)."""

V0_24BIT = 80_117_470
"""The same on a 24-bit scale, where it is correct: 160234941 / 2 (L4STeam/linux issue 38)."""

MOST_20BIT = 18 << 19
"""Largest rise of a 20-bit build in one step: half of an integer logarithm of at most 18
(2^18 us of deviation), on a 20-bit scale."""


@dataclass(frozen=True)
class Zones:
    """Reductions by zone of the score: classic (at least 9), transition, scalable (at most 8)."""

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
        return f"{acting:,} of {self.total:,} reductions were made at a score above 8"


@dataclass(frozen=True)
class Inputs:
    """How often the detector's inputs were below their thresholds, and their means."""

    low_share: float
    mdev_us: float
    depth_us: float
    text: str


def number(maps: Mapping[str, Any], name: str) -> int:
    """A counter by name, with or without bpftrace's `@`; 0 when it is not there."""
    value = maps.get(f"@{name}", maps.get(name, 0))
    return value if isinstance(value, int) else 0


def has(maps: Mapping[str, Any], *names: str) -> bool:
    """Whether any of the counters is there."""
    return any(f"@{name}" in maps or name in maps for name in names)


def zones(maps: Mapping[str, Any]) -> Zones | None:
    """Reductions per zone (trace-classic-ecn.bt)."""
    if not has(maps, "c_sticky", "l_sticky"):
        return None
    return Zones(number(maps, "c_sticky"), number(maps, "transition"), number(maps, "l_sticky"))


def inputs(maps: Mapping[str, Any]) -> Inputs | None:
    """RTT deviation and queue delay against 750 and 2000 us (trace-srtt-mdev.bt)."""
    if not has(maps, "mdev_l", "mdev_ge"):
        return None
    counts = {name: number(maps, name) for name in ("mdev_l", "mdev_ge", "sdepth_l", "sdepth_ge")}
    sums = {name: number(maps, f"{name}_sum") for name in counts}
    mdevs, depths = counts["mdev_l"] + counts["mdev_ge"], counts["sdepth_l"] + counts["sdepth_ge"]
    mdev_us = (sums["mdev_l"] + sums["mdev_ge"]) / max(1, mdevs)
    depth_us = (sums["sdepth_l"] + sums["sdepth_ge"]) / max(1, depths)
    text = (
        f"RTT deviation was below 0.75 ms in {counts['mdev_l']:,} of {mdevs:,} detector steps "
        f"(mean {mdev_us / 1000:.2f} ms)"
    )
    if depths:
        text += (
            f" and queue delay below 2 ms in {counts['sdepth_l']:,} of {depths:,} "
            f"(mean {depth_us / 1000:.2f} ms)"
        )
    low = min(
        counts["mdev_l"] / max(1, mdevs), counts["sdepth_l"] / max(1, depths) if depths else 1
    )
    return Inputs(low, mdev_us, depth_us, text)


def scaling_bug(maps: Mapping[str, Any]) -> str | None:
    """Proof of the scaling bug from the sums of steps (trace-classic-ecn-change.bt), or None.

    A step with a deviation of 1 us subtracts exactly the threshold. The bug is the threshold of a
    20-bit build in a score whose rises are larger than a 20-bit build can make.
    """
    falls, rises = number(maps, "mdev_change_neg"), number(maps, "mdev_change_pos")
    if not falls or not rises:
        return None
    fall = number(maps, "mdev_change_neg_sum") / falls
    rise = number(maps, "mdev_change_pos_sum") / rises
    if abs(fall) != V0_20BIT or rise <= MOST_20BIT:
        return None
    return (
        f"the score falls by {V0_20BIT:,} per step, which is log2(750)/2 on a 20-bit scale, but "
        f"rises by {rise:,.0f} on average, where a 20-bit build adds at most {MOST_20BIT:,}"
    )
