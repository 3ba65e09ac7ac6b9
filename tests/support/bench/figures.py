"""Figures of the benchmark: shown with their goals, and compared with those of the last release."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.places import REPOSITORY

KEPT = REPOSITORY / "docs" / "performance.json"
PAGE = REPOSITORY / "docs" / "performance.md"
BEGIN, END = "<!-- figures: make bench -->", "<!-- end of figures -->"
WORSE = 1.05
"""What counts as a regression."""


@dataclass(frozen=True)
class Figure:
    """One line of the result; ``goal`` is the bound, turned round where ``at_least``."""

    name: str
    value: float
    goal: float | None = None
    unit: str = "x"
    at_least: bool = False
    kept: bool = True
    """Compared with the last release; seconds depend on the machine and are not."""

    @property
    def holds(self) -> bool:
        if self.goal is None:
            return True
        return self.value >= self.goal if self.at_least else self.value <= self.goal

    def worse_than(self, before: float) -> bool:
        """By more than 5 %; what was 0 hid behind the constant and compares with nothing."""
        if before <= 0:
            return False
        return self.value * WORSE < before if self.at_least else self.value > before * WORSE


def kept(packets: int, path: Path = KEPT) -> dict[str, float]:
    """Figures of the last release; none where it was measured at another scale."""
    if not path.exists():
        return {}
    found = json.loads(path.read_text())
    return dict(found["figures"]) if found["packets"] == packets else {}


def keep(figures: Sequence[Figure], packets: int, version: str, path: Path = KEPT) -> None:
    """Makes these the figures that later ones are compared with."""
    values = {f.name: round(f.value, 4) for f in figures if f.kept}
    text = json.dumps({"version": version, "packets": packets, "figures": values}, indent=2)
    path.write_text(text + "\n")


def worse(figures: Sequence[Figure], before: dict[str, float]) -> list[Figure]:
    """Figures that got worse by more than 5 %."""
    return [f for f in figures if f.name in before and f.worse_than(before[f.name])]


def table(figures: Sequence[Figure], before: dict[str, float] | None = None) -> Iterator[str]:
    """Rows of a markdown table: value, goal, and the last release if it is given."""
    yield f"| figure | value | goal |{'' if before is None else ' last release |'}"
    yield f"|---|---|---|{'' if before is None else '---|'}"
    for f in figures:
        sign = ">=" if f.at_least else "<="
        goal = "" if f.goal is None else f"{sign} {f.goal:g}{'' if f.holds else ' **missed**'}"
        if before is None:
            yield f"| {f.name} | {f.value:.2f} {f.unit} | {goal} |"
            continue
        last = f"{before[f.name]:.2f}" if f.name in before else ""
        if f.name in before and f.worse_than(before[f.name]):
            last += " **worse**"
        yield f"| {f.name} | {f.value:.2f} {f.unit} | {goal} | {last} |"


SHAPE = ("cpu", "time", "memory", "a packet", "cpu beyond the constant / walk", "cpu / cat")
"""What is measured of every shape, a column each on the page."""


def page(figures: Sequence[Figure]) -> Iterator[str]:
    """Tables of the page: a row a shape, then what has a goal or stands alone."""
    shapes: dict[str, dict[str, Figure]] = {}
    for f in figures:
        name, _, measure = f.name.rpartition(": ")
        if measure in SHAPE:
            shapes.setdefault(name, {})[measure] = f
    full = {name: found for name, found in shapes.items() if len(found) == len(SHAPE)}
    yield f"| shape | {' | '.join(SHAPE)} |"
    yield f"|---|{'---|' * len(SHAPE)}"
    for name, found in full.items():
        cells = (f"{found[measure].value:.4g} {found[measure].unit}" for measure in SHAPE)
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    own = {f.name for found in full.values() for f in found.values() if f.goal is None}
    yield from table([f for f in figures if f.name not in own])


def written(text: str, lines: Sequence[str]) -> str:
    """``text`` with ``lines`` between the marks of the figures."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{tail}"
