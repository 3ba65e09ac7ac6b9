"""Results made elsewhere: a table with one row a run, as most studies publish them.

A column is a parameter, the number of the repetition, the goodput or the RTT of a flow, a counter
of the fallback's detector or another measure. Options decide, then names; a column of numbers that
hardly repeat is a measure. What was decided is a note.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from l4strace.schema.sweep import RUNS, SWEEP_FLOWS
from l4strace.studies import measures, parameters
from l4strace.studies.parameters import PREFIX, SIZES, TIMES_US, Value, rate_bps, round_trip_us
from l4strace.studies.sources.names import L4S
from l4strace.studies.sources.result_files import NAMES

REPETITION = re.compile(r"i|rep|repeat|repetition|trial|iteration|seed|run_?(?:id|number)?", re.I)
RATE_UNIT = r"[ _(]*(?P<unit>[kmg]?)(?:bits?|bps|b|)(?:/s|ps|_per_s)?\)?"
GOODPUT = re.compile(
    r"(?P<flow>.+?)[ _.-](?:(?:throughput|goodput|tput)" + RATE_UNIT
    + r"|(?P<only>[kmg]?)(?:bit/s|bits?_per_s|bps|bit_s))",
    re.I,
)  # fmt: skip
"""`prague throughput`, `cubic_goodput_mbps`, `prague_mbps`: bit/s where the name has no unit."""
RTT = re.compile(
    r"(?P<flow>.+?)[ _.-](?P<kind>(?:mean_?|avg_?)?s?rtt(?:_?mean|_?avg)?)"
    r"[ _(]*(?P<unit>us|ms|s)?\)?",
    re.I,
)
"""`prague_srtt_ms`: mean RTT of a flow, in ms where the name has no unit."""
NO_FLOW = re.compile(
    r"(?:.*[ _.-])?(?:link|bottleneck|total|sum|all|aggregate|mean|avg|average|min|max|median|p\d+|"
    r"std|target|offered|limit|base|network|net|path|config|drop|loss|mark|error)",
    re.I,
)
"""What stands before a rate or RTT and names no flow."""
ANSWER = re.compile(
    r"throughput|goodput|tput|share|drop|loss|retrans|delay|latency|spike|utili[sz]ation|mark"
    r"|\bce\b|jain|srtt|sojourn|score|fct|completion|duration|elapsed"
    r"|(?:mean|avg|median|max|p\d+)[ _]?rtt|rtt[ _]?(?:mean|avg|median|max|p\d+)",
    re.I,
)
"""Words in the name of a column that is a measure, not a parameter."""
UNIT = re.compile(r".*[ _(](us|ms|s|%|percent|pct|[kmg]?bit/s|[kmg]?bps|packets?|bytes?)\)?", re.I)
"""The unit that ends the name of a measure."""
DETECTOR = ("classic", "transition", "scalable")
"""Events of the fallback's detector by mode, as the scripts of the fallback study count them."""
MOST_VALUES = 64
"""A column with more different numbers, or with more than half of its rows different, is a measure:
studies sweep a handful of values. By eye."""

ByName = Callable[[str], Mapping[str, Value] | None]
"""Parameters that the name of a run carries; null where the name does not fit."""


@dataclass(frozen=True)
class Roles:
    """What the options say of columns; the others are recognized."""

    parameters: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    repetition: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """All columns that an option names."""
        return (*self.parameters, *self.measures, *filter(None, [self.repetition]))


@dataclass
class Columns:
    """Columns of a table by what they hold."""

    parameters: list[str] = field(default_factory=list)
    repetition: str | None = None
    name: str | None = None
    goodput: dict[str, tuple[str, float]] = field(default_factory=dict)
    """Column -> name of its flow, and the factor to bit/s."""
    rtt: dict[str, tuple[str, float]] = field(default_factory=dict)
    """Column -> name of its flow, and the factor to us."""
    detector: bool = False
    measures: dict[str, str] = field(default_factory=dict)
    """Column -> its unit."""
    by_values: list[str] = field(default_factory=list)
    """Measures that only their values show to be such."""

    def note(self) -> str:
        """Which column was taken for what, in one sentence."""
        flows = [f"{flow} ({column})" for column, (flow, _) in self.goodput.items()]
        rtts = [f"{flow} ({column})" for column, (flow, _) in self.rtt.items()]
        others = [name for name in self.measures if name not in self.by_values]
        parts = (
            ("runs named by", [self.name] if self.name else []),
            ("parameters", self.parameters),
            ("repetition", [self.repetition] if self.repetition else []),
            ("goodput of", flows),
            ("RTT of", rtts),
            ("detector", list(DETECTOR) if self.detector else []),
            ("measures", others),
            ("measures by their many values (--parameter makes them parameters)", self.by_values),
        )
        return "; ".join(f"{title} {', '.join(names)}" for title, names in parts if names)


def numbers(frame: pl.DataFrame, roles: Roles) -> tuple[pl.DataFrame, dict[str, str]]:
    """``frame`` with texts such as `4.2 Mbps` as numbers, and the units of these columns.

    Parameters stay as they are written: `50mbit` is the name of a value.
    """
    units: dict[str, str] = {}
    found = []
    for name in frame.columns:
        values = frame[name]
        if values.dtype != pl.String or name in roles.parameters:
            continue
        answers = GOODPUT.fullmatch(name) or RTT.fullmatch(name) or ANSWER.search(name)
        if not (answers or name in roles.measures) or parameters.RATE_NAME.fullmatch(name):
            continue
        made = [parameters.quantity(value) for value in values.drop_nulls()]
        known = {one[1] for one in made if one is not None}
        if made and None not in made and len(known) == 1:
            iterator = iter(made)
            plain = [None if v is None else next(iterator)[0] for v in values]  # type: ignore[index]
            found.append(pl.Series(name, plain, pl.Float64))
            units[name] = known.pop()
    return frame.with_columns(found), units


def columns_of(frame: pl.DataFrame, roles: Roles | None = None,
               units: Mapping[str, str] | None = None) -> Columns:  # fmt: skip
    """Meaning of each column; empty columns have none."""
    roles, units = roles or Roles(), units or {}
    found = Columns(detector=all(_is_counter(frame, name) for name in DETECTOR))
    found.repetition = roles.repetition if roles.repetition in frame.columns else None
    for name in frame.columns:
        values = frame[name]
        if values.null_count() == frame.height or name == found.repetition:
            continue
        if name in roles.parameters:
            found.parameters.append(name)
        elif not (found.detector and name in DETECTOR):
            _place(found, name, values, roles, units)
    return found


def _place(
    found: Columns, name: str, values: pl.Series, roles: Roles, units: Mapping[str, str]
) -> None:
    """Puts one column where its name, else its values, show that it belongs."""
    number, wanted = values.dtype.is_numeric(), name in roles.measures
    if not wanted and found.name is None and _names_runs(name, values):
        found.name = name
    elif not wanted and REPETITION.fullmatch(name) and found.repetition is None:
        found.repetition = name
    elif not number or (not wanted and parameters.RATE_NAME.fullmatch(name)):
        found.parameters.append(name)
    elif flow := _flow(GOODPUT, name):
        unit = (flow["unit"] or flow["only"] or "").lower()
        found.goodput[name] = _label(flow), 1.0 if name in units else SIZES[unit]
    elif (flow := _flow(RTT, name)) and _is_measured_rtt(flow, values, wanted):
        unit = (flow["unit"] or "ms").lower()
        found.rtt[name] = _label(flow), 1.0 if name in units else TIMES_US[unit]
    elif wanted or ANSWER.search(name):
        found.measures[name] = units.get(name) or _unit(name)
    elif _many(values):
        found.measures[name] = _unit(name)
        found.by_values.append(name)
    else:
        found.parameters.append(name)


def _names_runs(name: str, values: pl.Series) -> bool:
    """Whether a column holds a name of its own for each run."""
    return (
        name.lower() in NAMES
        and values.dtype == pl.String
        and values.null_count() == 0
        and values.n_unique() == len(values)
        and len(values) > 1
    )


def _flow(pattern: re.Pattern[str], name: str) -> re.Match[str] | None:
    found = pattern.fullmatch(name)
    return None if found is None or NO_FLOW.fullmatch(found["flow"]) else found


def _is_measured_rtt(found: re.Match[str], values: pl.Series, wanted: bool) -> bool:
    """Whether an RTT of a flow was measured: `prague_rtt` can be one that a study sets."""
    return wanted or found["kind"].lower() != "rtt" or _many(values)


def _label(found: re.Match[str]) -> str:
    """`prague` of `flows.prague`."""
    return found["flow"].rpartition(".")[2] or found["flow"]


def _unit(name: str) -> str:
    found = UNIT.fullmatch(name)
    return found[1].lower() if found else ""


def _is_counter(frame: pl.DataFrame, name: str) -> bool:
    return name in frame.columns and frame[name].dtype.is_numeric() and frame[name].count() > 0


def _many(values: pl.Series) -> bool:
    different = values.drop_nulls().n_unique()
    return different > MOST_VALUES or (different > 4 and 2 * different > values.count())


def tables(
    frame: pl.DataFrame, name: str, columns: Columns | None = None, by_name: ByName | None = None
) -> dict[str, pl.DataFrame]:
    """The tables of a sweep from a table ``frame`` with one row a run; `runs` with parameters."""
    columns = columns or columns_of(frame)
    runs = _named(frame, name, columns)
    repetition = pl.lit(None, pl.String)
    if columns.repetition:
        repetition = pl.col(columns.repetition).cast(pl.String)
    given = runs.select(columns.parameters).rename(lambda column: PREFIX + column)
    plain = runs.select(
        "run", repetition.alias("repetition"), status=pl.lit("ok"), origin=pl.lit("table")
    )
    whole = pl.concat([RUNS.conform(plain), given], how="horizontal")
    if by_name and columns.name:
        whole = _with_names(whole, frame[columns.name], by_name)
    set_ = [
        {key.removeprefix(PREFIX): value for key, value in row.items() if key.startswith(PREFIX)}
        for row in whole.iter_rows(named=True)
    ]
    flows = _flows(runs, columns, [round_trip_us(one) for one in set_])
    rates = pl.DataFrame(
        {"run": runs["run"], "rate_bps": pl.Series(map(rate_bps, set_), dtype=pl.Float64)}
    )
    own = measures.rows(runs.select("run", *columns.measures), columns.measures)
    computed = measures.of_flows(flows, rates)
    return {
        "runs": whole,
        "flows": flows,
        # What a table states counts, not what follows from its other columns.
        "measures": pl.concat([computed.join(own, on=["run", "name"], how="anti"), own]),
    }


def _named(frame: pl.DataFrame, name: str, columns: Columns) -> pl.DataFrame:
    width = len(str(frame.height))
    number = pl.col("row").cast(pl.String).str.zfill(width)
    of = pl.col(columns.name) if columns.name else number
    return frame.with_row_index("row", 1).with_columns(run=pl.format("{}:{}", pl.lit(name), of))


def _with_names(runs: pl.DataFrame, names: pl.Series, by_name: ByName) -> pl.DataFrame:
    """``runs`` with what their names carry; columns of the table win."""
    carried = [dict(by_name(one) or {}) for one in names]
    repetition = parameters.taken(carried)
    frame = parameters.frame(runs["run"].to_list(), carried)
    new = [column for column in frame.columns if column not in runs.columns]
    runs = runs.with_columns(frame.select(new))
    if runs["repetition"].null_count() == runs.height:
        runs = runs.with_columns(repetition=pl.Series(repetition, dtype=pl.String))
    return runs


def _flows(runs: pl.DataFrame, columns: Columns, base_us: Sequence[float | None]) -> pl.DataFrame:
    """One row per run and flow; the detector's counters belong to its L4S flows.

    The delay of the queue is the mean RTT less the RTT that a parameter sets.
    """
    labels = list(dict.fromkeys(
        label for label, _ in (*columns.goodput.values(), *columns.rtt.values())
    ))  # fmt: skip
    none = pl.lit(None, pl.Float64)
    runs = runs.with_columns(_base=pl.Series(base_us, dtype=pl.Float64))
    parts = []
    for number, label in enumerate(labels):
        goodput, rtt = (_scaled(of, label) for of in (columns.goodput, columns.rtt))
        scalable = bool(L4S.search(label))
        parts.append(
            runs.select(
                "run",
                flow=pl.lit(number),
                forward=pl.lit(True),
                label=pl.lit(label),
                l4s=pl.lit(scalable),
                goodput_bps=goodput,
                rtt_mean_us=rtt,
                queue_delay_us=pl.when(rtt >= pl.col("_base")).then(rtt - pl.col("_base")),
                time_classic=_time_in(columns, "classic") if scalable else none,
                time_transition=_time_in(columns, "transition") if scalable else none,
            )
        )
    if not parts:
        return SWEEP_FLOWS.empty()
    share = pl.col("goodput_bps") / pl.col("goodput_bps").sum().over("run")
    return SWEEP_FLOWS.conform(pl.concat(parts).with_columns(share=share)).sort("run", "flow")


def _scaled(of: Mapping[str, tuple[str, float]], label: str) -> pl.Expr:
    for column, (name, factor) in of.items():
        if name == label:
            return pl.col(column).cast(pl.Float64) * factor
    return pl.lit(None, pl.Float64)


def _time_in(columns: Columns, state: str) -> pl.Expr:
    if not columns.detector:
        return pl.lit(None, pl.Float64)
    return pl.col(state) / pl.sum_horizontal(DETECTOR, ignore_nulls=False)
