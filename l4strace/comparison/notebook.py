"""Studies for notebooks and scripts: many runs as tables and figures, and comparisons of them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import polars as pl

from l4strace.errors import UsageError
from l4strace.studies import cells, delay_figure, figure, pool, study
from l4strace.studies.dataset import Dataset, parameters_of
from l4strace.studies.parameters import PREFIX
from l4strace.studies.sources import discover
from l4strace.studies.summary import by_rule, varied
from l4strace.wording.quantities import count

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from l4strace.comparison.comparison import Comparison


class Study:
    """Many runs: the tables `runs`, `flows`, `delays`, `findings` and `measures` of a sweep.

    `Study("results")` opens what a sweep kept; `l4strace.sweep` makes one.
    """

    runs: pl.DataFrame
    flows: pl.DataFrame
    delays: pl.DataFrame
    findings: pl.DataFrame
    measures: pl.DataFrame

    def __init__(
        self, place: str | os.PathLike[str] = "", tables: Mapping[str, pl.DataFrame] | None = None,
        notes: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Opens the sweep at ``place``, or holds ``tables``. Raises InputError for neither."""
        self.place = os.fspath(place)
        if tables is None:
            dataset = Dataset(self.place)
            dataset.about()
            tables = dataset.tables()
        self.tables = dict(tables)
        self.notes = tuple(notes)
        for name, table in self.tables.items():
            setattr(self, name, table)

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters that have more than one value."""
        return varied(self.runs)

    def where(self, *conditions: str) -> Study:
        """The runs that meet all conditions, such as `"rate=4..32"` or `"aqm!=CoDel"`."""
        from l4strace.comparison import sides

        return Study(self.place, sides.where(self.tables, conditions), self.notes)

    def values(self, measure: str) -> pl.DataFrame:
        """`value` of a measure (or of a rule) of each run, with its parameters."""
        return cells.values(self.tables, measure)

    def cells(self, measure: str, by: Sequence[str] = ()) -> pl.DataFrame:
        """Runs with equal parameters as one row: runs, mean, median, deviation, lowest, highest."""
        return cells.cells(self.tables, measure, by or self.parameters)

    def figure(
        self, measure: str, *, columns: str = "", rows: str = "", each: Sequence[str] = (),
        statistic: str = "mean", labels: Mapping[str, str] | None = None,
    ) -> go.Figure:  # fmt: skip
        """A heat map as plotly figure; `labels` names parameters and the `title`."""
        asked = figure.Asked(measure, columns, rows, tuple(each), statistic, labels or {})
        return figure.plotly(figure.figure(self.tables, asked))

    def svg(
        self, measure: str, *, columns: str = "", rows: str = "", each: Sequence[str] = (),
        statistic: str = "mean", labels: Mapping[str, str] | None = None,
    ) -> str:  # fmt: skip
        """A heat map as SVG for a paper, with scale, units and numbers of runs."""
        asked = figure.Asked(measure, columns, rows, tuple(each), statistic, labels or {})
        return figure.svg(figure.figure(self.tables, asked))

    def queue_delays(self, *each: str) -> go.Figure:
        """The distribution of queue delay over the runs: a curve a class and value of ``each``."""
        return delay_figure.drawn(self.tables, each).plotly()

    def __repr__(self) -> str:
        return f"Study({self.place}: {count(self.runs.height, 'run')})"

    def _repr_html_(self) -> str:
        """Runs, parameters and findings, as a notebook shows them."""
        failed = self.runs.filter(pl.col("status") != "ok").height
        rows = "".join(
            f"<tr><td>{escape(rule)}</td><td>{escape(level)}</td><td>{runs}</td></tr>"
            for rule, level, runs in by_rule(self.findings).iter_rows()
        )
        names = ", ".join(
            f"{name} ({self.runs[PREFIX + name].n_unique()})" for name in self.parameters
        )
        return (
            f"<p><b>{count(self.runs.height, 'run')}, {failed} failed</b></p>"
            f"<p>Parameters: {escape(names) or 'none that varies'}</p>"
            + "".join(f"<p>{escape(note)}</p>" for note in self.notes)
            + (f"<table><tr><th>rule</th><th>severity</th><th>runs</th></tr>{rows}</table>"
               if rows else "")
        )  # fmt: skip


class Compared:
    """What differs between two sides: the report as text, and the cells of each measure."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @property
    def measures(self) -> dict[str, pl.DataFrame]:
        """Cells by measure: means, difference, interval, effect size, p, whether they differ."""
        return {one.name: one.cells for one in self.comparison.measures}

    def __str__(self) -> str:
        from l4strace.comparison import text

        return text.render(self.comparison)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def sweep(
    *sources: str | os.PathLike[str], output: str = "", name: str = "", workers: int = 0,
    parameters: Sequence[str] = (), measures: Sequence[str] = (), repetition: str = "",
) -> Study:  # fmt: skip
    """Measures the runs of folders, lists and tables, as `l4strace sweep` does.

    Kept in the folder ``output`` where one is named. Raises InputError and UsageError.
    """
    from l4strace.studies.sources.elsewhere import Roles

    if not sources:
        raise UsageError("nothing to sweep", "Name a folder of runs or a table of results.")
    how = discover.How(name, roles=Roles(tuple(parameters), tuple(measures), repetition))
    with tempfile.TemporaryDirectory(prefix="l4strace-study-") as folder:
        place = output or os.path.join(folder, "results")  # noqa: PTH118 - a URL is a place, too
        order = study.Order(tuple(os.fspath(one) for one in sources), place, how, page=bool(output))
        done = study.sweep(order, pool.on_cores(workers or os.cpu_count() or 1))
    return Study(output, done.tables, done.notes)


def compare(
    first: Study | str | os.PathLike[str],
    second: Study | str | os.PathLike[str] | None = None, *, by: str = "", of: Sequence[str] = (),
    measures: Sequence[str] = (), pair_by: Sequence[str] = (), ignore: Sequence[str] = (),
    at_least: Sequence[str] = (), correction: str = "holm",
) -> Compared:  # fmt: skip
    """What differs between two studies, or with ``by`` between two values ``of`` a parameter.

    Needs scipy and statsmodels. `str()` of the result is the report; `measures` hold the cells.
    """
    from l4strace.comparison import libraries

    libraries.check()
    from l4strace.comparison import comparison, sides

    studies = [one if isinstance(one, Study) else Study(one) for one in (first, second) if one]
    if by:
        both = sides.of_parameter(studies[0].tables, by, list(of))
    elif len(studies) == 2:
        names = studies[0].place or "first", studies[1].place or "second"
        both = sides.Sides(studies[0].tables, studies[1].tables, names)
    else:
        raise UsageError("compare takes two studies, or one with by and of", sides.BY)
    pairing = comparison.Pairing(tuple(pair_by), tuple(ignore))
    found = comparison.compare(both, measures, correction, pairing=pairing, at_least=at_least)
    return Compared(found)


def wide(tables: Mapping[str, pl.DataFrame], table: str) -> pl.DataFrame:
    """A table of a study; its measures with the parameters of their runs."""
    frame = tables[table]
    if table != "measures":
        return frame
    runs = tables["runs"]
    names = [PREFIX + name for name in parameters_of(runs)]
    return frame.join(runs.select("run", "repetition", *names), on="run", how="left")
