"""Every sentence of the schema stands alone: it is read in an export, without the row above."""

import re
from collections.abc import Iterator

import pytest

from l4strace.schema import FOUND, TABLES, Column, Table
from l4strace.schema.sweep import SWEEP_TABLES

ALL = [*TABLES.values(), *FOUND.values(), *SWEEP_TABLES.values()]
NEEDS_ANOTHER_ROW = re.compile(
    r"^(The same|Those|Them|Their|They|Its?|Of|That of|Likewise|As above|Ditto|When\.|Such)\b"
    r"|^(Start|End|Mean|Median|Largest|Smallest|Least|(Upp|Low)er bound)( of (the )?last)?[.,]"
    r"|\b(likewise|as above|the one above|the next (two|three|four)|of those)\b"
)
"""Openings and words that refer to another column without naming it."""
SHORTEST = 3
"""Words of the shortest sentence that says what a value is."""


def columns() -> Iterator[tuple[Table, Column]]:
    yield from ((table, column) for table in ALL for column in table.columns)


def name(table: Table, column: Column) -> str:
    return f"{table.name}.{column.name}"


def test_each_column_has_a_sentence():
    bad = [
        name(table, column)
        for table, column in columns()
        if not re.match(r"[A-Z0-9`].*\.$", column.doc) or len(column.doc.split()) < SHORTEST
    ]
    assert bad == []


def test_no_sentence_needs_the_row_above():
    bad = [
        (name(table, column), column.doc)
        for table, column in columns()
        if NEEDS_ANOTHER_ROW.search(column.doc)
    ]
    assert bad == []
    assert [table.name for table in ALL if NEEDS_ANOTHER_ROW.search(table.doc)] == []


def test_no_sentence_is_a_list_of_values_alone():
    """`fin`, `rst` or `open` of what?"""
    bad = [
        (name(table, column), column.doc)
        for table, column in columns()
        if re.match(r"(`[^`]+`|\d+ [A-Z]\w+)( \([^)]*\))?(,| or\b| to\b)", column.doc)
    ]
    assert bad == []


@pytest.mark.parametrize("table", ALL, ids=lambda table: table.name)
def test_no_two_columns_of_a_table_share_a_sentence(table: Table):
    sentences = [column.doc for column in table.columns]
    assert len(set(sentences)) == len(sentences)


@pytest.mark.parametrize(
    "sentence",
    ["Of no reduction.", "End of the last.", "The same in packets.", "Mean, likewise.", "Those."],
)
def test_what_needs_the_row_above_is_found(sentence: str):
    assert NEEDS_ANOTHER_ROW.search(sentence)
