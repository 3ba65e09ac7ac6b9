"""What is generated from the code is current."""

import importlib.util

import pytest

from tests.support.places import REPOSITORY

SPEC = importlib.util.spec_from_file_location("generate", REPOSITORY / "docs" / "generate.py")
assert SPEC
assert SPEC.loader
generate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(generate)


@pytest.mark.parametrize("name", generate.GENERATED)
def test_the_shipped_file_is_the_generated_one(name: str) -> None:
    shipped = (REPOSITORY / name).read_text(encoding="utf-8")
    assert shipped == generate.GENERATED[name](), "run `make docs`"
