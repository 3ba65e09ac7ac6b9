"""Heat maps of a study as figures for papers: SVG without a browser, and plotly's for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import polars as pl

from l4strace.errors import UsageError
from l4strace.page.drawing.svg import SIGNATURE
from l4strace.studies import cells
from l4strace.studies.cells import Tables
from l4strace.studies.dataset import parameters_of
from l4strace.studies.measures import FAIR, QUANTITIES
from l4strace.studies.parameters import PREFIX, Value, order
from l4strace.wording.amounts import NONE
from l4strace.wording.quantities import quantity

if TYPE_CHECKING:
    import plotly.graph_objects as go

STATISTICS = ("mean", "median", "deviation", "lowest", "highest")
CIVIDIS = ("#00224e", "#3b496c", "#707173", "#a59c74", "#e1cc55", "#fee838")
"""Nunez, Anderton and Renslow, 2018: read alike with and without color vision."""
PUOR = ("#7f3b08", "#e08214", "#fee0b6", "#f7f7f7", "#d8daeb", "#8073ac", "#2d004b")
"""PuOr of ColorBrewer, marked colorblind safe: orange starves, purple takes all, white is fair."""
CELL, ROW, HEAD, FOOT, GAP = 66, 34, 62, 30, 28
LETTER = 6.8
"""Pixels of a letter, about: nothing measures a text here."""
BAR, STEPS = 160, 32
MOST_IN_ROW = 4


@dataclass(frozen=True)
class Asked:
    """What a figure shows; axes that are not chosen are those with most values."""

    measure: str
    columns: str = ""
    rows: str = ""
    each: tuple[str, ...] = ()
    """A map for each value of these."""
    statistic: str = "mean"
    labels: Mapping[str, str] = field(default_factory=dict)
    """Names in the figure, of parameters and of `title`."""


@dataclass(frozen=True)
class Map:
    """One heat map: its caption, and value, runs and text by (row, column)."""

    caption: str
    columns: tuple[Value | None, ...]
    rows: tuple[Value | None, ...]
    values: Mapping[tuple[Value | None, Value | None], tuple[float, int]]


@dataclass(frozen=True)
class Figure:
    """All maps of a figure, with one scale."""

    asked: Asked
    maps: tuple[Map, ...]
    pooled: tuple[str, ...]
    """Parameters with several values in one cell."""

    @property
    def unit(self) -> str:
        return cells.unit(self.asked.measure)

    @property
    def fair(self) -> bool:
        """Whether the statistic has a fair middle, from which colors diverge."""
        return self.asked.measure in FAIR and self.asked.statistic != "deviation"

    @property
    def title(self) -> str:
        found = QUANTITIES.get(self.asked.measure)
        own = found.title if found else self.asked.measure
        return self.asked.labels.get("title") or own

    def name(self, parameter: str) -> str:
        """How the figure calls a parameter."""
        return self.asked.labels.get(parameter, parameter)

    @property
    def bounds(self) -> tuple[float, float]:
        if self.fair:
            return 0.0, 1.0
        found = [value for one in self.maps for value, _ in one.values.values()]
        return min(found), max(found)

    def color(self, value: float) -> str:
        """The color of a value, as `#rrggbb`."""
        low, high = self.bounds
        palette = PUOR if self.fair else CIVIDIS
        return _mixed(palette, (value - low) / (high - low) if high > low else 0.5)


def figure(tables: Tables, asked: Asked) -> Figure:
    """The figure of one measure. Raises UsageError for names that the study does not have."""
    if asked.statistic not in STATISTICS:
        raise UsageError(f"no statistic {asked.statistic!r}", f"Known: {', '.join(STATISTICS)}.")
    values = cells.values(tables, asked.measure)
    varied = [n for n in parameters_of(values) if values[PREFIX + n].n_unique() > 1]
    for name in (asked.columns, asked.rows, *asked.each):
        if name and name not in parameters_of(values):
            known = ", ".join(parameters_of(values)) or "none"
            raise UsageError(f"no parameter {name!r}", f"Parameters: {known}.")
    columns, rows = _axes(values, asked, varied)
    by = [name for name in (*asked.each, rows, columns) if name]
    found = cells.cells(tables, asked.measure, by).filter(pl.col(asked.statistic).is_not_null())
    if found.is_empty():
        raise UsageError(f"no cell has a {asked.statistic} of {asked.measure}")
    groups: dict[tuple[Value | None, ...], dict[Any, tuple[float, int]]] = {}
    for row in found.to_dicts():
        key = tuple(row[PREFIX + name] for name in asked.each)
        at = (row[PREFIX + rows] if rows else None, row[PREFIX + columns] if columns else None)
        groups.setdefault(key, {})[at] = row[asked.statistic], row["runs"]
    maps = tuple(_map(asked, key, groups[key]) for key in sorted(groups, key=_ordered))
    rest = tuple(name for name in varied if name not in by)
    made = Asked(asked.measure, columns, rows, asked.each, asked.statistic, asked.labels)
    return Figure(made, maps, rest)


def _ordered(key: tuple[Value | None, ...]) -> list[tuple[int, float, str]]:
    return [order(value) for value in key]


def _axes(values: pl.DataFrame, asked: Asked, varied: Sequence[str]) -> tuple[str, str]:
    """Columns and rows: numbers first, then those with most values."""

    def rank(name: str) -> tuple[bool, int]:
        different = values[PREFIX + name].drop_nulls().unique().to_list()
        return not all(order(value)[0] == 0 for value in different), -len(different)

    taken = (asked.columns, asked.rows, *asked.each)
    free = iter(sorted((name for name in varied if name not in taken), key=rank))
    columns = asked.columns or next(free, "")
    return columns, asked.rows or next(free, "")


def _map(
    asked: Asked, key: tuple[Value | None, ...], found: Mapping[Any, tuple[float, int]]
) -> Map:
    names = [asked.labels.get(name, name) for name in asked.each]
    caption = ", ".join(f"{n} {_shown(v)}" for n, v in zip(names, key, strict=True))
    return Map(
        caption,
        tuple(sorted({column for _, column in found}, key=order)),
        tuple(sorted({row for row, _ in found}, key=order)),
        found,
    )


def svg(drawn: Figure) -> str:
    """The figure as one SVG file, with its scale, units and numbers of runs."""
    left = max(70.0, *(LETTER * len(_shown(r)) + 16 for one in drawn.maps for r in one.rows))
    wide = max(CELL, *(LETTER * len(_shown(c)) + 10 for one in drawn.maps for c in one.columns))
    across = min(len(drawn.maps), MOST_IN_ROW)
    width = max(len(one.columns) for one in drawn.maps) * wide + left + GAP
    width = max(width, *(LETTER * len(one.caption) + GAP for one in drawn.maps))
    height = max(len(one.rows) for one in drawn.maps) * ROW + HEAD + FOOT
    parts = [
        _one(drawn, one, number % across * width, 64 + number // across * height, left, wide)
        for number, one in enumerate(drawn.maps)
    ]
    size = max(across * width, 560), 72 + -(-len(drawn.maps) // across) * height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]:.0f}" height="{size[1]:.0f}" '
        f'viewBox="0 0 {size[0]:.0f} {size[1]:.0f}" font-family="sans-serif" font-size="12">'
        f"{SIGNATURE}"
        '<rect width="100%" height="100%" fill="#ffffff"/>'
        f"{_text(10, 22, drawn.title, size=15, weight=600)}{_scale(drawn)}{''.join(parts)}</svg>\n"
    )


def _one(drawn: Figure, one: Map, x: float, y: float, left: float, wide: float) -> str:
    asked = drawn.asked
    parts = [_text(left, 14, one.caption, weight=600)]
    middle = left + len(one.columns) * wide / 2
    parts.append(_text(middle, 32, drawn.name(asked.columns) or "all runs", "middle"))
    parts.append(_text(left - 8, HEAD - 12, drawn.name(asked.rows), "end"))
    for c, column in enumerate(one.columns):
        parts.append(_text(left + (c + 0.5) * wide, HEAD - 12, _shown(column), "middle"))
    for r, row in enumerate(one.rows):
        top = HEAD + r * ROW
        parts.append(_text(left - 8, top + 20, _shown(row), "end"))
        for c, column in enumerate(one.columns):
            if (row, column) not in one.values:
                continue
            value, runs = one.values[row, column]
            fill, at = drawn.color(value), left + c * wide
            parts.append(
                f'<rect x="{at:.1f}" y="{top}" width="{wide - 1:.1f}" height="{ROW - 1}" '
                f'fill="{fill}"/>'
            )
            text = quantity(value, drawn.unit)
            parts.append(_text(at + wide / 2, top + 15, text, "middle", fill=_ink(fill)))
            parts.append(_text(at + wide / 2, top + 28, f"n={runs}", "middle", 9, fill=_ink(fill)))
    return f'<g transform="translate({x:.1f},{y:.1f})">{"".join(parts)}</g>'


def _scale(drawn: Figure) -> str:
    low, high = drawn.bounds
    start = 80.0
    bars = [
        f'<rect x="{start + n * BAR / STEPS:.1f}" y="36" width="{BAR / STEPS + 0.5:.1f}" '
        f'height="12" fill="{drawn.color(low + (high - low) * n / (STEPS - 1))}"/>'
        for n in range(STEPS)
    ]
    words = f"{drawn.asked.statistic} of the runs of a cell"
    if drawn.pooled:
        words += f", over all {', '.join(map(drawn.name, drawn.pooled))}"
    return (
        _text(start - 6, 47, quantity(low, drawn.unit), "end")
        + "".join(bars)
        + _text(start + BAR + 8, 47, f"{quantity(high, drawn.unit)}   {words}")
    )


def _text(
    x: float, y: float, text: str, anchor: str = "start", size: int = 12, weight: int = 400,
    fill: str = "#000000",
) -> str:  # fmt: skip
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'font-weight="{weight}" fill="{fill}">{escape(_plain(text))}</text>'
    )


def plotly(drawn: Figure) -> go.Figure:
    """The figure for notebooks: one heat map each, side by side."""
    import plotly.graph_objects as graph
    from plotly.subplots import make_subplots

    made = make_subplots(cols=len(drawn.maps), subplot_titles=[one.caption for one in drawn.maps])
    low, high = drawn.bounds
    for number, one in enumerate(drawn.maps, 1):
        rows = [[one.values.get((r, c)) for c in one.columns] for r in one.rows]
        made.add_trace(
            graph.Heatmap(
                x=list(map(_shown, one.columns)),
                y=list(map(_shown, one.rows)),
                z=[[cell[0] if cell else None for cell in row] for row in rows],
                text=[[_hover(drawn, cell) for cell in row] for row in rows],
                texttemplate="%{text}",
                zmin=low,
                zmax=high,
                colorscale="PuOr" if drawn.fair else "Cividis",
                showscale=number == 1,
            ),
            row=1,
            col=number,
        )
        made.update_xaxes(title_text=drawn.name(drawn.asked.columns), type="category", col=number)
    made.update_yaxes(title_text=drawn.name(drawn.asked.rows), type="category", col=1)
    made.update_layout(title=drawn.title)
    return made


def _hover(drawn: Figure, cell: tuple[float, int] | None) -> str:
    return f"{quantity(cell[0], drawn.unit)}, n={cell[1]}" if cell else ""


def _shown(value: object) -> str:
    if value is None:
        return NONE
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(text: str) -> str:
    """Text that XML can hold."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _rgb(color: str) -> tuple[int, ...]:
    return tuple(int(color[at : at + 2], 16) for at in (1, 3, 5))


def _mixed(palette: Sequence[str], part: float) -> str:
    place = min(max(part, 0.0), 1.0) * (len(palette) - 1)
    low = min(int(place), len(palette) - 2)
    pairs = zip(_rgb(palette[low]), _rgb(palette[low + 1]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * (place - low)):02x}" for a, b in pairs)


def _ink(color: str) -> str:
    """Black or white, whichever has the larger contrast (relative luminance of WCAG 2)."""
    parts = [c / 255 for c in _rgb(color)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return "#000000" if 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 else "#ffffff"
