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


def table(figures: Sequence[Figure], before: dict[str, float]) -> Iterator[str]:
    """Rows of a markdown table: value, goal, and the last release."""
    yield "| figure | value | goal | last release |"
    yield "|---|---|---|---|"
    for f in figures:
        sign = ">=" if f.at_least else "<="
        goal = "" if f.goal is None else f"{sign} {f.goal:g}{'' if f.holds else ' **missed**'}"
        last = f"{before[f.name]:.2f}" if f.name in before else ""
        if f.name in before and f.worse_than(before[f.name]):
            last += " **worse**"
        yield f"| {f.name} | {f.value:.2f} {f.unit} | {goal} | {last} |"


def written(text: str, lines: Sequence[str]) -> str:
    """``text`` with ``lines`` between the marks of the figures."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{tail}"
