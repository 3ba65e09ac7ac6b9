"""Packet charts that `figures --packets` writes: one page for each flow that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from l4strace import console
from l4strace.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from l4strace.ingest.selection import Selection
    from l4strace.model import Stretch
    from l4strace.page.case import Case
    from l4strace.page.direction import Direction
    from l4strace.pipeline import Judged

MOST_PACKETS = 250_000
"""Packets of a page: some 3 MB, which a browser still moves smoothly."""


def pages(run: Judged, selection: Selection) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Name and maker of each page. Raises UsageError where no packets can be drawn."""
    from l4strace.evidence_packets.stretches import filled
    from l4strace.model import Stretch
    from l4strace.page.case import Case

    case = Case(run.evidence, run.analysis)
    flows = selection.numbers(run.evidence) if selection.of_flows else [None]
    known = [one for flow in flows if (one := _larger(case, flow)) is not None]
    if not known:
        raise UsageError("no flow with data to draw", "`l4strace flows` lists them.")
    first_ns, end_ns = selection.bounds_ns(run.read)
    planned = [
        Stretch(one.source, one.flow, one.forward, first_ns, end_ns - 1, moments={})
        for one in known
    ]
    # One more than is drawn shows whether there are more.
    stretches = list(filled(run.read, planned, MOST_PACKETS + 1))
    for direction, stretch in zip(known, stretches, strict=True):
        if stretch.packets is None or stretch.packets.is_empty():
            raise UsageError("no packet lies between --from and --to")
        page = partial(_page, run, direction, stretch, stretch.packets)
        yield f"packets-{direction.key}.html", page


def _larger(case: Case, flow: int | None) -> Direction | None:
    """The direction of the flow that carried more."""
    both = [case.direction(flow, forward) for forward in (True, False)]
    known = [one for one in both if one is not None]
    return max(known, key=lambda one: one.totals["payload_bytes"] or 0, default=None)


def _page(run: Judged, direction: Direction, stretch: Stretch, packets: pl.DataFrame) -> bytes:
    from l4strace.page import packet_page
    from l4strace.wording.moments import axis_of
    from l4strace.wording.names import direction_name
    from l4strace.wording.quantities import count

    drawn = packets.head(MOST_PACKETS)
    if drawn.height < packets.height:
        first = f"the first {count(drawn.height, 'packet')}"
        console.note(f"only {first} are drawn: narrow --from and --to")
    flow = direction.row
    shown = packet_page.Shown(
        f"Packets of flow {direction.flow}: {direction_name(flow, direction.forward)}",
        count(drawn.height, "packet"),
        axis_of(run.read).origin_ns,
        flow,
    )
    return packet_page.encoded(stretch._replace(packets=drawn), shown)
