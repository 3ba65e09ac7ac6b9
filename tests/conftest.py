"""Where tests find their inputs."""

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of captures and logs with known truth that are not ours to redistribute."""
    shared = Path(os.environ.get("L4STRACE_SHARED", REPOSITORY.parent / "shared"))
    if not (shared / "data").is_dir():
        pytest.skip(f"no shared data at {shared / 'data'}")
    return shared / "data"


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """Folder of the inputs that this project made itself."""
    return REPOSITORY / "fixtures"
