"""The comparison itself: runs of two sides paired by their other parameters, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from l4strace.comparison import interest, modes, permutation, statistics
from l4strace.comparison.sides import Sides
from l4strace.errors import UsageError
from l4strace.studies import cells
from l4strace.studies.cells import Tables
from l4strace.studies.dataset import parameters_of
from l4strace.studies.measures import QUANTITIES
from l4strace.studies.parameters import PREFIX

SEVERE = ("error", "warning")
METHODS = {"holm": "Holm", "bh": "Benjamini-Hochberg"}
NAMES = {"holm": "holm", "bh": "fdr_bh"}
"""Corrections by option, as statsmodels calls them."""


@dataclass(frozen=True)
class Measured:
    """One measure over all cells.

    ``cells`` has a row per cell: the parameters, `runs_before`, `runs_after`, `before`, `after`,
    `difference`, `low`, `high`, `effect_size`, `p`, `p_corrected` and `differs`; null where the
    runs are too few to judge. `modes` is a sentence on runs of a side that fall into two modes.
    """

    name: str
    unit: str
    cells: pl.DataFrame
    mean_difference: float
    p_cells: float | None
    """Probability of the paired test over the cells."""
    visible: float | None
    """Smallest difference of a cell that these runs could show."""

    @property
    def title(self) -> str:
        if cells.is_rule(self.name):
            return "runs with this finding"
        quantity = QUANTITIES.get(self.name)
        return quantity.title if quantity else self.name

    @property
    def judged(self) -> bool:
        """Whether some cell has runs enough for a test."""
        return self.cells["p"].null_count() < self.cells.height


@dataclass(frozen=True)
class Comparison:
    """All measures, by the parameters that pair the cells."""

    names: tuple[str, str]
    by: str
    parameters: tuple[str, ...]
    method: str
    measures: tuple[Measured, ...]
    unpaired: int
    """Cells that only one side has."""
    apart: tuple[str, ...] = ()
    """Parameters whose values the sides do not share: they differ in these, too."""
    origins: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Where the numbers of each side come from, such as packets and flent."""

    @property
    def alike(self) -> tuple[tuple[str, ...], ...]:
        """Measures that say one thing: in each cell they change by the same factor.

        Such as goodput and goodput of the link rate; the first name stands for all.
        """
        groups: dict[tuple[object, ...], list[str]] = {}
        for one in self.measures:
            if one.judged and one.cells["differs"].any():
                keys = one.cells.select(
                    *(PREFIX + name for name in self.parameters),
                    "runs_before", "runs_after",
                    (pl.col("after") / pl.col("before")).round_sig_figs(6),
                    pl.col("effect_size").round_sig_figs(6),
                )  # fmt: skip
                groups.setdefault(tuple(keys.rows()), []).append(one.name)
        return tuple(tuple(names) for names in groups.values() if len(names) > 1)


@dataclass(frozen=True)
class Pairing:
    """Parameters that pair runs: those that the user names, or all that are shared and vary."""

    by: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def check(self, shared: Sequence[str], by: str) -> None:
        """Raises UsageError for a parameter that not both sides have."""
        for name in (*self.by, *self.ignored):
            if name not in shared or name == by:
                raise UsageError(
                    f"no parameter {name!r} pairs runs", f"Both sides have: {', '.join(shared)}."
                )


def compare(
    sides: Sides,
    wanted: Sequence[str] = (),
    method: str = "holm",
    *,
    one_is_enough: bool = False,
    pairing: Pairing | None = None,
    at_least: Sequence[str] = (),
) -> Comparison:
    """Compares the ``wanted`` measures, or all that both sides have.

    With ``one_is_enough`` a single run of the second side is held against the spread of the first
    (`statistics.beyond`); ``at_least`` are smallest effects of interest (`interest.of`). Raises
    UsageError when there is nothing to compare.
    """
    pairing = pairing or Pairing()
    before, after, parameters, apart = _aligned(sides, pairing, by_name=not one_is_enough)
    names = list(wanted) or _shared(before, after)
    least = interest.of(at_least, names)
    frames = [
        (name, _paired(before, after, name, parameters, one_is_enough, least.get(name)))
        for name in names
    ]
    found = [(name, frame) for name, frame in frames if frame is not None and frame.height]
    if not found:
        raise UsageError(
            "the two sides have no cell in common",
            f"Paired by: {', '.join(parameters) or 'nothing'}. --ignore-parameter leaves one out.",
        )
    tests = statistics.corrected([p for _, frame in found for p in frame["p"]], NAMES[method])
    measures, start = [], 0
    for name, frame in found:
        part = pl.Series("p_corrected", tests[start : start + frame.height], pl.Float64)
        start += frame.height
        measures.append(_measured(name, frame, part, len(tests)))
    return Comparison(
        sides.names, sides.by, tuple(parameters), method, tuple(measures),
        _unpaired(before, after, parameters), tuple(apart), (_origins(before), _origins(after)),
    )  # fmt: skip


def _aligned(
    sides: Sides, chosen: Pairing, by_name: bool
) -> tuple[Tables, Tables, list[str], list[str]]:
    """Both sides, the parameters that pair their runs, and those whose values differ throughout.

    Without a parameter that both sides vary, runs of equal name are a pair, if ``by_name`` and
    they are not known to be repetitions.
    """
    before, after = sides.before, sides.after
    shared = [p for p in parameters_of(before["runs"]) if p in parameters_of(after["runs"])]
    chosen.check(shared, sides.by)
    pairing, apart = list(chosen.by), []
    for name in () if chosen.by else shared:
        first, second = (set(t["runs"][PREFIX + name].cast(pl.String)) for t in (before, after))
        if name == sides.by or name in chosen.ignored:
            continue
        if not first & second:
            apart.append(name)
        elif len(first | second) > 1:
            pairing.append(name)
    names = [set(tables["runs"]["run"]) for tables in (before, after)]
    repeated = any(t["runs"]["repetition"].null_count() < t["runs"].height for t in (before, after))
    alike = len(names[0]) > 1 and names[0] & names[1]
    if by_name and alike and not pairing and not repeated and chosen == Pairing():
        column = pl.col("run").alias(PREFIX + "run")
        before, after = (
            {**tables, "runs": tables["runs"].with_columns(column)} for tables in (before, after)
        )
        pairing = ["run"]
    return before, after, pairing, apart


def _origins(tables: Tables) -> tuple[str, ...]:
    runs = tables["runs"]
    return tuple(runs["origin"].drop_nulls().unique().sort()) if "origin" in runs.columns else ()


def _shared(before: Tables, after: Tables) -> list[str]:
    """Measures of both sides in the order of `QUANTITIES`, then rules that either side found."""
    first, second = (set(cells.of_runs(tables)["name"]) for tables in (before, after))
    order = list(QUANTITIES)
    both = sorted(
        first & second, key=lambda name: (order.index(name) if name in order else len(order), name)
    )
    found = [t["findings"].filter(pl.col("severity").is_in(SEVERE)) for t in (before, after)]
    return both + sorted(set(found[0]["rule"]) | set(found[1]["rule"]))


def _paired(
    before: Tables,
    after: Tables,
    measure: str,
    parameters: Sequence[str],
    one_is_enough: bool,
    least: interest.Least | None,
) -> pl.DataFrame | None:
    """One row per cell that both sides have; null where a side lacks the measure."""
    columns = [PREFIX + name for name in parameters]
    sides = []
    for tables, other in ((before, after), (after, before)):
        values = _values(tables, other, measure)
        if values is None:
            return None
        grouped = values.with_columns(_=pl.lit(0)).group_by("_", *columns)
        sides.append(grouped.agg(pl.col("value").sort_by("repetition", "run")))
    first, second = sides
    keys = [pl.col(name).cast(first.schema[name]) for name in columns]
    joined = first.join(
        second.with_columns(keys), on=["_", *columns], suffix="_after", nulls_equal=True
    ).sort(columns, nulls_last=True)
    pairs = list(joined.select("value", "value_after").iter_rows())
    effects = statistics.effects(pairs, least.of_cells(pairs) if least else None)
    if one_is_enough:
        effects = [
            statistics.beyond(first, second, one, floor)
            for (first, second), one, floor in zip(
                pairs, effects, permutation.usual(pairs), strict=True
            )
        ]
    return joined.select(
        *columns,
        runs_before=pl.col("value").list.len(),
        runs_after=pl.col("value_after").list.len(),
        before=pl.Series([e.before for e in effects], dtype=pl.Float64),
        after=pl.Series([e.after for e in effects], dtype=pl.Float64),
        difference=pl.Series([e.difference for e in effects], dtype=pl.Float64),
        low=pl.Series([e.low for e in effects], dtype=pl.Float64),
        high=pl.Series([e.high for e in effects], dtype=pl.Float64),
        effect_size=pl.Series([e.effect_size for e in effects], dtype=pl.Float64),
        p=pl.Series([e.p for e in effects], dtype=pl.Float64),
        deviation=_pooled(),
        modes=pl.Series([modes.sentence(*pair) for pair in pairs], dtype=pl.String),
    )


def _values(tables: Tables, other: Tables, measure: str) -> pl.DataFrame | None:
    """Values of a measure; a rule that only the other side found counts 0 here."""
    if cells.is_rule(measure):
        found = {rule for one in (tables, other) for rule in one["findings"]["rule"]}
        if measure.partition(":")[0] not in found:
            return None
        runs = tables["runs"].filter(pl.col("status") == "ok")
        hit = cells.hits(tables["findings"], measure)
        looked = cells.could_judge(runs, measure.partition(":")[0])
        runs = runs.filter(looked | pl.col("run").is_in(hit.implode()))
        return runs.with_columns(value=pl.col("run").is_in(hit.implode()).cast(pl.Float64))
    if measure in set(cells.of_runs(tables)["name"]):
        return cells.values(tables, measure)
    return None


def _pooled() -> pl.Expr:
    """Standard deviation within both sides of a cell."""
    n_a, n_b = (pl.col(name).list.len() for name in ("value", "value_after"))
    v_a, v_b = (pl.col(name).list.var() for name in ("value", "value_after"))
    return (((n_a - 1) * v_a + (n_b - 1) * v_b) / (n_a + n_b - 2)).sqrt()


def _measured(name: str, frame: pl.DataFrame, corrected: pl.Series, tests: int) -> Measured:
    deviation = frame["deviation"].drop_nulls().median()
    runs = int(frame["runs_before"].median() or 0), int(frame["runs_after"].median() or 0)  # type: ignore[arg-type]
    # Equal values differ in their last digits where they are sums.
    least = 10.0**-statistics.DIGITS * float(frame["before"].abs().max() or 0)  # type: ignore[arg-type]
    spread = deviation if isinstance(deviation, float) and deviation > least else None
    differs = (pl.col("p_corrected") < permutation.LEVEL).alias("differs")
    return Measured(
        name,
        cells.unit(name),
        frame.drop("deviation").with_columns(corrected).with_columns(differs),
        float(frame["difference"].mean()),  # type: ignore[arg-type]
        statistics.paired(frame["difference"].to_list()),
        None if spread is None else statistics.visible(spread, *runs, tests),
    )


def _unpaired(before: Tables, after: Tables, parameters: Sequence[str]) -> int:
    columns = [pl.col(PREFIX + name).cast(pl.String) for name in parameters]
    first, second = (set(tables["runs"].select(columns).iter_rows()) for tables in (before, after))
    return len(first ^ second) if columns else 0
