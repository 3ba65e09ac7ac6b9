"""One opened run for notebooks and scripts: tables as polars frames, findings and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from l4strace import pipeline, schema
from l4strace.errors import UsageError
from l4strace.evidence import Evidence
from l4strace.model import Analysis

if TYPE_CHECKING:
    import plotly.graph_objects as go

TABLES = tuple(name for name in schema.TABLES if name != "packets")
"""Tables that are attributes of a run; their columns are declared in `l4strace.schema`."""


@dataclass(frozen=True, repr=False)
class Run:
    """Evidence and what the rules made of it. ``run.rounds`` is ``run.evidence.rounds``."""

    evidence: Evidence
    analysis: Analysis

    def __getattr__(self, name: str) -> pl.DataFrame:
        if name not in TABLES:
            raise AttributeError(f"a run has no {name!r}; its tables are {', '.join(TABLES)}")
        table: pl.DataFrame = getattr(self.evidence, name)
        return table

    def __repr__(self) -> str:
        return f"Run({', '.join(self.evidence.sources['path'])}: {self.verdict})"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *TABLES]

    @cached_property
    def verdict(self) -> str:
        """The worst finding as one sentence, or that there is none."""
        from l4strace.wording.verdict import conversations, verdict

        return verdict(self.analysis, conversations(self.evidence)).sentence

    @cached_property
    def findings(self) -> pl.DataFrame:
        """One row per finding, worst first; `analysis.findings` has them as values."""
        from l4strace.output.json import finding_value
        from l4strace.wording import measures

        rows = [
            finding_value(finding) | {"measures": [measures.line(m) for m in finding.measures]}
            for finding in self.analysis.findings
        ]
        return pl.DataFrame(rows, FINDINGS)

    @cached_property
    def skipped(self) -> pl.DataFrame:
        """One row per rule that could not judge, with the reason."""
        rows = [(skipped.rule, skipped.reason, skipped.flow) for skipped in self.analysis.skipped]
        return pl.DataFrame(rows, SKIPPED, orient="row")

    def figures(self, flow: int | None = None, *, forward: bool = True) -> dict[str, go.Figure]:
        """The page's charts of one flow direction, by name; of the largest flow by default.

        A chart for which the run has no data is left out.
        """
        from l4strace.page import figures
        from l4strace.page.case import Case

        direction = Case(self.evidence, self.analysis).direction(flow, forward)
        if direction is None:
            return {}
        drawn = {name: module.draw(direction) for name, module in figures.FIGURES.items()}
        return {name: figure.plotly() for name, figure in drawn.items() if figure is not None}

    def page(self) -> str:
        """The HTML page that `l4strace diagnose` writes."""
        from l4strace import page

        return page.render(self.evidence, pipeline.prove(self.evidence, self.analysis))


FINDINGS = {
    "rule": pl.String(),
    "severity": pl.String(),
    "confidence": pl.String(),
    "message": pl.String(),
    "action": pl.String(),
    "source": pl.UInt16(),
    "flow": pl.UInt32(),
    "forward": pl.Boolean(),
    "span_ns": pl.List(pl.Int64()),
    "frames": pl.List(pl.UInt64()),
    "measures": pl.List(pl.String()),
}
SKIPPED = {"rule": pl.String(), "reason": pl.String(), "flow": pl.UInt32()}


def open_run(paths: Sequence[str]) -> Run:
    """Reads, derives and judges; raises InputError for what cannot be read."""
    if not paths:
        raise UsageError("nothing to open", "Name at least one capture or kernel log.")
    evidence = pipeline.derive(pipeline.read(paths))
    return Run(evidence, pipeline.judge(evidence))
