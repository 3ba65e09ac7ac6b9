"""The path between two captures as text: one sentence and one line per direction with data."""

from __future__ import annotations

from collections.abc import Iterator

from l4strace.evidence import Capture
from l4strace.output.columns import aligned
from l4strace.wording import paths
from l4strace.wording.quantities import quantity
from l4strace.wording.wrap import WIDTH, wrapped

HEADS = ("flow", "direction", "both ends", "lost", "marked", "re-marked", "median", "P99")
DELAYS = "One-way delay above its minimum (queue and jitter), marks and losses by direction:"
MAX_DIRECTIONS = 8
"""Directions; the page and JSON have more."""


def lines(capture: Capture, width: int = WIDTH) -> Iterator[str]:
    """Lines on what the path changed; none unless two captures saw the same packets."""
    facts = paths.statements(capture)
    if not facts:
        return
    yield wrapped(" ".join(facts), width)
    carried = paths.with_data(capture.paths, capture.directions)
    rows = [_cells(row) for row in carried.head(MAX_DIRECTIONS).iter_rows(named=True)]
    if not rows:
        return
    yield wrapped(DELAYS, width)
    yield from aligned([HEADS, *rows], HEADS[2:])


def _cells(row: dict[str, object]) -> tuple[str, ...]:
    delays = (row["owd_median_us"], row["owd_p99_us"])
    return (
        str(row["flow"]),
        "to server" if row["forward"] else "to client",
        f"{row['matched']:,}",
        "-" if row["lost"] is None else f"{row['lost']:,}",
        f"{paths.marked(row):,}",
        f"{paths.changed(row):,}",
        *("-" if delay is None else quantity(delay, "us") for delay in delays),  # type: ignore[arg-type]
    )
