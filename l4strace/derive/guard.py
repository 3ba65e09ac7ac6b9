"""A fault in one row of a derived table costs that row, not the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")

_faults: ContextVar[list[Exception] | None] = ContextVar("faults", default=None)
"""Where faults are noted; null: they are raised."""


def each(
    make: Callable[[Given], Made], rows: Iterable[Given], instead: Callable[[Given], Made]
) -> list[Made]:
    """``make`` of each row; ``instead`` of those that odd data breaks it on."""
    return [_one(make, row, instead) for row in rows]


def _one(make: Callable[[Given], Made], row: Given, instead: Callable[[Given], Made]) -> Made:
    try:
        return make(row)
    except Exception as error:
        noted = _faults.get()
        if noted is None:
            raise
        noted.append(error)
        return instead(row)


@contextmanager
def noting(faults: list[Exception] | None) -> Iterator[None]:
    """Faults inside go to ``faults``; where that is null, they are raised."""
    before = _faults.set(faults)
    try:
        yield
    finally:
        _faults.reset(before)
