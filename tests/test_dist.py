"""What is shipped: the sdist can be built, the wheel runs without Rust or this checkout.

`make dist` makes both. The files that the build stages are compared with what the sdist is told to
hold without them, which costs nothing.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from l4strace.core import _native
from tests.support.places import FIXTURES, REPOSITORY

PROJECT = (REPOSITORY / "pyproject.toml").read_text()
CHANGELOG = (REPOSITORY / "CHANGELOG.md").read_text()
BUILD = (REPOSITORY / "l4strace/native/build.rs").read_text()
INCLUDED = re.findall(r'\{ path = "([^"]+)", format = "sdist" \}', PROJECT.split("exclude = [")[0])
STAGED = [*re.findall(r'const FOLDERS: .* = \["(\w+)", "(\w+)"\]', BUILD)[0], "docs/installed"]


def dist(pattern: str) -> Path:
    (path,) = (REPOSITORY / "dist").glob(pattern)
    return path


@pytest.mark.parametrize("name", STAGED)
def test_the_sdist_is_told_to_hold_what_the_build_stages(name: str):
    patterns = [pattern.removesuffix("**/*").removesuffix("*") for pattern in INCLUDED]
    assert any(f"{name}/".startswith(pattern) or name == pattern for pattern in patterns)
    assert (REPOSITORY / name).exists()


def test_one_version_stands_everywhere():
    crate = (REPOSITORY / "l4strace/native/Cargo.toml").read_text()
    (version,) = re.findall(r'^version = "(.*)"', crate, re.MULTILINE)
    assert 'dynamic = ["version"]' in PROJECT
    citation = (REPOSITORY / "CITATION.cff").read_text()
    assert f"version: {version}\n" in citation
    assert re.search(rf"^## {re.escape(version)}$", CHANGELOG, re.MULTILINE)
    # What pages and JSON state.
    assert _native.__version__ == version


@pytest.mark.wheel
def test_the_sdist_has_every_file_that_git_has_of_the_package():
    with tarfile.open(dist("*.tar.gz")) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(
        ["git", "ls-files", "l4strace", "reports", "collectors", "docs/installed"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip(f"git lists no files here: {listed.stderr.strip()}")
    tracked = listed.stdout.splitlines()
    missing = {name for name in tracked if not name.endswith((".gitignore", "FORMAT.md"))} - held
    assert missing == set()
    assert not [name for name in held if "__pycache__" in name or name.endswith(".so")]


@pytest.mark.wheel
def test_the_wheel_is_for_every_python_and_many_linuxes():
    wheel = dist("*.whl")
    assert re.search(r"-cp310-abi3-manylinux_\d+_\d+_\w+\.whl$", wheel.name)
    names = zipfile.ZipFile(wheel).namelist()
    data = {name.partition(".data/data/")[2] for name in names if ".data/data/" in name}
    assert data >= {"share/man/man1/l4strace.1", "share/bash-completion/completions/l4strace"}
    assert "l4strace/share/reports/page.html.j2" in names
    prepared = [name for name in names if name.startswith("l4strace/share/prepared/")]
    assert any(name.endswith(".py") for name in prepared), "templates that are compiled"
    assert any(name.endswith(".gz.base64") for name in prepared), "plotly's script"
    assert not [name for name in names if name.startswith("l4strace/native/src")]


@pytest.mark.wheel
def test_the_wheel_diagnoses_the_sample_in_a_clean_environment(tmp_path: Path):
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env/bin/python"
    # The dependencies are those of this environment: what is tested is the wheel, not the network.
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", str(dist("*.whl"))], check=True)
    here = next(path for path in sys.path if path.endswith("site-packages"))
    places = subprocess.run(
        [python, "-c", "import site; print(site.getsitepackages()[0])"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    dependencies = tmp_path / "dependencies"
    dependencies.mkdir()
    for entry in Path(here).iterdir():
        if not entry.name.startswith(("l4strace", "__")):
            (dependencies / entry.name).symlink_to(entry)
    (Path(places) / "dependencies.pth").write_text(f"{dependencies}\n")
    environment = {"PATH": str(tmp_path / "env/bin"), "HOME": str(tmp_path)}
    run = subprocess.run(
        ["l4strace", "diagnose", str(FIXTURES / "misfire/misfire.pcap.xz"), "-o", "x.html"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1, run.stderr
    assert "Prague's classic-ECN fallback misfired" in run.stdout
    assert (tmp_path / "x.html").stat().st_size > 500_000
    assert (tmp_path / "env/share/man/man1/l4strace.1").is_file()
