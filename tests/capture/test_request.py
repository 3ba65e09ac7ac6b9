"""What the user asks for, checked before anything is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from l4strace.capture import request
from l4strace.cli import app
from l4strace.errors import OutputError, UsageError


@pytest.mark.parametrize("name", ["-w", "--write=x", "", "a b", "../x", "a\n"])
def test_an_option_is_no_interface(name: str) -> None:
    with pytest.raises(UsageError):
        request.check_interfaces([name])


@pytest.mark.parametrize("name", ["eth0", "any", "wlp2s0.100", "v-0"])
def test_an_interface_is_one(name: str) -> None:
    request.check_interfaces([name])


@pytest.mark.parametrize("output", ["-x", "./-x"])
def test_an_option_is_no_name(output: str) -> None:
    with pytest.raises(UsageError):
        request.stem_of(output)


def test_a_folder_gets_a_run_named_by_the_time(tmp_path: Path) -> None:
    assert request.stem_of(str(tmp_path)).parent == tmp_path
    new = request.stem_of(f"{tmp_path}/new/")
    assert new.parent == tmp_path / "new"
    assert new.parent.is_dir()
    assert new.name.startswith("l4strace-")


@pytest.mark.parametrize("output", ["/proc/run", "/proc/new/", "/nowhere/run"])
def test_a_place_that_takes_no_file_is_no_usage_error(output: str) -> None:
    with pytest.raises(OutputError, match=f"{output.rstrip('/')}.*(folder|file)"):
        request.stem_of(output)


def test_a_link_that_leads_nowhere_is_an_earlier_run(tmp_path: Path) -> None:
    (tmp_path / "run.pcapng").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="exists"):
        request.check_free(tmp_path / "run", force=False)
    request.check_free(tmp_path / "run", force=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["-i", "-w", "-o", "run"],
        ["-i", "lo", "-o", "-x"],
        ["-i", "lo", "-o", "run", "--", "no-such-command-here"],
        ["-i", "lo", "-o", "run", "--packets", "none", "--kernel", "none"],
        ["-o", "run", "--host=name=-oProxyCommand,lo"],
        ["-o", "run", "--host=root@host,-w"],
    ],
)
def test_it_is_refused_before_anything_is_recorded(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["capture", *words])
    assert done.exit_code != 0
    assert isinstance(done.exception, (SystemExit, UsageError))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("server.example", ("server.example", 443)),
        ("server.example:5201", ("server.example", 5201)),
        ("10.0.0.1:80", ("10.0.0.1", 80)),
        ("fd00::1", ("fd00::1", 443)),
        ("[fd00::1]", ("fd00::1", 443)),
        ("[fd00::1]:80", ("fd00::1", 80)),
    ],
)
def test_a_server_has_a_name_and_a_port(text: str, server: tuple[str, int]) -> None:
    assert request.server_of(text) == server
