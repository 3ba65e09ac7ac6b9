"""The distribution of queue delay over the runs of a study: a curve for each class and group."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import polars as pl

from l4strace.errors import UsageError
from l4strace.page.drawing.figure import Figure, Trace
from l4strace.page.drawing.layout import chart
from l4strace.page.drawing.palette import FLOWS
from l4strace.studies.cells import Tables
from l4strace.studies.dataset import parameters_of
from l4strace.studies.parameters import PREFIX, Value, order

NAME = "queue_delay_cdf"
"""How `-m` of `l4strace figures` calls it."""
TITLE = "queue delay of acknowledged packets"
HEIGHT = 360
POINTS = 160
LEAST_MS = 0.01
"""Left end of the logarithmic axis: shorter delays are drawn here."""
CLASSES = {True: ("L4S", "solid"), False: ("classic", "dash")}
Group = tuple[Value | None, ...]


@dataclass(frozen=True)
class Curve:
    """The mean over ``runs`` of the share of packets that waited at most so long."""

    group: Group
    l4s: bool
    runs: int
    delays_ms: tuple[float, ...]
    shares: tuple[float, ...]


def curves(tables: Tables, each: Sequence[str] = ()) -> list[Curve]:
    """A curve for each class and each combination of values of the parameters ``each``.

    Every run counts as much as any other, however many packets it has. Raises UsageError where no
    run has queue delays from packets, for unknown parameters, and for more groups than colors.
    """
    runs, delays = tables["runs"], tables["delays"]
    if delays.is_empty():
        raise UsageError("no run has queue delays from packets", "Sweep captures at the senders.")
    if unknown := [name for name in each if name not in parameters_of(runs)]:
        known = ", ".join(parameters_of(runs)) or "none"
        raise UsageError(f"no parameter {unknown[0]!r}", f"Parameters: {known}.")
    columns = [PREFIX + name for name in each]
    found = delays.join(runs.select("run", *columns), on="run")
    parts = {(key[:-1], bool(key[-1])): part for key, part in found.group_by(*columns, "l4s")}
    groups = sorted({group for group, _ in parts}, key=lambda group: [order(v) for v in group])
    if len(groups) > len(FLOWS):
        raise UsageError(
            f"{len(groups)} groups, and colors for {len(FLOWS)}", "Choose runs with --where."
        )
    axis = _axis(found["queue_delay_us"])
    return [
        _curve(group, l4s, parts[group, l4s], axis)
        for group, l4s in product(groups, CLASSES)
        if (group, l4s) in parts
    ]


def _axis(delays_us: pl.Series) -> tuple[float, ...]:
    """Delays in equal ratios from the left end to the largest."""
    high = max(float(delays_us.max() or 0.0) / 1000, 2 * LEAST_MS)  # type: ignore[arg-type]
    ratio = (high / LEAST_MS) ** (1 / (POINTS - 1))
    return (*(LEAST_MS * ratio**step for step in range(POINTS - 1)), high)


def _curve(group: Group, l4s: bool, part: pl.DataFrame, axis: tuple[float, ...]) -> Curve:
    known = [
        (one["queue_delay_us"].to_list(), one["share"].to_list())
        for _, one in part.sort("run", "share").group_by("run", maintain_order=True)
    ]
    shares = tuple(
        sum(_share(delays, shares, at * 1000) for delays, shares in known) / len(known)
        for at in axis
    )
    return Curve(group, l4s, len(known), axis, shares)


def _share(delays: Sequence[float], shares: Sequence[float], at: float) -> float:
    """Share of the packets that waited at most ``at``, linear between the points of a run."""
    # The largest delay, on the axis as a product of ratios, may lie a rounding below itself.
    above = bisect_right(delays, at * (1 + 1e-9))
    if above in (0, len(delays)):
        return shares[-1] if above else 0.0
    low, high = delays[above - 1], delays[above]
    return shares[above - 1] + (shares[above] - shares[above - 1]) * (at - low) / (high - low)


def drawn(tables: Tables, each: Sequence[str] = ()) -> Figure:
    """The curves as one figure: solid lines are L4S, dashed ones classic."""
    found = curves(tables, each)
    groups = list(dict.fromkeys(curve.group for curve in found))
    traces = list(_traces(found, groups, each))
    return chart(
        traces,
        "queue delay (ms)",
        "share of packets",
        x={"type": "log"},
        y={"range": [0, 1.02]},
        height=HEIGHT,
    )


def _traces(found: Sequence[Curve], groups: list[Group], each: Sequence[str]) -> Iterator[Trace]:
    for curve in found:
        name, dash = CLASSES[curve.l4s]
        values = (f"{name} {value}" for name, value in zip(each, curve.group, strict=True))
        yield {
            "type": "scatter",
            "mode": "lines",
            "name": ", ".join((name, *values, f"n={curve.runs}")),
            "x": list(curve.delays_ms),
            "y": list(curve.shares),
            "line": {"color": FLOWS[groups.index(curve.group)].light, "dash": dash, "width": 2},
        }
