"""Folders that ship beside the code are found."""

import pytest

from l4strace import installed


@pytest.mark.parametrize("name", ["reports", "collectors"])
def test_folders_of_a_checkout_are_found(name: str):
    assert installed.path(name).is_dir()


def test_a_broken_installation_says_what_is_missing():
    with pytest.raises(FileNotFoundError, match="nothing: not part"):
        installed.path("nothing")
