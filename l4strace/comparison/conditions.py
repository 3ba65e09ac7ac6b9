"""Conditions on parameters: `rate=4,8`, `rtt=4..32`, `aqm!=CoDel`, `rate=>50`, `rtt<=20ms`."""

from __future__ import annotations

import re

import polars as pl

from l4strace.errors import UsageError
from l4strace.studies.dataset import parameters_of
from l4strace.studies.parameters import PREFIX, quantity

CONDITION = re.compile(r"(?P<name>.+?)\s*(?P<test>!=|<=|>=|=|<|>)\s*(?P<values>.*)")
RANGE = re.compile(r"(?P<low>.*?)\.\.(?P<high>.*)")
FORMS = "Forms: NAME=A,B  NAME=LOW..HIGH  NAME!=A  NAME<A  NAME>=A."


def met(condition: str, runs: pl.DataFrame) -> pl.Expr:
    """Whether a run meets the condition. Raises UsageError."""
    found = CONDITION.fullmatch(condition)
    name = found["name"] if found else condition
    if not found or PREFIX + name not in runs.columns:
        known = ", ".join(parameters_of(runs))
        raise UsageError(
            f"--where {condition!r} names no parameter", f"{FORMS} Parameters: {known}."
        )
    values = runs[PREFIX + name].unique().to_list()
    test, wanted = found["test"], found["values"]
    if test in ("=", "!="):
        kept = {v for v in values for one in wanted.split(",") if _fits(v, one.strip())}
        if test == "=" and not kept:
            shown = ", ".join(sorted(str(value) for value in values if value is not None))
            raise UsageError(f"--where {condition!r} leaves no run", f"{name} has: {shown}.")
        chosen = kept if test == "=" else {value for value in values if value not in kept}
    else:
        chosen = {value for value in values if _ordered(value, test, wanted, condition)}
    column = pl.col(PREFIX + name)
    among = column.is_in([value for value in chosen if value is not None])
    return (among | column.is_null()) if None in chosen else among.fill_null(False)


def _fits(value: object, wanted: str) -> bool:
    """Whether a value is the ``wanted`` one, as text or number, or lies in its range."""
    if value is None:
        return wanted == "-"
    if span := RANGE.fullmatch(wanted):
        number = _number(value)
        low, high = _number(span["low"]), _number(span["high"])
        if number is not None and (low is not None or high is not None):
            return (low is None or number >= low) and (high is None or number <= high)
    if str(value) == wanted:
        return True
    number, other = _number(value), _number(wanted)
    return number is not None and number == other


def _ordered(value: object, test: str, wanted: str, condition: str) -> bool:
    limit = _number(wanted)
    if limit is None:
        raise UsageError(f"--where {condition!r}: {wanted!r} is not a number", FORMS)
    number = _number(value)
    if number is None:
        return False
    below, above = number < limit, number > limit
    return {"<": below, ">": above, "<=": not above, ">=": not below}[test]


def _number(value: object) -> float | None:
    """A number, also of `80` and, in its unit, of `50mbit`."""
    if isinstance(value, (int, float)):
        return float(value)
    text = str(value).strip()
    try:
        return float(text)
    except ValueError:
        made = quantity(text)
        return made[0] if made else None
