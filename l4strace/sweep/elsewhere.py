"""Results made elsewhere: a table with one row a run, as most studies publish them.

A column is a parameter, the number of the repetition, the goodput of a flow, a counter of the
fallback's detector or another measure. Names decide; a column of numbers that hardly repeat is a
measure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import polars as pl

from l4strace.schema.sweep import RUNS, SWEEP_FLOWS
from l4strace.sweep import measures
from l4strace.sweep.names import L4S
from l4strace.sweep.parameters import PREFIX, rate_bps

REPETITION = re.compile(r"i|rep|repeat|repetition|trial|iteration|seed|run_?(?:id|number)?", re.I)
GOODPUT = re.compile(
    r"(?P<flow>.+?)[ _-](?:throughput|goodput|tput)[ _(]*(?P<unit>[kmg]?)(?:bit|bps|b|)"
    r"(?:/s|ps)?\)?",
    re.I,
)
"""`prague throughput`, `cubic_goodput_mbps`: bit/s where the name has no unit."""
ANSWER = re.compile(
    r"throughput|goodput|tput|share|drop|loss|retrans|delay|latency|spike|utili[sz]ation|mark"
    r"|\bce\b|jain|srtt|sojourn|score",
    re.I,
)
"""Words in the name of a column that is a measure, not a parameter."""
DETECTOR = ("classic", "transition", "scalable")
"""Events of the fallback's detector by mode, as the scripts of the fallback study count them."""
MOST_VALUES = 64
"""A column with more different numbers, or with more than half of its rows different, is a measure:
studies sweep a handful of values. By eye."""
SIZES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}


@dataclass
class Columns:
    """Columns of a table by what they hold."""

    parameters: list[str] = field(default_factory=list)
    repetition: str | None = None
    goodput: dict[str, tuple[str, float]] = field(default_factory=dict)
    """Column -> name of its flow, and the factor to bit/s."""
    detector: bool = False
    measures: list[str] = field(default_factory=list)


def columns_of(frame: pl.DataFrame) -> Columns:
    """Meaning of each column; empty columns have none."""
    found = Columns(detector=all(_is_counter(frame, name) for name in DETECTOR))
    for name in frame.columns:
        values = frame[name]
        if values.null_count() == frame.height or (found.detector and name in DETECTOR):
            continue
        number = values.dtype.is_numeric()
        if REPETITION.fullmatch(name) and found.repetition is None:
            found.repetition = name
        elif number and (flow := GOODPUT.fullmatch(name)):
            found.goodput[name] = flow["flow"], SIZES[flow["unit"].lower()]
        elif number and (ANSWER.search(name) or _hardly_repeats(values)):
            found.measures.append(name)
        else:
            found.parameters.append(name)
    return found


def _is_counter(frame: pl.DataFrame, name: str) -> bool:
    return name in frame.columns and frame[name].dtype.is_numeric() and frame[name].count() > 0


def _hardly_repeats(values: pl.Series) -> bool:
    different = values.drop_nulls().n_unique()
    return different > MOST_VALUES or (different > 4 and 2 * different > values.count())


def tables(frame: pl.DataFrame, name: str) -> dict[str, pl.DataFrame]:
    """The tables of a sweep from a table ``frame`` with one row a run; `runs` with parameters."""
    columns = columns_of(frame)
    width = len(str(frame.height))
    runs = frame.with_row_index("row", 1).with_columns(
        run=pl.format("{}:{}", pl.lit(name), pl.col("row").cast(pl.String).str.zfill(width))
    )
    repetition = pl.lit(None, pl.String)
    if columns.repetition:
        repetition = pl.col(columns.repetition).cast(pl.String)
    parameters = runs.select(columns.parameters)
    plain = runs.select(
        "run", repetition.alias("repetition"), status=pl.lit("ok"), origin=pl.lit("table")
    )
    flows = _flows(runs, columns)
    rates = _rates(runs, columns)
    own = measures.rows(runs.select("run", *columns.measures)) if columns.measures else None
    of_flows = measures.of_flows(flows, rates)
    return {
        "runs": pl.concat(
            [
                RUNS.conform(plain),
                parameters.rename(lambda column: PREFIX + column),
            ],
            how="horizontal",
        ),
        "flows": flows,
        "measures": of_flows if own is None else pl.concat([of_flows, own]),
    }


def _flows(runs: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """One row per run and flow; the detector's counters belong to its L4S flows."""
    parts = [
        runs.select(
            "run",
            flow=pl.lit(number),
            forward=pl.lit(True),
            label=pl.lit(label),
            l4s=pl.lit(bool(L4S.search(label))),
            goodput_bps=pl.col(column).cast(pl.Float64) * factor,
            time_classic=_time_classic(columns) if L4S.search(label) else pl.lit(None, pl.Float64),
        )
        for number, (column, (label, factor)) in enumerate(columns.goodput.items())
    ]
    if not parts:
        return SWEEP_FLOWS.empty()
    share = pl.col("goodput_bps") / pl.col("goodput_bps").sum().over("run")
    return SWEEP_FLOWS.conform(pl.concat(parts).with_columns(share=share)).sort("run", "flow")


def _time_classic(columns: Columns) -> pl.Expr:
    if not columns.detector:
        return pl.lit(None, pl.Float64)
    return pl.col("classic") / pl.sum_horizontal(DETECTOR, ignore_nulls=False)


def _rates(runs: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    # By the rows of ``runs``: a frame without columns has none.
    names = columns.parameters
    values = [rate_bps({name: row[name] for name in names}) for row in runs.iter_rows(named=True)]
    return pl.DataFrame({"run": runs["run"], "rate_bps": pl.Series(values, dtype=pl.Float64)})
