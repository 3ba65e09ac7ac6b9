"""A comparison in words: which measures differ, in which cells, by how much, and what was too
small to see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from l4strace.comparison.comparison import METHODS, Comparison, Measured
from l4strace.console import one_line
from l4strace.derive.coexistence import STARVED_SHARE
from l4strace.studies.parameters import PREFIX, order
from l4strace.wording.quantities import count, digits, quantity, share

MOST_CELLS = 6
"""Cells that are listed one by one; of more the groups are named."""
STARVED = "l4s_share"
CHANCE = "One run a side: whatever differs below may be chance"


def render(comparison: Comparison) -> str:
    """The comparison for the terminal."""
    lines = [*head(comparison), ""]
    judged = [measured for measured in comparison.measures if measured.judged]
    equal = [m for m in comparison.measures if not m.judged and m.cells["difference"].eq(0).all()]
    once = {name for names in comparison.alike for name in names[1:]}
    for measured in comparison.measures:
        if measured in equal or measured.name in once:
            continue
        if measured not in judged or measured.cells["differs"].any():
            lines += describe(comparison, measured)
            others = next((names for names in comparison.alike if names[0] == measured.name), ())
            if others:
                lines.append(f"  The same change in: {', '.join(others[1:])}")
    if equal:
        names = ", ".join(measured.name for measured in equal)
        lines.append(f"Equal in all pairs, not judged: {names}")
    same = [m for m in judged if not m.cells["differs"].any()]
    if same:
        lines.append(f"No difference shown: {', '.join(measured.name for measured in same)}")
        for measured in same:
            lines += [f"  {line}" for line in (*two_modes(comparison, measured), *power(measured))]
    return "\n".join(lines).rstrip()


def head(comparison: Comparison) -> list[str]:
    """Who is compared, how the runs are paired and how the tests are corrected."""
    first, second = map(one_line, comparison.names)
    by = f"{one_line(comparison.by)}: " if comparison.by else ""
    cells = max(measured.cells.height for measured in comparison.measures)
    pairs = ", ".join(map(one_line, comparison.parameters)) or "nothing: all runs are one cell"
    lines = [f"{by}{first} -> {second}", f"{count(cells, 'cell')}, paired by {pairs}"]
    if comparison.unpaired:
        lines.append(f"Left out: {count(comparison.unpaired, 'cell')} that only one side has")
    if comparison.apart:
        lines.append(f"The sides also differ in: {', '.join(map(one_line, comparison.apart))}")
    if len(set(comparison.origins[0]) | set(comparison.origins[1])) > 1:
        kinds = " -> ".join(" and ".join(one) or "unknown" for one in comparison.origins)
        lines.append(f"Numbers from {kinds}, which are not measured in the same place")
    if not any(measured.judged for measured in comparison.measures):
        lines.append(CHANCE)
        return lines
    method = METHODS[comparison.method]
    lines.append(
        f"A difference: p below 5 % after {method}'s correction for all cells and measures"
    )
    return lines


def describe(comparison: Comparison, measured: Measured) -> list[str]:
    """A measure: the sentence, its groups of cells, and what its runs could show."""
    if not measured.judged:
        return [_one_run_each(measured)]
    cells = measured.cells
    lines = [f"{measured.title} ({measured.name}): {_differs(cells)}, {_mean(measured)}"]
    if (starved := _starved(measured)) is not None:
        lines.append(f"  {starved}")
    split = separating(cells, comparison.parameters)
    groups = _groups(cells, split) if split else [("", cells)]
    for label, group in groups:
        if split:
            where = _where(group, comparison.parameters, split)
            lines.append(f"  {label}{_differs(group)}{where}{_average(group, measured)}")
        changed = group.filter("differs")
        if changed.height <= MOST_CELLS:
            names = comparison.parameters
            lines += [f"    {cell_text(row, names, measured.unit)}" for row in changed.to_dicts()]
    return lines + [f"  {line}" for line in (*two_modes(comparison, measured), *power(measured))]


def two_modes(comparison: Comparison, measured: Measured) -> list[str]:
    """Sentences on cells whose runs did one of two things; a mean hides that."""
    rows = measured.cells.filter(pl.col("modes").is_not_null()).to_dicts()
    lines = [
        f"two modes{_at(place(row, comparison.parameters))}: {row['modes']}"
        for row in rows[:MOST_CELLS]
    ]
    more = len(rows) - MOST_CELLS
    return [*lines, f"two modes in {count(more, 'more cell')}"] if more > 0 else lines


def _at(where: str) -> str:
    return f" at {where}" if where else ""


def place(row: dict[str, Any], names: Sequence[str]) -> str:
    """`rate 256, rtt 4`: the parameters of a cell."""
    return ", ".join(f"{one_line(name)} {_shown(row[PREFIX + name])}" for name in names)


def power(measured: Measured) -> list[str]:
    """Sentence on the smallest difference that the runs could show; empty without a spread."""
    if measured.visible is None:
        return []
    runs = measured.cells.select("runs_before", "runs_after").median().row(0)
    smallest = change(measured.visible, measured.unit).removeprefix("+")
    return [
        f"{measured.name}: {runs[0]:.0f} and {runs[1]:.0f} runs a cell can show {smallest} "
        "(power 80 %, after the correction)"
    ]


def cell_text(row: dict[str, Any], names: Sequence[str], unit: str) -> str:
    """`rate 256, rtt 4: 33.9 % -> 74.9 %, +41 points [+35, +47], g 3.1, p 2e-14`."""
    where = place(row, names)
    values = f"{quantity(row['before'], unit)} -> {quantity(row['after'], unit)}"
    text = f"{where}: {values}, {change(row['difference'], unit)}" if where else values
    if row["low"] is not None:
        bounds = (change(row[name], unit).removesuffix(" points") for name in ("low", "high"))
        text += f" [{', '.join(bounds)}]"
    if row["effect_size"] is not None:
        text += f", g {row['effect_size']:.1f}"
    return text if row["p_corrected"] is None else f"{text}, p {row['p_corrected']:.1g}"


def change(number: float, unit: str) -> str:
    """A difference with its sign; of shares in points of percent."""
    sign = "+" if number >= 0 else "-"
    if unit == "share":
        return f"{sign}{digits(abs(100 * number))} points"
    return f"{sign}{quantity(abs(number), unit)}"


def separating(cells: pl.DataFrame, names: Sequence[str]) -> str | None:
    """The parameter that best separates the cells that differ; null when none does."""
    if not cells["differs"].any() or cells["differs"].all():
        return None
    whole = float(cells["differs"].mean())  # type: ignore[arg-type]
    best, most = None, 0.0
    for name in names:
        groups = cells.group_by(PREFIX + name).agg(pl.col("differs").mean(), pl.len())
        spread = ((groups["differs"] - whole) ** 2 * groups["len"]).sum() / cells.height
        if float(spread) > most:
            best, most = name, float(spread)
    return best


def _groups(cells: pl.DataFrame, name: str) -> list[tuple[str, pl.DataFrame]]:
    column = PREFIX + name
    values = sorted(cells[column].unique().to_list(), key=order)
    return [
        (f"{one_line(name)} {_shown(one)}: ", cells.filter(pl.col(column).eq_missing(one)))
        for one in values
    ]


def _differs(cells: pl.DataFrame) -> str:
    changed = int(cells["differs"].sum())
    if changed == 0:
        return f"differs in no cell of {cells.height:,}"
    return f"differs in {changed:,} of {count(cells.height, 'cell')}"


def _mean(measured: Measured) -> str:
    text = f"{change(measured.mean_difference, measured.unit)} on average over the cells"
    if measured.p_cells is not None:
        text += f" (Wilcoxon p {measured.p_cells:.1g})"
    return text


def _average(group: pl.DataFrame, measured: Measured) -> str:
    changed = group.filter("differs")["difference"]
    if changed.is_empty():
        return ""
    return f"; there {change(float(changed.mean()), measured.unit)} on average"  # type: ignore[arg-type]


def _starved(measured: Measured) -> str | None:
    """How many cells leave L4S less than a fifth: what an unfair share comes to."""
    if measured.name != STARVED:
        return None
    counts = [int((measured.cells[side] < STARVED_SHARE).sum()) for side in ("before", "after")]
    limit = share(STARVED_SHARE)
    return f"cells in which L4S gets below {limit}: {counts[0]:,} -> {counts[1]:,}"


def _where(cells: pl.DataFrame, names: Sequence[str], split: str | None) -> str:
    """`, not at rate 4`, or `, only at rate 256, rtt 4 to 8`: what the changed cells share."""
    changed, same = cells.filter("differs"), cells.filter(~pl.col("differs"))
    if changed.is_empty() or same.is_empty():
        return ""
    others = [name for name in names if name != split]
    if not (apart := _narrower(changed, cells, others)):
        apart = _narrower(same, changed, others, disjoint=True)
        return f", not at {', '.join(apart)}" if apart else ""
    return f", only at {', '.join(apart)}"


def _narrower(
    part: pl.DataFrame, whole: pl.DataFrame, names: Sequence[str], disjoint: bool = False
) -> list[str]:
    """Parameters that take fewer values in ``part`` than in ``whole``, or none of its values."""
    found = []
    for name in names:
        own, all_values = (set(frame[PREFIX + name]) for frame in (part, whole))
        if (not own & all_values) if disjoint else own < all_values:
            values = sorted(own, key=order)
            text = _shown(values[0])
            if len(values) > 1:
                text = f"{text} to {_shown(values[-1])}"
            found.append(f"{one_line(name)} {text}")
    return found


def _one_run_each(measured: Measured) -> str:
    rows = measured.cells
    unit = measured.unit
    if rows.height == 1:
        before, after = rows.select("before", "after").row(0)
        text = f"{quantity(before, unit)} -> {quantity(after, unit)}"
    else:
        text = f"{change(measured.mean_difference, unit)} on average over {rows.height:,} cells"
    return f"{measured.title} ({measured.name}): {text}, not judged: one run a side"


def _shown(value: object) -> str:
    return "-" if value is None else one_line(str(value))
