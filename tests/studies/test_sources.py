"""Names, values and sizes of tables, lists and manifests that nobody would write by hand."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from l4strace.core import _native
from l4strace.errors import InputError, UsageError
from l4strace.studies import parameters, study
from l4strace.studies.planned import Options
from l4strace.studies.sources import discover, manifest
from tests.support.sweeps import failing, order


def found(place: Path) -> list[str]:
    return [one.name for one in discover.discover([str(place)], discover.How(), Options()).planned]


def refusal(place: Path) -> str:
    """Why a source is refused; nothing where it is read."""
    try:
        found(place)
    except (InputError, UsageError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("value", ["6.1.0b", "1.2.3mbit", "...ms", "1.2.3.4s", ".b", "9" * 400])
@pytest.mark.parametrize("column", ["kernel", "rate", "bandwidth"])
def test_a_value_that_looks_like_a_unit_is_text(tmp_path: Path, value: str, column: str):
    table = tmp_path / "runs.csv"
    table.write_text(f"files,{column}\na.pcap,{value}\nb.pcap,{value}\n")
    done = study.sweep(order(table, tmp_path / "out"), failing)
    assert done.tables["runs"].height == 2
    assert parameters.order(value)[0] in (0, 1, 2)
    assert parameters.rate_bps({"rate": value}) is None


@pytest.mark.parametrize(
    "name", ["a\\0b.pcap", "x" * 300 + ".pcap", '""', "nope://x/y.pcap", "\\x1b[2J.pcap"]
)
def test_a_name_that_no_file_can_have_is_a_row(tmp_path: Path, name: str):
    listed = tmp_path / "runs.txt"
    listed.write_bytes(name.encode().decode("unicode_escape").encode() + b"\n")
    done = study.sweep(order(listed, tmp_path / "out"), failing)
    assert done.tables["runs"]["status"].to_list() == ["failed"]
    assert done.tables["runs"]["run"][0].isprintable()


def test_names_of_bytes_that_are_no_text_are_shown(tmp_path: Path):
    (tmp_path / "in").mkdir()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/in/\xff\n.pcap")).write_bytes(b"")
    assert found(tmp_path / "in") == ["\\xff\\x0a"]
    done = study.sweep(order(tmp_path / "in", tmp_path / "out"), failing)
    assert done.tables["runs"].height == 1


def test_runs_never_share_a_name(tmp_path: Path):
    (tmp_path / "runs.csv").write_text("files,name\nx,a\nx,a\nx,a#2\nx,a\n")
    assert found(tmp_path / "runs.csv") == ["a", "a#3", "a#2", "a#4"]


def test_runs_never_share_a_name_with_rows_of_a_table(tmp_path: Path):
    for folder in "xy":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t.csv").write_text("cca,goodput\nprague,4\ncubic,5\n")
    (tmp_path / "runs.csv").write_text("files,name\nz,t/t:1\n")
    sources = [str(tmp_path / name) for name in ("x/t.csv", "y/t.csv", "runs.csv")]
    all_found = discover.discover(sources, discover.How(), Options())
    names = [run for tables in all_found.tables for run in tables["runs"]["run"]]
    names += [one.name for one in all_found.planned]
    assert len(set(names)) == len(names) == 5


@pytest.mark.parametrize("ending", [".csv.zst", ".csv.gz", ".txt.gz"])
def test_a_small_file_that_holds_much_is_refused(tmp_path: Path, ending: str):
    """92 kB of .csv.zst once took 4.4 GB of memory."""
    packed = tmp_path / f"runs{ending}"
    rows = b"a.pcap,1,2,3\n" * 100_000
    if ending.endswith("gz"):
        packed.write_bytes(gzip.compress(b"files,x,y,z\n" + rows * 60, 1))
    else:
        packer = _native.Packer("zst")
        parts = [packer.add(b"files,x,y,z\n"), *(packer.add(rows) for _ in range(60))]
        packed.write_bytes(b"".join([*parts, packer.finish()]))
    with pytest.raises(InputError, match="more than"):
        found(packed)


@pytest.mark.parametrize(
    "text",
    [
        "," * 2000 + "\n",
        "files\n" + "a\n" * 200_001,
        "",
        "\x00\n\x00",
        'files,x\n"a,\n',
        "\xff,\xfe\n1,2",
    ],
)
@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_a_table_of_odd_shape_is_read_or_refused_in_one_line(
    tmp_path: Path, text: str, ending: str
):
    table = tmp_path / f"runs{ending}"
    table.write_bytes(text.encode("latin-1"))
    assert "\n" not in refusal(table)


@pytest.mark.parametrize("name", ["runs.csv", "runs.txt", "in/manifest.json"])
def test_a_pipe_is_refused(tmp_path: Path, name: str):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.pcap").write_bytes(b"")
    os.mkfifo(tmp_path / name)
    if name.startswith("in"):
        # Pipes in a folder are none of its files.
        assert found(tmp_path / "in") == ["a"]
        return
    with pytest.raises(InputError, match="not a regular file"):
        found(tmp_path / name)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 9000,
        "{" * 9000,
        "a: " + "[" * 2000,
        "a: &a [*a]",
        "? !!python/object:os.system",
        "a: 1e999",
    ],
)
@pytest.mark.parametrize("name", ["manifest.json", "manifest.yaml", "manifest.toml"])
def test_a_manifest_of_odd_shape_is_read_or_refused_in_one_line(
    tmp_path: Path, name: str, text: str
):
    (tmp_path / "a.pcap").write_bytes(b"")
    (tmp_path / name).write_text(text)
    assert "\n" not in refusal(tmp_path)


def test_a_result_without_its_rate(tmp_path: Path):
    table = tmp_path / "results.csv"
    table.write_text("rate,prague throughput\n50,4\n,5\n")
    assert not found(table)


@pytest.mark.parametrize("repetition", ['"\\ud800x"', "[1, 2]", "2026-11-27"])
def test_a_repetition_is_a_scalar_that_utf8_can_hold(repetition: str, tmp_path: Path):
    """YAML knows escapes of half characters, lists of lists and dates: once exit 70."""
    path = tmp_path / "manifest.yaml"
    path.write_text(f'{{"parameters": {{"rate": 4}}, "repetition": {repetition}}}')
    found = manifest.read(str(path))[1]
    assert found is None or found.encode() == b"?x"


@pytest.mark.parametrize("name", [b"file:///etc/pa\xffswd", b"file:///e\x00x", b"file:///e\x1bx"])
def test_urls_that_no_file_can_have_fail_by_themselves(name: bytes, tmp_path: Path):
    """Bytes that are no UTF-8, and NUL, in a URL of a list: once exit 70."""
    pytest.importorskip("fsspec")
    (tmp_path / "runs.txt").write_bytes(name + b"\n")
    done = study.sweep(order(tmp_path / "runs.txt", tmp_path / "res"), failing)
    (error,) = done.tables["runs"]["error"]
    assert error.isprintable()
    assert error.startswith("file:///e")
