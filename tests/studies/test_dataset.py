"""A sweep removes and replaces its own parts, whatever lies in its folder or behind a link."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from l4strace.errors import InputError, UsageError
from l4strace.studies import study
from l4strace.studies.dataset import ABOUT, BEGINNING, Dataset
from l4strace.studies.planned import Result
from l4strace.studies.study import page_name
from tests.support.sweeps import invented, order, runs

INDEX = '{"format": "l4strace-sweep", "version": 1}'


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with files that no sweep wrote, one of them under the name of a part."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years")
    (folder / "000001.parquet").write_text("mine")
    return folder


@pytest.mark.parametrize("index", ["{}", "[]", "null", "", '{"format": "other"}', INDEX, None])
@pytest.mark.parametrize("name", ["flows", "runs", "measures", "pages", "."])
def test_nothing_behind_a_link_is_touched(tmp_path: Path, home: Path, index: str, name: str):
    results = tmp_path / "res"
    if name == ".":
        results.symlink_to("home")
    else:
        results.mkdir()
        (results / name).symlink_to("../home")
    if index is not None:
        (results / ABOUT).write_text(index)
    before = everything(home)
    with pytest.raises((UsageError, InputError)) as refused:
        study.sweep(order(runs(tmp_path / "in"), results, pages=True), invented)
    assert "\n" not in str(refused.value)
    assert everything(home) == before


@pytest.mark.parametrize("index", ["{}", "7", "{", '{"format": "l4strace-sweep2"}'])
def test_an_index_of_something_else_claims_no_folder(tmp_path: Path, index: str):
    (tmp_path / ABOUT).write_text(index)
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows/000001.parquet.part").write_text("mine")
    before = everything(tmp_path)
    with pytest.raises(UsageError, match="not a sweep"):
        Dataset(str(tmp_path)).begin({})
    assert everything(tmp_path) == before


@pytest.mark.root
def test_an_index_of_another_user_claims_no_folder(tmp_path: Path):
    (tmp_path / ABOUT).write_text(INDEX)
    os.chown(tmp_path / ABOUT, 12345, 12345)
    with pytest.raises(UsageError, match="another user"):
        Dataset(str(tmp_path)).begin({})


def test_files_that_no_sweep_wrote_stay_in_its_folders(tmp_path: Path):
    results = tmp_path / "res"
    study.sweep(order(runs(tmp_path / "in"), results), invented)
    foreign = {
        f"{folder}/{name}": b"mine"
        for folder in ("flows", "runs", "measures", "findings")
        for name in ("notes.txt", "7.parquet", "000009.parquet.bak", "\N{SUPERSCRIPT TWO}.parquet")
    } | {"flows/900000.parquet": b"mine", "flows/900001.parquet.part": b"mine"}
    for name, content in foreign.items():
        (results / name).write_bytes(content)
    before = pl.read_parquet(next((results / "runs").glob("0*.parquet")))
    again = study.sweep(order(tmp_path / "in", results), invented)
    assert {name: (results / name).read_bytes() for name in foreign} == foreign
    assert again.tables["runs"].equals(before)
    # A new part takes no number that lies there.
    assert json.loads((results / ABOUT).read_text())["parts"] == [900002]


def test_pieces_of_parts_that_the_index_names_are_removed(tmp_path: Path):
    dataset = Dataset(str(tmp_path / "res"))
    dataset.begin({})
    dataset.add([Result({"run": "a", "status": "ok", "fingerprint": "1"})])
    (tmp_path / "res/flows/000001.parquet.part").write_bytes(b"")
    (tmp_path / "res/runs/000001.parquet").unlink()
    dataset.tidy()
    assert sorted(p.name for p in (tmp_path / "res/flows").iterdir()) == []


@pytest.mark.parametrize("written", [0, 1, len(BEGINNING), len(BEGINNING) + 9])
def test_a_sweep_that_died_in_its_first_write_goes_on(tmp_path: Path, written: int):
    results = tmp_path / "res"
    results.mkdir()
    text = json.dumps({"format": "l4strace-sweep", "parts": []}, indent=2, sort_keys=True)
    (results / f"{ABOUT}.part").write_text(text[:written])
    done = study.sweep(order(runs(tmp_path / "in"), results), invented)
    assert done.measured == 3
    assert not (results / f"{ABOUT}.part").exists()


def test_a_first_piece_of_something_else_is_no_sweep(tmp_path: Path):
    (tmp_path / f"{ABOUT}.part").write_text("my notes")
    with pytest.raises(UsageError, match="no sweep wrote"):
        Dataset(str(tmp_path)).begin({})
    assert (tmp_path / f"{ABOUT}.part").read_text() == "my notes"


def test_a_folder_of_somebody_else_is_not_written_to(tmp_path: Path):
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(UsageError, match="no sweep wrote"):
        Dataset(str(tmp_path)).begin({})
    with pytest.raises(InputError, match="not a sweep"):
        Dataset(str(tmp_path)).about()


def test_a_dataset_of_the_first_version_goes_on(tmp_path: Path):
    results = tmp_path / "res"
    study.sweep(order(runs(tmp_path / "in"), results), invented)
    (results / ABOUT).write_text(INDEX)
    done = study.sweep(order(tmp_path / "in", results), invented)
    assert (done.measured, done.kept) == (0, 3)
    assert len(list((results / "runs").iterdir())) == 1


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 9])
def test_a_damaged_part_is_one_line(tmp_path: Path, content: bytes):
    results = tmp_path / "res"
    study.sweep(order(runs(tmp_path / "in"), results), invented)
    next((results / "runs").iterdir()).write_bytes(content)
    with pytest.raises(InputError, match="parquet"):
        study.sweep(order(tmp_path / "in", results), invented)


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"x": [1]}),
        pl.DataFrame({"run": [None, "a"], "p_rate": [[1], [2]]}, strict=False),
        pl.DataFrame({"run": [b"a"], "status": [b"\xff"]}),
        pl.DataFrame({"run": ["a"], "number": [-1]}),
    ],
)
def test_a_part_of_other_columns_is_read_or_refused(tmp_path: Path, frame: pl.DataFrame):
    results = tmp_path / "res"
    study.sweep(order(runs(tmp_path / "in"), results), invented)
    for table in ("runs", "measures", "flows"):
        frame.write_parquet(next((results / table).iterdir()))
    with suppress(InputError):
        study.sweep(order(tmp_path / "in", results), invented)


def test_pages_of_runs_never_share_a_name():
    names = [
        "a",
        "a#2",
        "a%232",
        ".a",
        "a" * 300,
        "a" * 301,
        "../../etc/<b>",
        "/1",
        "\u02f1",
        "é" * 90,
    ]
    pages = [page_name(name) for name in names]
    assert len(set(pages)) == len(names)
    assert all(len(os.fsencode(page)) < 240 and page.count("/") == 1 for page in pages)
    assert page_name("x/../etc") == "pages/x%2f..%2fetc.html"
