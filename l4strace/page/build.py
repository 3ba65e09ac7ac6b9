"""The report as plain data: what the page pours into its templates, and what tests look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from l4strace.page.case import Case
from l4strace.page.chart import Chart
from l4strace.page.sections import SECTIONS

TITLED_INPUTS = 3
"""Inputs that the title of the page names; the others are counted."""


class Section(NamedTuple):
    """``name`` is the id, the template and the entry in the navigation; ``data`` what it shows."""

    name: str
    title: str
    data: Any


@dataclass(frozen=True)
class Report:
    """``sections`` in the order of the page; ``title`` names the inputs."""

    title: str
    sections: tuple[Section, ...]

    @property
    def headline(self) -> str:
        """Headline of the verdict, which is the title of the page too."""
        return str(self["verdict"].headline)

    def __getitem__(self, name: str) -> Any:
        """Data of one section. Raises KeyError."""
        return {section.name: section.data for section in self.sections}[name]

    @property
    def charts(self) -> list[Chart]:
        """Every chart in the order of the page."""
        return [chart for s in self.sections for chart in getattr(s.data, "charts", ())]


def build(case: Case) -> Report:
    """Every section of the page."""
    sections = (
        Section(module.__name__.rpartition(".")[2], module.TITLE, module.build(case))
        for module in SECTIONS
    )
    return Report(_title(case), tuple(sections))


def _title(case: Case) -> str:
    paths = [path.rsplit("/", 1)[-1] for path in case.evidence.sources["path"].to_list() if path]
    shown = ", ".join(paths[:TITLED_INPUTS]) or "no input"
    more = len(paths) - TITLED_INPUTS
    return f"{shown} and {more} more" if more > 0 else shown
