"""The page of a sweep: one offline file with the numbers of all runs and what draws them.

Cells are formed in the page, because its reader chooses the axes; it holds a number per run and
measure (4 bytes; 1 of a finding) and the place of each run on each axis (2 bytes).
"""

from __future__ import annotations

import struct
from array import array
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import polars as pl

from l4strace.console import printable
from l4strace.page.fill import POLICY, asset, embedded, environment
from l4strace.studies import cells
from l4strace.studies.cells import Tables
from l4strace.studies.dataset import parameters_of
from l4strace.studies.measures import FAIR, QUANTITIES
from l4strace.studies.parameters import PREFIX, order
from l4strace.studies.summary import by_rule, failures
from l4strace.wording.amounts import NONE
from l4strace.wording.quantities import count

MOST_VALUES = 64
"""Values that an axis can show; a parameter with more is only in the dataset."""
MOST_RULES = 30
UNKNOWN = 2
"""Stands for a rule that could not judge a run."""
MOST_FAILED = 200
MOST_TEXT = 120
MOST_SINGLE = 3.4028234e38
"""Largest number of single precision (IEEE 754)."""
CUT = ("L4S001", "L4S002", "L4S004", "L4S008", "L4S013")
"""Rules on captures and logs that hold a part of the run only."""
LEGEND = (
    "Each cell: the chosen statistic over its runs, below it the number of runs and their standard "
    "deviation. Choose a cell to see its runs."
)


def render(
    tables: Tables, title: str, pages: dict[str, str] | None = None, notes: Sequence[str] = ()
) -> str:
    """The page as HTML; ``pages`` maps runs to paths of their own pages.

    ``notes`` are sentences on what was assumed of the runs, and what did not fit.
    """
    runs = tables["runs"]
    rules = by_rule(tables["findings"])
    kinds = _serious(tables)
    good = runs.filter(pl.col("status") == "ok")
    failed = failures(runs)
    return fill(
        "sweep.html.j2",
        data(tables, good, pages or {}),
        maps=True,
        title=title,
        kind="sweep",
        legend=LEGEND,
        headline=_headline(runs, good, kinds),
        serious=kinds,
        notes=list(notes),
        constants=_constants(good),
        findings=rules.head(MOST_RULES).to_dicts(),
        findings_more=max(0, rules.height - MOST_RULES),
        failed=failed.head(MOST_FAILED).to_dicts(),
        failed_more=max(0, failed.height - MOST_FAILED),
    )


def fill(template: str, drawn: dict[str, Any], **values: Any) -> str:
    """A page with heat maps of ``drawn`` (as `data` makes it): one file that needs nothing else."""
    return (
        environment()
        .get_template(template)
        .render(
            policy=POLICY,
            style=asset("page.css"),
            own_style=asset("sweep.css"),
            theme_script=asset("theme.js"),
            script=asset("sweep.js"),
            figure_script=asset("sweep_figure.js"),
            data=embedded(drawn),
            **values,
        )
    )


def data(tables: Tables, runs: pl.DataFrame, pages: dict[str, str]) -> dict[str, Any]:
    """Data that the script draws: axes, measures and a number per run and measure."""
    names = runs["run"].to_list()
    if "origin" in runs.columns and PREFIX + "origin" not in runs.columns:
        runs = runs.with_columns(pl.col("origin").alias(PREFIX + "origin"))
    return {
        "of": "runs",
        "runs": [short(name) for name in names],
        "pages": [_page(short(name), pages.get(name)) for name in names] if pages else [],
        "parameters": [made for name in parameters_of(runs) if (made := axis(runs, name))],
        "origins": origins(runs),
        "worst": _worst(runs),
        "measures": [
            *_measures(tables, names),
            *_rules(tables["findings"], runs),
        ],
    }


def origins(runs: pl.DataFrame) -> dict[str, Any]:
    """Where the numbers of each run come from: packets and flent measure alike, not the same."""
    values = runs["origin"].fill_null(NONE) if "origin" in runs.columns else [NONE] * runs.height
    names = sorted(set(values))
    places = b64encode(bytes(names.index(value) for value in values)).decode()
    return {"names": names, "places": places}


def _page(name: str, path: str | None) -> str | int | None:
    """``path``; 1 where the script can make it of ``name``, which is a third of the page."""
    return 1 if path == f"pages/{name.replace('/', '%2f')}.html" else path


def axis(runs: pl.DataFrame, name: str) -> dict[str, Any] | None:
    """A parameter with several values as an axis: its values in order, and that of each run.

    `complete` is false when some runs have no value: they stand under a dash, as the last one.
    """
    values = runs[PREFIX + name].to_list()
    different = sorted({value for value in values if value is not None}, key=order)
    complete = None not in values
    labels = [short(_plain(value)) for value in different] + ([] if complete else [NONE])
    if not 1 < len(labels) <= MOST_VALUES:
        return None
    place = {value: number for number, value in enumerate(different)} | {None: len(different)}
    return {
        "name": short(name),
        "values": labels,
        "numeric": all(order(value)[0] == 0 for value in different),
        "complete": complete,
        "places": b64encode(array("H", (place[value] for value in values)).tobytes()).decode(),
    }


def _measures(tables: Tables, names: Sequence[str]) -> list[dict[str, Any]]:
    own = cells.of_runs(tables)
    present = set(own["name"])
    known = [name for name in QUANTITIES if name in present]
    found = []
    for name in known + sorted(present - set(known)):
        values = dict(own.filter(pl.col("name") == name).select("run", "value").iter_rows())
        quantity = QUANTITIES.get(name)
        found.append(
            {
                "name": short(name),
                "title": quantity.title if quantity else short(name),
                "doc": quantity.doc if quantity else "A column of the table of results.",
                "unit": quantity.unit if quantity else "",
                "center": FAIR.get(name),
                "values": floats([values.get(run) for run in names]),
            }
        )
    return found


def _rules(findings: pl.DataFrame, runs: pl.DataFrame) -> list[dict[str, Any]]:
    """A measure for each warning and error: the share of the judged runs that have it."""
    found = []
    for rule in by_rule(findings)["rule"].unique(maintain_order=True).head(MOST_RULES):
        hit = set(cells.hits(findings, rule))
        judged = runs.select(cells.could_judge(runs, rule).alias("judged"), "run").rows()
        found.append(
            {
                "name": rule,
                "title": f"runs with {rule}",
                "doc": "Share of the runs that the rule could judge with this finding as warning "
                f"or error: l4strace explain {rule}.",
                "unit": "share",
                "center": None,
                "hits": b64encode(
                    bytes(1 if run in hit else 0 if seen else UNKNOWN for seen, run in judged)
                ).decode(),
            }
        )
    return found


def floats(values: Sequence[float | None]) -> str:
    """Little-endian single precision; NaN where there is none or it does not fit."""
    nan = float("nan")
    fitting = (nan if v is None or abs(v) > MOST_SINGLE else v for v in values)
    packed = struct.pack(f"<{len(values)}f", *fitting)
    return b64encode(packed).decode()


def _worst(runs: pl.DataFrame) -> list[str]:
    """Rule and severity of the worst finding of each run, for warnings and errors."""
    if "severity" not in runs.columns or "rule" not in runs.columns:
        return []
    rows = runs.select("rule", "severity").rows()
    found = [f"{rule} {level}" if level in ("error", "warning") else "" for rule, level in rows]
    return found if any(found) else []


def _serious(tables: Tables) -> list[dict[str, Any]]:
    """Runs with errors, and runs whose capture or log is not whole."""
    findings = tables["findings"]
    if findings.is_empty():
        return []
    cut = pl.col("rule").is_in(CUT)
    first = findings.unique(["run", "rule"], keep="first", maintain_order=True)
    parts = (
        ("serious", "Runs with errors", "with errors", (pl.col("severity") == "error") & ~cut),
        ("cut", "Runs that were recorded in part", "recorded in part", cut),
    )
    kinds = []
    for name, title, short_title, condition in parts:
        rows = first.filter(condition).select("run", "rule", "message")
        if rows.height:
            kinds.append(
                {
                    "id": name,
                    "title": title,
                    "words": f"{rows['run'].n_unique():,} {short_title}",
                    "rows": rows.head(MOST_FAILED).to_dicts(),
                    "more": max(0, rows.height - MOST_FAILED),
                }
            )
    return kinds


def _headline(runs: pl.DataFrame, good: pl.DataFrame, kinds: Sequence[dict[str, Any]]) -> str:
    failed = runs.height - good.height
    parts = [count(runs.height, "run"), count(len(_varied(good)), "parameter")]
    parts += [f"{failed:,} failed"] if failed else []
    return ", ".join([*parts, *(kind["words"] for kind in kinds)])


def _varied(runs: pl.DataFrame) -> list[str]:
    return [name for name in parameters_of(runs) if runs[PREFIX + name].n_unique() > 1]


def _constants(runs: pl.DataFrame) -> list[tuple[str, str]]:
    """Parameters with one value that all runs have."""
    found = []
    for name in parameters_of(runs):
        values = runs[PREFIX + name].unique()
        if len(values) == 1 and values[0] is not None:
            found.append((short(name), short(_plain(values[0]))))
    return found


def _plain(value: object) -> str:
    """`8`, not `8.0`: what a person typed."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def short(text: str) -> str:
    """One line without control characters, of bounded length."""
    line = printable(text).replace("\n", " ")
    return line if len(line) <= MOST_TEXT else f"{line[: MOST_TEXT - 1]}…"
