"""What distinguishes runs: parameters, their order on an axis, and the rate of the link."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from math import isfinite

import polars as pl

Value = str | int | float
Parameters = Mapping[str, Value | None]

PREFIX = "p_"
"""Begins the names of parameter columns in `runs`, so that no parameter hides a declared column."""

SIZES = {"g": 1e9, "m": 1e6, "k": 1e3, "": 1.0}
NUMERAL = r"([0-9]{1,15}(?:\.[0-9]{1,15})?)"
RATE = re.compile(NUMERAL + r"\s*([gmk]?)(?:bit|bps|b)(?:/s|ps)?", re.IGNORECASE)
TIME = re.compile(NUMERAL + r"\s*(us|ms|s)")
TIMES_US = {"us": 1.0, "ms": 1e3, "s": 1e6}
MOST_PARAMETERS = 200
"""A few lines of YAML can name an object ten times in each of ten others, and so on."""
NUMBER = re.compile(rf"-?{NUMERAL}")
LEADING = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")

RATE_NAME = re.compile(
    r"(?:.*\.)?(?:(?:link_?|bottleneck_?)?rate|bandwidth|bw|capacity)"
    r"(?:[ _(]*(bit|kbit|mbit|gbit|bps|kbps|mbps|gbps)(?:/s)?\)?)?",
    re.IGNORECASE,
)
"""Names of the parameter that sets the rate of the link, with its unit where the name has one."""
RTT_NAME = re.compile(r"(?:.*\.)?(?:base_?)?rtt(?:[ _(]*(us|ms|s)\)?)?", re.IGNORECASE)
"""Names of the parameter that sets the RTT of the empty path."""
PERCENT = re.compile(r"([\d.]+)\s*%")
REPETITION = re.compile(r"(?:i|rep|repeat|repetition|trial|iteration|seed)", re.IGNORECASE)
"""Names that number the runs of equal parameters."""


def rate_bps(parameters: Parameters) -> float | None:
    """Rate of the link in bit/s: `50mbit`, or a bare number in Mbit/s (tc's and flent's habit)."""
    return _stated(parameters, RATE_NAME, "mbit", "bit/s")


def round_trip_us(parameters: Parameters) -> float | None:
    """RTT of the empty path: `20ms`, or a bare number in ms."""
    return _stated(parameters, RTT_NAME, "ms", "us")


def _stated(parameters: Parameters, names: re.Pattern[str], usual: str, unit: str) -> float | None:
    """The first parameter with such a name and a value, as a number of ``unit``."""
    for name, value in parameters.items():
        found = names.fullmatch(name)
        # Tables made elsewhere have rows without a value.
        if not found or value is None:
            continue
        text = value if isinstance(value, str) else f"1{found[1] or usual}".lower()
        factor = 1.0 if isinstance(value, str) else float(value)
        made = quantity(text)
        return factor * made[0] if made and made[1] == unit and isfinite(factor) else None
    return None


def quantity(text: str) -> tuple[float, str] | None:
    """`4.2 Mbps` as (4200000.0, "bit/s"), times in us, `12 %` as a share; null for other texts."""
    text = text.strip()
    try:
        if found := RATE.fullmatch(text):
            return float(found[1]) * SIZES[found[2].lower()], "bit/s"
        if found := TIME.fullmatch(text):
            return float(found[1]) * TIMES_US[found[2]], "us"
        if found := PERCENT.fullmatch(text):
            return float(found[1]) / 100, "share"
    except ValueError:
        # `1.2.3 Mbps` looks like a number and is none.
        pass
    return None


def taken(rows: Iterable[dict[str, Value]]) -> list[str | None]:
    """The number of the repetition of each of ``rows``, which lose it."""
    found: list[str | None] = []
    for row in rows:
        names = [name for name in row if REPETITION.fullmatch(name)]
        values = [row.pop(name) for name in names]
        found.append(str(values[-1]) if values else None)
    return found


def order(value: Value | None) -> tuple[int, float, str]:
    """Sorts numbers by size, texts with a unit by their size in it, then all other texts."""
    if value is None:
        return 3, 0.0, ""
    if isinstance(value, (int, float)):
        return 0, float(value), ""
    if (made := quantity(value)) and made[1] != "share":
        return 0, made[0] if made[1] == "bit/s" else made[0] / 1e6, value
    if number := LEADING.match(value):
        return 1, float(number[0]), value
    return 2, 0.0, value


def frame(names: list[str], rows: Iterable[Parameters]) -> pl.DataFrame:
    """One row per run: `run` and a column `p_NAME` for each parameter.

    A column holds numbers where every value that is present is one, else text.
    """
    parameters = list(rows)
    columns = dict.fromkeys(key for row in parameters for key in row)
    series = [column(PREFIX + key, [row.get(key) for row in parameters]) for key in columns]
    return pl.DataFrame([pl.Series("run", names, pl.String), *series])


def column(name: str, values: list[Value | None]) -> pl.Series:
    """``values`` as integers, floats or text, whichever holds all of them."""
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, int) for value in present):
        return pl.Series(name, values, pl.Int64)
    if present and all(isinstance(value, (int, float)) for value in present):
        return pl.Series(name, values, pl.Float64)
    texts = [None if value is None else str(value) for value in values]
    return pl.Series(name, texts, pl.String)


def plain(value: object) -> Value | None:
    """A scalar of a manifest as a parameter: text on one line, or a number; else null."""
    from l4strace.ingest import untrusted

    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return number(untrusted.text(value) or "")
    if isinstance(value, int):
        return untrusted.whole(value)
    return untrusted.number(value)


def number(text: str) -> Value:
    """``text``, as a number where it is one: studies write `"12"` and `12`."""
    if not NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)


def flat(values: Mapping[str, object], depth: int = 3) -> dict[str, Value]:
    """Nested scalars under dotted names; lists of scalars as one text; null is left out.

    At most `MOST_PARAMETERS` of each object.
    """
    from l4strace.ingest import untrusted

    found: dict[str, Value] = {}
    for key, value in islice(values.items(), MOST_PARAMETERS):
        if len(found) >= MOST_PARAMETERS:
            break
        name = untrusted.text(key) or "?"
        if isinstance(value, Mapping) and depth:
            found |= {f"{name}.{inner}": item for inner, item in flat(value, depth - 1).items()}
        elif isinstance(value, list):
            parts = [plain(item) for item in value]
            if parts and all(part is not None for part in parts):
                found[name] = " ".join(map(str, parts))[: untrusted.MOST_TEXT]
        elif (scalar := plain(value)) is not None:
            found[name] = scalar
    return found
