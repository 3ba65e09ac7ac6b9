"""What is tested against data with known truth that is not ours to redistribute."""

import os
from pathlib import Path

import pytest

from tests.support.places import REPOSITORY

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test in this folder is marked `lab`: `pytest -m "not lab"` leaves it out."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("lab")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of captures and logs with known truth; without it the test skips."""
    shared = Path(os.environ.get("L4STRACE_SHARED", REPOSITORY.parent / "shared"))
    if not (shared / "data").is_dir():
        pytest.skip(f"no shared data at {shared / 'data'}")
    return shared / "data"
