"""A chart as plain data: its figure as JSON-ready values, its title and its words."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

from l4strace.page.direction import Direction


class Chart(NamedTuple):
    """``key`` is the id on the page; ``caption`` is the picture in words."""

    key: str
    title: str
    caption: str
    height: int
    spec: dict[str, Any]


def chart_of(module: ModuleType, direction: Direction) -> Chart | None:
    """The chart of one figure module for one direction; null when there is nothing to draw."""
    figure = module.draw(direction)
    if figure is None:
        return None
    key = f"{module.NAME}-{direction.key}"
    caption = module.describe(direction)
    return Chart(key, figure.title or module.TITLE, caption, figure.height, figure.spec)
