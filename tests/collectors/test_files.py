"""Files of a run in a folder that somebody else may write to."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import files
from files import Files


def test_a_file_is_new_and_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        files.create(str(tmp_path / "new"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600


@pytest.mark.parametrize("there", ["file", "link", "dangling", "fifo", "folder"])
def test_what_is_there_is_never_written_to(tmp_path: Path, there: str) -> None:
    path, other = tmp_path / "run.pcapng", tmp_path / "other"
    if there != "dangling":
        other.write_text("precious")
    if there == "file":
        path.write_text("precious")
    elif there in ("link", "dangling"):
        path.symlink_to(other)
    elif there == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(FileExistsError):
        Files(str(tmp_path / "run")).create(".pcapng")
    assert other.exists() is (there != "dangling")
    assert not other.exists() or other.read_text() == "precious"


def test_a_file_is_replaced_whole_and_a_planted_link_with_it(tmp_path: Path) -> None:
    made = Files(str(tmp_path / "run"))
    made.create(".host.json")
    other = tmp_path / "other"
    other.write_text("precious")
    (tmp_path / "run.host.json").unlink()
    (tmp_path / "run.host.json").symlink_to(other)
    made.replace(".host.json", "{}\n")
    assert other.read_text() == "precious"
    assert not (tmp_path / "run.host.json").is_symlink()
    assert (tmp_path / "run.host.json").read_text() == "{}\n"
    assert stat.S_IMODE((tmp_path / "run.host.json").stat().st_mode) == 0o600
    assert made.sizes() == {str(tmp_path / "run.host.json"): 3}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "run.host.json"]


def test_discarding_takes_back_what_was_made_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "run.notes").write_text("mine")
    made = Files(str(tmp_path / "run"))
    made.create(".pcapng")
    made.create(".host.json")
    made.discard_all()
    assert [path.name for path in tmp_path.iterdir()] == ["run.notes"]
