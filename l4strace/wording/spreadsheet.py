"""Texts in csv that no spreadsheet takes for a formula, and the same texts read back.

Captures and logs may hold `=cmd|...` where a name should be. One apostrophe in front makes it text;
one that stands there already gets another, so that reading takes away what writing added.
"""

from __future__ import annotations

import polars as pl

FORMULA = r"^('*[=+\-@])"
"""Characters with which a formula begins in any spreadsheet, behind apostrophes."""
TEXT = r"^'('*[=+\-@])"


def guarded(column: pl.Expr) -> pl.Expr:
    """Texts as a csv file holds them."""
    return column.str.replace(FORMULA, "'$1")


def read_back(column: pl.Expr) -> pl.Expr:
    """Texts as they were before `guarded`."""
    return column.str.replace(TEXT, "$1")
