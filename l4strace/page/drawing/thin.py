"""Fewer points, same picture: min/max thinning."""

from __future__ import annotations

from collections.abc import Sequence

from l4strace.core import _native

MAX_POINTS = 4000
"""Most points of one series on a page (a screen has fewer columns)."""


def thin(values: Sequence[float], most: int = MAX_POINTS) -> Sequence[int]:
    """Indexes of at most ``most`` (4 or more) of ``values``, in order, that keep every peak.

    The values are cut into equal runs; of each the smallest and the largest stay, and the first and
    last of all, so that no spike is lost and the time axis keeps its ends.
    """
    return range(len(values)) if len(values) <= most else _native.thin(values, most)
