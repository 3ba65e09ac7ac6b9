"""Packet charts that `figures --packets` writes: one page for each flow that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from l4strace import console
from l4strace.errors import UsageError

if TYPE_CHECKING:
    from l4strace.ingest.selection import Selection
    from l4strace.page.case import Case
    from l4strace.page.direction import Direction
    from l4strace.pipeline import Judged

MOST_PACKETS = 250_000
"""Packets of a page: some 3 MB, which a browser still moves smoothly."""


def pages(run: Judged, selection: Selection) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Name and maker of each page. Raises UsageError where no packets of TCP can be drawn."""
    from l4strace.page.case import Case

    case = Case(run.evidence, run.analysis)
    flows = selection.numbers(run.evidence) if selection.of_flows else [None]
    found = [_larger(case, flow) for flow in flows]
    known = [one for one in found if one is not None and not one.over_udp]
    if not known:
        raise UsageError("no flow of TCP with data to draw", "`l4strace flows` lists them.")
    for direction in known:
        yield f"packets-{direction.key}.html", partial(_page, run, selection, direction)


def _larger(case: Case, flow: int | None) -> Direction | None:
    """The direction of the flow that carried more."""
    both = [case.direction(flow, forward) for forward in (True, False)]
    known = [one for one in both if one is not None]
    return max(known, key=lambda one: one.totals["payload_bytes"] or 0, default=None)


def _page(run: Judged, selection: Selection, direction: Direction) -> bytes:
    from l4strace.evidence_packets.stretches import filled
    from l4strace.model import Stretch
    from l4strace.page import packet_page
    from l4strace.wording.moments import axis_of
    from l4strace.wording.names import direction_name
    from l4strace.wording.quantities import count

    first_ns, end_ns = selection.bounds_ns(run.read)
    wanted = Stretch(
        direction.source, direction.flow, direction.forward, first_ns, end_ns - 1, moments={}
    )
    (stretch,) = filled(run.read, [wanted], MOST_PACKETS)
    packets = 0 if stretch.packets is None else stretch.packets.height
    if not packets:
        raise UsageError("no packet lies between --from and --to")
    if packets == MOST_PACKETS:
        console.note(f"only the first {count(packets, 'packet')} are drawn: narrow --from and --to")
    flow = direction.row
    shown = packet_page.Shown(
        f"Packets of flow {direction.flow}: {direction_name(flow, direction.forward)}",
        count(packets, "packet"),
        axis_of(run.read).origin_ns,
        flow,
    )
    return packet_page.encoded(stretch, shown)
