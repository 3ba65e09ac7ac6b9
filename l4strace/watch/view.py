"""The screen: one block per flow direction, findings below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from l4strace.model import Severity
from l4strace.schema.words import CODEPOINTS
from l4strace.watch.lanes import Lane
from l4strace.wording.quantities import count, quantity, share

BARS = " ▁▂▃▄▅▆▇█"
COLORS = {"not_ect": "white", "ect0": "yellow", "ect1": "cyan", "ce": "red"}
LETTERS = {"not_ect": "-", "ect0": "0", "ect1": "1", "ce": "C"}
ZONES = {"scalable": "green", "transition": "yellow", "classic": "red"}
MIX_WIDTH = 24
MOST_FINDINGS = 8
SEVERITIES = {
    Severity.ERROR: "red",
    Severity.WARNING: "yellow",
    Severity.NOTICE: "cyan",
    Severity.INFO: "white",
}


def sparkline(values: Iterable[float], top: float | None = None) -> str:
    """One character per value, scaled to the largest or to ``top``."""
    values = list(values)
    highest = top or max(values, default=0.0)
    if highest <= 0:
        return BARS[1] * len(values)
    steps = len(BARS) - 1
    return "".join(BARS[max(0, min(steps, round(steps * v / highest)))] for v in values)


def delay(us: float | None) -> str:
    """`1.23 ms`, a dash for null."""
    return "-" if us is None else quantity(us, "us")


def mix(counts: dict[str, int]) -> Text:
    """The codepoints of the last second as a bar; letters and not only colors distinguish them."""
    total = sum(counts.values())
    text = Text()
    for name, packets in counts.items():
        width = round(MIX_WIDTH * packets / total) if total else 0
        width = max(width, 1 if packets else 0)
        text.append(LETTERS[name] * width, style=COLORS[name])
    return text


def lane_lines(lane: Lane) -> Table:
    """One flow direction."""
    table = Table.grid(padding=(0, 1))
    table.add_column(width=10, style="bold")
    table.add_column(width=14, justify="right")
    table.add_column(no_wrap=True)
    title = Text(f"{lane.name}  {lane.mode}" + (f", {lane.cc}" if lane.cc else ""), style="bold")
    table.add_row("throughput", quantity(lane.rate_bps, "bit/s"), sparkline(lane.rates))
    table.add_row("queue", delay(lane.queue_us), sparkline(lane.queues))
    marked = "-" if lane.ce_share is None else f"{share(lane.ce_share)} CE"
    table.add_row("marks", marked, sparkline(lane.marks, 1.0))
    table.add_row("codepoints", "", mix(lane.mix))
    table.add_row("state", f"cwnd {lane.cwnd:.0f}" if lane.cwnd else "cwnd -", state(lane))
    outer = Table.grid()
    outer.add_row(title)
    outer.add_row(table)
    return outer


def state(lane: Lane) -> Text:
    """RTT, alpha and the zone of the fallback's score, with where each comes from."""
    text = Text(f"RTT {delay(lane.rtt_us)}")
    if lane.alpha is not None:
        text.append(f"  alpha {lane.alpha:.3f} ({lane.alpha_source})")
    if lane.classic_ecn is not None:
        text.append(f"  classic_ecn {lane.classic_ecn:.1f} ")
        text.append(lane.zone, style=ZONES[lane.zone])
        text.append(f" ({lane.classic_source})")
    return text


def screen(
    lanes: Sequence[Lane],
    status: dict[str, Any],
    findings: Sequence[tuple[Severity, str, str]],
    note: str,
) -> RenderableType:
    """Everything: ``findings`` are (severity, rule, message), worst first."""
    head = Text("l4strace watch", style="bold")
    head.append(f"  {status.get('seconds', 0):.0f} s, {count(status.get('packets', 0), 'packet')}")
    if "dropped" in status:
        head.append(f", {status['dropped']:,} dropped")
    if "events" in status:
        head.append(f"; {status['events']:,} kernel events, {status.get('lost', 0):,} lost")
    parts: list[RenderableType] = [head, legend()]
    parts += [lane_lines(lane) for lane in lanes] or [Text("waiting for data ...")]
    parts.append(Text(f"findings: {len(findings)}" if findings else "findings: none so far"))
    for severity, rule, message in findings[:MOST_FINDINGS]:
        line = Text(f"{severity.name.lower():8}", style=SEVERITIES[severity])
        line.append(f"{rule} {message}", style="default")
        parts.append(line)
    parts.append(Text(note, style="dim"))
    return Group(*parts)


def legend() -> Text:
    """Which letter of the bar is which codepoint."""
    text = Text("codepoints: ")
    for name, letter in LETTERS.items():
        text.append(f"{letter} {CODEPOINTS[name]}  ", style=COLORS[name])
    return text
