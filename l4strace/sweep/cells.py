"""Runs with equal parameters as one cell: how many, their mean, median and spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from l4strace.errors import UsageError
from l4strace.sweep.dataset import parameters_of
from l4strace.sweep.parameters import PREFIX

Tables = Mapping[str, pl.DataFrame]


def values(tables: Tables, measure: str) -> pl.DataFrame:
    """`run`, `repetition`, the parameters, and `value` of one measure of whole runs.

    A code of a rule (`L4S301`) counts as a measure: 1 for runs with that finding, else 0. Raises
    UsageError for a name that no run has.
    """
    runs = tables["runs"].filter(pl.col("status") == "ok")
    kept = [PREFIX + name for name in parameters_of(runs)]
    named = runs.select("run", "repetition", *kept)
    if measure in set(tables["findings"]["rule"]):
        hit = tables["findings"].filter(pl.col("rule") == measure).select("run").unique()
        value = pl.col("run").is_in(hit["run"].implode()).cast(pl.Float64)
        return named.with_columns(value=value)
    found = of_runs(tables).filter(pl.col("name") == measure).select("run", "value")
    if found.is_empty():
        raise UsageError(f"no run has the measure {measure!r}", offered(tables))
    return named.join(found, on="run", how="inner")


def of_runs(tables: Tables) -> pl.DataFrame:
    """Rows of `measures` that are numbers of whole runs."""
    return tables["measures"].filter(pl.col("number").is_null() & pl.col("value").is_not_null())


def offered(tables: Tables) -> str:
    """A sentence with the measures that there are."""
    return f"Measures: {', '.join(of_runs(tables)['name'].unique(maintain_order=True))}."


def cells(tables: Tables, measure: str, by: Sequence[str]) -> pl.DataFrame:
    """One row per combination of the parameters ``by``, sorted.

    Columns: `p_NAME` of each, `runs`, `mean`, `median`, `deviation` (sample standard deviation,
    null for one run), `lowest`, `highest`.
    """
    columns = [PREFIX + name for name in by]
    value = pl.col("value")
    return (
        values(tables, measure)
        .group_by(columns)
        .agg(
            runs=pl.len(),
            mean=value.mean(),
            median=value.median(),
            deviation=value.std(),
            lowest=value.min(),
            highest=value.max(),
        )
        .sort(columns, nulls_last=True)
    )


def across(cells: pl.DataFrame, by: Sequence[str], limits: Sequence[float]) -> pl.DataFrame:
    """Mean of the means of ``cells``, per combination of the parameters ``by``.

    Columns: `p_NAME`, `cells`, `mean`, `below_L` for each limit (how many cells lie below it),
    `lowest` and `highest`.
    """
    columns = [PREFIX + name for name in by]
    mean = pl.col("mean")
    return (
        cells.group_by(columns)
        .agg(
            mean.mean(),
            cells=pl.len(),
            lowest=mean.min(),
            highest=mean.max(),
            **{f"below_{limit:g}": (mean < limit).sum() for limit in limits},
        )
        .sort(columns)
    )
