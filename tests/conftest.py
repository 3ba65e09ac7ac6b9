"""Where tests find their inputs, and which examples Hypothesis takes."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from typer.testing import CliRunner, Result

from l4strace import cli, console, resources
from tests.support import chromium, needs
from tests.support.places import FIXTURES

Call = Callable[..., Result]

# The same examples in every run, and no limit of time: a busy machine finds no fault of ours.
# HYPOTHESIS_PROFILE=default searches on.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Programs start as users start them: without a buffer (PYTHONUNBUFFERED) a full disk shows earlier.
for name in [name for name in os.environ if name.startswith("PYTHON") and name != "PYTHONPATH"]:
    del os.environ[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that asks for the browser is one that needs Chromium."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.needs("chromium"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture: a test that cannot run here skips, and says what to install."""
    if why := needs.lacking(item):
        pytest.skip(why)


@pytest.fixture(autouse=True)
def as_started() -> Iterator[None]:
    """What a test leaves of the process's switches must not decide how the next one ends."""
    environment = dict(os.environ)
    yield
    console.configure(console.Settings())
    resources.limit_threads(None)
    os.environ.clear()
    os.environ.update(environment)


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """Folder of the inputs that this project made itself."""
    return FIXTURES


@pytest.fixture(scope="module")
def browser() -> Iterator[chromium.Chromium]:
    """Chromium with a window of a laptop's width."""
    with chromium.Chromium() as running:
        running.size(1280)
        yield running


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """`call("flows", "run.pcap.xz")`: the result; our own errors are its `exception`."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(cli.app, [str(word) for word in words])


@pytest.fixture
def sample(tmp_path: Path, fixtures: Path) -> Path:
    """A path that bleaches ECN, as its sender saw it."""
    source = fixtures / "accecn-bleached" / "sender.pcap.xz"
    return Path(shutil.copy(source, tmp_path / "run.pcap.xz"))
