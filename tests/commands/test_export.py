"""`export`: every table in every format."""

from pathlib import Path

import polars as pl
import pytest

from l4strace.errors import UsageError
from l4strace.schema import TABLES


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_its_declared_columns(call, sample: Path, table: str):
    target = sample.parent / f"{table}.parquet"
    assert call("export", table, sample, "-o", target).exit_code == 0
    assert pl.read_parquet(target).schema == TABLES[table].schema


def test_csv_by_default_and_ndjson(call, sample: Path):
    plain = call("export", "rounds", sample).stdout.splitlines()
    assert plain[0].startswith("source,flow,forward,round")
    lines = call("export", "rounds", sample, "-f", "ndjson").stdout.splitlines()
    assert len(lines) == len(plain) - 1
    assert lines[0].startswith('{"source":0')


def test_nothing_is_overwritten_unasked(call, sample: Path):
    target = sample.parent / "rounds.csv"
    target.write_text("mine")
    assert isinstance(call("export", "rounds", sample, "-o", target).exception, UsageError)
    assert target.read_text() == "mine"
    assert call("export", "rounds", sample, "-o", target, "--force").exit_code == 0


def test_an_unknown_table_names_those_there_are(call, sample: Path):
    assert "rounds" in getattr(call("export", "nothing", sample).exception, "hint", "")
