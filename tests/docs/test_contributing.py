"""`CONTRIBUTING.md`: its recipes name files that exist, its map every package."""

import re
from pathlib import Path

import pytest

from tests.support import pages
from tests.support.places import REPOSITORY

TEXT = pages.text("CONTRIBUTING.md")
RECIPES = re.findall(r"^ (\S+) +(?:new\b|\+|make docs)", TEXT, re.MULTILINE)
"""What a recipe makes (it shows a file of that kind), changes or generates."""
FILES = re.findall(r"`([\w./-]+\.(?:py|rs|md|toml|js|yml))(?: [^`]*)?`", TEXT)
PATTERNS = ("tests/a/test_b.py", "l4strace/a/b.py", "l4sNNN_name_with_underscores.py")
FOLDERS = ("", "l4strace", "l4strace/native/src", "fixtures/lab")
"""Where a path begins that text and map give in short."""


def test_recipes_are_read():
    assert "l4strace/pipeline.py" in RECIPES
    assert "docs/rules.md" in RECIPES
    assert "tests/bottleneck/test_thresholds.py" in FILES


@pytest.mark.parametrize("path", dict.fromkeys(RECIPES))
def test_a_recipe_names_files_that_exist(path: str):
    assert (REPOSITORY / path).exists()


@pytest.mark.parametrize("path", sorted(set(FILES) - set(PATTERNS)))
def test_the_text_names_files_that_exist(path: str):
    assert any((REPOSITORY / folder / path).exists() for folder in FOLDERS)


def test_the_map_has_every_package():
    packages = {path.parent.name for path in (REPOSITORY / "l4strace").glob("*/__init__.py")}
    named = {Path(word).name for word in re.findall(r"`([\w/]+/)`", TEXT)}
    assert packages <= named, 'the table under "The map" in CONTRIBUTING.md'
