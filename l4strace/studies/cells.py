"""Runs with equal parameters as one cell: how many, their mean, median and spread."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import polars as pl

from l4strace.errors import UsageError
from l4strace.studies.dataset import parameters_of
from l4strace.studies.measures import QUANTITIES
from l4strace.studies.parameters import PREFIX

Tables = Mapping[str, pl.DataFrame]
SEVERITIES = ("error", "warning", "notice", "info")
LEAST_SEVERITY = "warning"
"""Findings below it are of healthy runs, too."""
RULE = re.compile(rf"L4S\d{{3}}(?::(?:{'|'.join(SEVERITIES)}))?")


def values(tables: Tables, measure: str) -> pl.DataFrame:
    """`run`, `repetition`, the parameters, and `value` of one measure of whole runs.

    A code of a rule (`L4S301`) counts as a measure: 1 for runs with that warning or error, 0 for
    those that the rule could judge, and no row for the others; `L4S301:notice` counts notices too.
    Raises UsageError for a name that no run has.
    """
    runs = tables["runs"].filter(pl.col("status") == "ok")
    kept = [PREFIX + name for name in parameters_of(runs)]
    named = runs.select("run", "repetition", *kept)
    if is_rule(measure) and (rule := measure[: len("L4S301")]) in _rules(tables):
        hit = hits(tables["findings"], measure)
        value = pl.col("run").is_in(hit.implode()).cast(pl.Float64)
        looked = runs.filter(could_judge(runs, rule) | pl.col("run").is_in(hit.implode()))
        return named.join(looked.select("run"), on="run", how="semi").with_columns(value=value)
    found = of_runs(tables).filter(pl.col("name") == measure).select("run", "value")
    if found.is_empty():
        raise UsageError(f"no run has the measure {measure!r}", offered(tables))
    return named.join(found, on="run", how="inner")


def is_rule(name: str) -> bool:
    """Whether the name is the code of a rule, alone or with the least severity that counts."""
    return RULE.fullmatch(name) is not None


def unit(name: str) -> str:
    """Unit of a measure, or of a rule: the share of the runs that have it."""
    if is_rule(name):
        return "share"
    known = QUANTITIES.get(name)
    return known.unit if known else ""


def hits(findings: pl.DataFrame, measure: str) -> pl.Series:
    """Runs with a finding of the rule, of the severity that counts or worse."""
    rule, _, least = measure.partition(":")
    counted = SEVERITIES[: SEVERITIES.index(least or LEAST_SEVERITY) + 1]
    own = findings.filter((pl.col("rule") == rule) & pl.col("severity").is_in(counted))
    return own["run"].unique()


def could_judge(runs: pl.DataFrame, rule: str) -> pl.Expr:
    """Whether the rule had its inputs; of datasets that do not say so, in all runs of packets."""
    if "judged" not in runs.columns:
        return pl.lit(True)
    return pl.col("judged").str.contains(rf"\b{rule}\b").fill_null(False)


def _rules(tables: Tables) -> set[str]:
    """Rules with a finding in any run, and those that could judge one."""
    found = set(tables["findings"]["rule"])
    if "judged" in tables["runs"].columns:
        for codes in tables["runs"]["judged"].drop_nulls().unique():
            found |= set(codes.split())
    return found


def of_runs(tables: Tables) -> pl.DataFrame:
    """Rows of `measures` that are numbers of whole runs."""
    return tables["measures"].filter(pl.col("number").is_null() & pl.col("value").is_not_null())


def usual(tables: Tables) -> list[str]:
    """Measures that at least half of the measured runs have, in their usual order."""
    runs = tables["runs"].filter(pl.col("status") == "ok").height
    counts = dict(of_runs(tables).group_by("name").len().iter_rows())
    order = [*(n for n in QUANTITIES if n in counts), *sorted(set(counts) - set(QUANTITIES))]
    return [name for name in order if 2 * counts[name] >= runs]


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
