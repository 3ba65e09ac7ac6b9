"""Features of a flow direction that say nothing, for tests that state only what matters to them."""

from __future__ import annotations

from typing import Any

PLAIN: dict[str, Any] = {
    "mark_limit_us": 3_000.0,
    "noise_us": 0.0,
    "late_share": 0.0,
    "flat": True,
    "seconds": 8.0,
    "base_us": 10_000.0,
    "floor_us": 10_000.0,
    "queue_max_us": 50_000.0,
    "path_max_us": 50_000.0,
    "met_peak": False,
    "classic_feedback": False,
    "cleared": False,
    "crossed": 0,
    "far_unmarked": 0,
    "path_far_unmarked": 0,
    "ect0_marks": 0,
    "ect0_ratio": None,
    "ect0_counted": False,
    "ect0_most": None,
    "serialisation_us": 600.0,
    "scalable_slots": 0,
    "scalable_within": None,
    "scalable_apart": None,
    "classic_within": None,
    "classic_apart": None,
    "scalable_least_us": 0.0,
    "classic_least_us": 0.0,
    "marks": 0,
    "stepped": None,
    "marking_median_us": None,
    "scalable_uneven": None,
    "classic_uneven": None,
    "scalable_waiting": 0,
    "classic_waiting": 0,
    "scalable_outrun": 0,
    "scalable_outruns": 0,
    "classic_outrun": 0,
    "classic_outruns": 0,
    "scalable_own_marked": 0,
    "scalable_marked_slots": 0,
    "classic_own_marked": 0,
    "classic_marked_slots": 0,
    "first_slots": None,
}
"""No jitter, AccECN, no queue beyond the border left unmarked, no ECT(1) flow beside it, a path
that stays the same."""
