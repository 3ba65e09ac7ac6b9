"""One opened run for notebooks and scripts: tables as polars frames, findings and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

import polars as pl

from l4strace import console, pipeline, rules, schema
from l4strace.errors import UsageError
from l4strace.evidence import Evidence, traffic
from l4strace.model import Analysis
from l4strace.schema.table import UNIX_NS

if TYPE_CHECKING:
    import plotly.graph_objects as go

TABLES = tuple(name for name in schema.TABLES if name not in schema.STREAMED)
"""Tables that a run holds; their columns are declared in `l4strace.schema`."""

MOMENTS = frozenset(
    column.name
    for table in (*schema.TABLES.values(), *schema.FOUND.values())
    for column in table.columns
    if column.unit == UNIX_NS
)
"""Columns that hold moments."""
DATE = pl.Datetime("ns", "UTC")
MAX_FINDINGS = 20
"""Findings that a notebook shows of a run."""

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all (0: not known)."""


class Run:
    """One run: the tables of its inputs and what the rules found (`run.rounds`, `run.findings`).

    Tables are polars frames with the columns that `l4strace.schema` declares. Their times are
    nanoseconds since the Unix epoch; `l4strace.dated` makes dates of them.
    """

    sources: pl.DataFrame
    flows: pl.DataFrame
    directions: pl.DataFrame
    rounds: pl.DataFrame
    paths: pl.DataFrame
    kernel: pl.DataFrame
    stats: pl.DataFrame
    cuts: pl.DataFrame
    detector: pl.DataFrame
    laws: pl.DataFrame
    builds: pl.DataFrame
    bottlenecks: pl.DataFrame
    signs: pl.DataFrame
    fallback: pl.DataFrame
    coexistence: pl.DataFrame
    phases: pl.DataFrame
    spikes: pl.DataFrame
    noise: pl.DataFrame
    pressed: pl.DataFrame
    hosts: pl.DataFrame
    qdiscs: pl.DataFrame
    udp_round_trips: pl.DataFrame

    def __init__(self, evidence: Evidence, analysis: Analysis) -> None:
        self.evidence = evidence
        self.analysis = analysis
        shown = traffic(evidence)
        for name in TABLES:
            setattr(self, name, getattr(shown, name))

    def __repr__(self) -> str:
        return f"Run({', '.join(self.sources['path'])}: {self.verdict})"

    def _repr_html_(self) -> str:
        """The verdict and the worst findings, as a notebook shows them."""
        columns = ("severity", "confidence", "rule", "flow", "message")
        head = "".join(f"<th>{name}</th>" for name in columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>"
            for row in self.findings.select(columns).head(MAX_FINDINGS).iter_rows()
        )
        more = self.findings.height - MAX_FINDINGS
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return (
            f"<p><b>{escape(self.verdict)}</b></p>"
            f"<p>{escape(', '.join(self.sources['path']))}</p>"
            + (table if rows else "")
            + (f"<p>{more} more in <code>findings</code></p>" if more > 0 else "")
        )

    @property
    def packets(self) -> pl.LazyFrame:
        """One row per TCP packet, read out of the captures as far as it is asked for."""
        from l4strace.ingest import packets

        return packets.scan(lambda: packets.batches(self.evidence))

    @property
    def acks(self) -> pl.LazyFrame:
        """One row per ACK with what it changed and the kernel's sample beside it, as `packets`."""
        from l4strace.ingest import acks, packets

        return packets.scan(lambda: acks.batches(self.evidence), schema.TABLES["acks"])

    @cached_property
    def verdict(self) -> str:
        """The worst finding as one sentence, or a sentence that states that there is none."""
        from l4strace.wording.verdict import counted, verdict

        return verdict(self.analysis, counted(self.evidence)).sentence

    @cached_property
    def findings(self) -> pl.DataFrame:
        """One row per finding, worst first; `analysis.findings` has them as values."""
        from l4strace.output import frames

        return frames.findings(self.evidence, self.analysis)

    @cached_property
    def measures(self) -> pl.DataFrame:
        """The numbers behind the findings: one row per number, with unit and expectation."""
        from l4strace.output import frames

        return frames.measures(self.analysis)

    @cached_property
    def skipped(self) -> pl.DataFrame:
        """One row per rule that could not judge, with the reason."""
        from l4strace.output import frames

        return frames.skipped(self.analysis)

    def figures(self, flow: int | None = None, *, forward: bool = True) -> dict[str, go.Figure]:
        """The page's charts of one flow direction, by name; of the largest flow by default.

        A chart for which the run has no data is left out. Raises UsageError for a flow that the
        run does not have.
        """
        from l4strace.page import figures
        from l4strace.page.case import Case

        if flow is not None and flow not in self.flows["flow"]:
            raise UsageError(f"the run has no flow {flow}", "run.flows lists them.")
        direction = Case(self.evidence, self.analysis).direction(flow, forward)
        if direction is None:
            return {}
        drawn = {name: module.draw(direction) for name, module in figures.FIGURES.items()}
        return {name: figure.plotly() for name, figure in drawn.items() if figure is not None}

    def page(self) -> str:
        """The HTML page that `l4strace diagnose` writes."""
        from l4strace import page

        return page.render(self.evidence, pipeline.prove(self.evidence, self.analysis))


def open_runs(
    paths: Sequence[str],
    *,
    select: str | Iterable[str] = (),
    ignore: str | Iterable[str] = (),
    companions: bool = True,
    progress: Progress | bool = False,
    one_run: str = "",
) -> list[Run]:
    """The unrelated runs of the inputs; ``one_run`` is the remedy where they must be one.

    Raises InputError for what cannot be read, UsageError for a word that means no rule.
    """
    if not paths:
        raise UsageError("nothing to open", "Name at least one capture or kernel log.")
    # A string holds one word, not one in each of its letters.
    chosen, ignored = ((w,) if isinstance(w, str) else tuple(w) for w in (select, ignore))
    rules.select(chosen, ignored)
    runs = pipeline.diagnose(
        paths,
        pipeline.Asked(select=chosen, ignore=ignored, one_run=one_run),
        companions=companions,
        reading=console.Progress("reading") if progress is True else nullcontext(progress or None),
    )
    return [Run(run.evidence, run.analysis) for run in runs]


def dated(table: pl.DataFrame) -> pl.DataFrame:
    """``table`` with its moments as dates (UTC): `start_ns` becomes `start`."""
    return table.select(
        _date(name, of) if name in MOMENTS else pl.col(name) for name, of in table.schema.items()
    )


def _date(name: str, of: pl.DataType) -> pl.Expr:
    """The moments of a column of type ``of``: one a row, or a list of them."""
    dates = pl.col(name).cast(pl.List(DATE) if of == pl.List else DATE)
    return dates.alias(name.removesuffix("_ns"))


def _cell(value: object) -> str:
    return "" if value is None else escape(str(value))
