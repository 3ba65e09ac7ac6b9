"""Where tests find their inputs."""

from pathlib import Path

import pytest

from tests.support.places import FIXTURES


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """Folder of the inputs that this project made itself."""
    return FIXTURES
