"""The report as plain data: what the page pours into its template, and what tests look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from l4strace.page.case import Case
from l4strace.page.chart import Chart
from l4strace.page.sections import SECTIONS


@dataclass(frozen=True)
class Report:
    """``sections`` by name in the order of the page; ``title`` names the inputs."""

    title: str
    sections: dict[str, Any]

    @property
    def charts(self) -> list[Chart]:
        """Every chart in the order of the page."""
        sharing = self.sections["sharing"].chart
        flows = (*self.sections["timelines"].flows, *self.sections["detector"].flows)
        return [
            *([sharing] if sharing else []),
            *(chart for flow in flows for chart in flow.charts),
        ]


def build(case: Case) -> Report:
    """Every section of the page."""
    return Report(_title(case), {name: module.build(case) for name, module in SECTIONS.items()})


def _title(case: Case) -> str:
    paths = [path.rsplit("/", 1)[-1] for path in case.evidence.sources["path"].to_list() if path]
    shown = ", ".join(paths[:3]) or "no input"
    return f"{shown} and {len(paths) - 3} more" if len(paths) > 3 else shown
