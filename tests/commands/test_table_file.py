"""Tables as files: the name decides, and a file is whole or absent."""

import gzip
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from l4strace.commands import table_file
from l4strace.commands.table_file import TableFormat, by_name
from l4strace.errors import OutputError, UsageError


def lines_of(path: Path) -> list[str]:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz"])
def test_csv(call, sample: Path, name: str):
    assert call("export", "rounds", sample, "-o", name).exit_code == 0
    assert lines_of(sample.parent / name)[0].startswith("source,flow,forward,round")


@pytest.mark.parametrize("name", ["r.ndjson", "r.jsonl", "r.jsonl.gz"])
def test_lines_of_json(call, sample: Path, name: str):
    assert call("export", "rounds", sample, "-o", name).exit_code == 0
    assert json.loads(lines_of(sample.parent / name)[0])["source"] == 0


def test_parquet(call, sample: Path):
    assert call("export", "rounds", sample, "-o", "r.parquet").exit_code == 0
    assert pl.read_parquet(sample.parent / "r.parquet").height > 50


def test_equal_tables_are_equal_files(call, sample: Path):
    for name in ("a.csv.gz", "b.csv.gz"):
        call("export", "flows", sample, "-o", name)
    one, other = ((sample.parent / name).read_bytes() for name in ("a.csv.gz", "b.csv.gz"))
    assert one == other


@pytest.mark.parametrize("name", ["rounds", "rounds.txt", "rounds.gz", "rounds.parquet.gz"])
def test_other_names_are_refused_before_the_work(call, tmp_path: Path, name: str):
    result = call("export", "rounds", "no-such.pcap", "-o", name)
    assert isinstance(result.exception, UsageError)
    assert ".csv.gz" in result.exception.hint
    assert list(tmp_path.iterdir()) == []


def test_streams_devices_and_named_formats_need_no_ending(call, sample: Path):
    assert by_name("-") is by_name("/dev/null") is TableFormat.csv
    assert call("export", "rounds", sample, "-o", "odd.txt", "-f", "csv").exit_code == 0


@pytest.mark.parametrize("wanted", list(TableFormat))
def test_a_full_device_is_one_line(call, sample: Path, wanted: TableFormat):
    result = call("export", "rounds", sample, "-o", "/dev/full", "-f", wanted.value)
    assert isinstance(result.exception, OutputError)
    assert str(result.exception).startswith("/dev/full: cannot be written (No space left")


@pytest.mark.parametrize("wanted", ["ndjson", "parquet"])
def test_a_reader_that_goes_away_is_no_failure(sample: Path, wanted: str):
    words = ["export", "packets", str(sample), "-f", wanted]
    with subprocess.Popen(
        [sys.executable, "-m", "l4strace", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        assert run.stderr.read() == b""
    assert run.returncode == 0


@pytest.mark.parametrize("wanted", list(TableFormat))
def test_a_broken_pipe_is_known_as_one(wanted: TableFormat):
    """Of a small and wide table in parquet, polars does not name the cause."""
    reader, writer = os.pipe()
    os.close(reader)

    @contextmanager
    def opened():
        yield os.fdopen(writer, "wb", buffering=0)

    wide = pl.DataFrame({f"n{i}": [None if i % 2 else i * k for k in range(40)] for i in range(45)})
    target = SimpleNamespace(opened=opened, output="-", name="standard output")
    with pytest.raises(BrokenPipeError):
        table_file.write(wide.lazy(), target, wanted)


def test_no_cell_is_a_formula(call, sample: Path):
    """A comment of a capture once was `=cmd|' /C calc'!A0` in a spreadsheet."""
    odd = sample.parent / "=1+1.pcap.xz"
    odd.write_bytes(sample.read_bytes())
    assert call("export", "sources", odd.name, "-o", "sources.csv").exit_code == 0
    row = lines_of(sample.parent / "sources.csv")[1]
    assert "'=1+1" in row
    assert ",=" not in row
    assert '"=' not in row
