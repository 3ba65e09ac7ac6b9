"""Counters without time that bpftrace scripts print: those of the published scripts stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAMES = frozenset(
    ["c_sticky", "transition", "l_sticky"]
    + [
        f"{name}{end}"
        for name in ("mdev_l", "mdev_ge", "sdepth_l", "sdepth_ge")
        for end in ("", "_sum")
    ]
    + [f"mdev_change_{sign}{end}" for sign in ("neg", "pos") for end in ("", "_sum")]
)
"""Maps of trace-classic-ecn.bt, trace-srtt-mdev.bt and trace-classic-ecn-change.bt, read by rules
(Greenscreen23/prague-fallback-experiments)."""


def known(maps: Mapping[str, Any]) -> dict[str, Any]:
    """The counters of ``maps`` that rules read; one `@other` for all that are left out."""
    kept = {
        name: value
        for name, value in maps.items()
        if name.removeprefix("@") in NAMES and isinstance(value, int)
    }
    return kept if len(kept) == len(maps) else kept | {"@other": 0}
