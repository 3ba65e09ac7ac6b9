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


def exported(call, table: str, *words: object) -> pl.DataFrame:
    assert call("export", table, *words, "-o", "x.parquet", "--force").exit_code == 0
    return pl.read_parquet("x.parquet")


@pytest.mark.parametrize("table", ["rounds", "bottlenecks", "paths", "stats"])
def test_unrelated_runs_are_judged_apart_and_follow_each_other(
    call, two: tuple[str, str], table: str
):
    alone = [exported(call, table, path) for path in two]
    both = exported(call, table, *two)
    assert both.height == sum(frame.height for frame in alone)
    numbers = [name for name in ("source", "flow", "other_flow", "near", "far") if name in both]
    assert both.drop(numbers).equals(pl.concat(alone).drop(numbers))


def test_findings_of_unrelated_runs_have_a_number_and_a_file(call, two: tuple[str, str]):
    alone = [exported(call, "findings", path) for path in two]
    both = exported(call, "findings", *two)
    assert both["finding"].to_list() == list(range(both.height))
    assert both["rule"].to_list() == [rule for frame in alone for rule in frame["rule"]]
    assert both["file"].unique(maintain_order=True).to_list() == list(two)
    measures = exported(call, "measures", *two)
    assert measures.height == sum(exported(call, "measures", path).height for path in two)
    assert set(measures["finding"]) <= set(both["finding"])


def test_a_time_is_counted_from_the_start_of_each_run(call, two: tuple[str, str]):
    alone = [exported(call, "packets", path, "--to", "1").height for path in two]
    assert all(alone)
    both = exported(call, "packets", *two, "--to", "1")
    assert both.group_by("source").len().sort("source")["len"].to_list() == alone


def test_acks_of_one_flow_in_one_stretch_of_time(call, sample: Path):
    whole = exported(call, "acks", sample)
    flow = whole["flow"][-1]
    part = exported(call, "acks", sample, "--flow", str(flow), "--from", "0.5", "--to", "1")
    assert 0 < part.height < whole.height
    assert part.equals(whole.join(part.select("source", "frame"), on=["source", "frame"]))
    assert part["flow"].unique().to_list() == [flow]
    assert (part["ts_ns"].max() - part["ts_ns"].min()) / 1e9 <= 0.5
