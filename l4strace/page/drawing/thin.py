"""Fewer points, same picture: min/max thinning."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

MAX_POINTS = 4000
"""Most points of one series on a page (a screen has fewer columns)."""


def thin(values: Sequence[float], most: int = MAX_POINTS) -> Sequence[int]:
    """Indexes of at most ``most`` (4 or more) of ``values``, in order, that keep every peak.

    The values are cut into equal runs; of each the smallest and the largest stay, and the first and
    last of all, so that no spike is lost and the time axis keeps its ends.
    """
    count = len(values)
    if count <= most:
        return range(count)
    runs = max(1, (most - 2) // 2)
    edges = [-(-run * count // runs) for run in range(runs + 1)]
    kept = {0, count - 1}
    for low, high in pairwise(edges):
        part = values[low:high]
        kept.add(low + part.index(min(part)))
        kept.add(low + part.index(max(part)))
    return sorted(kept)
