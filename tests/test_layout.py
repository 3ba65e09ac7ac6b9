"""The budget of this project: small files, short functions, tests that mirror the code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.places import REPOSITORY

FILE_LINES = 400
FUNCTION_LINES = 80
MEDIAN_FILE_LINES = 120
PYTHON = sorted(
    path
    for folder in ("l4strace", "collectors", "tests", "fixtures")
    for path in (REPOSITORY / folder).rglob("*.py")
    if not {"target", "share"}.intersection(path.parts)
)
RUST = sorted((REPOSITORY / "l4strace/native/src").rglob("*.rs"))
NOT_MIRRORED = {
    "__init__.py",
    "__main__.py",
    "errors.py",  # three classes
    "evidence.py",  # two classes of fields
    "model.py",  # likewise
}
"""Modules without behaviour of their own."""
DECLARATIONS = re.compile(r"l4strace/schema/|l4strace/native/src/python/track_tables.rs")
"""One column a line: long by nature."""

OVER_BUDGET = {"l4strace/native/src/track/flow.rs"}
"""Files to be split; may only shrink."""
UNTESTED = ("l4strace/watch/",)
"""Tested with the modules that use them; may only shrink."""


def lines(path: Path) -> int:
    """Lines of code; tests that Rust keeps in the same file do not count."""
    return len(path.read_text().partition("#[cfg(test)]")[0].splitlines())


def name(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0].lineno  # a command's options are declarations, not code
            yield node.name, (node.end_lineno or first) - first + 1


@pytest.mark.parametrize("path", [*PYTHON, *RUST], ids=name)
def test_no_file_is_too_long(path: Path):
    assert lines(path) <= FILE_LINES or DECLARATIONS.match(name(path)) or name(path) in OVER_BUDGET


@pytest.mark.parametrize("path", PYTHON, ids=name)
def test_no_function_is_too_long(path: Path):
    assert [f for f in functions(path) if f[1] > FUNCTION_LINES] == []


def test_most_files_are_short():
    sizes = sorted(lines(path) for path in PYTHON if "tests" not in path.parts)
    assert sizes[len(sizes) // 2] <= MEDIAN_FILE_LINES


def test_no_folder_of_leftovers():
    assert not [
        name(path) for path in PYTHON if path.stem in {"utils", "helpers", "misc", "common"}
    ]


def mirrored() -> list[Path]:
    """Modules of l4strace that have behaviour, and those of the collectors."""
    return [
        path
        for path in PYTHON
        if path.is_relative_to(REPOSITORY / "l4strace")
        and path.name not in NOT_MIRRORED
        and "schema" not in path.parts
    ]


def own_tests(path: Path) -> list[Path]:
    relative = path.relative_to(REPOSITORY / "l4strace")
    own = REPOSITORY / "tests" / relative.parent / f"test_{path.stem}.py"
    package = REPOSITORY / "tests" / relative.parts[0]
    return [own] if own.exists() else list(package.rglob("test_*.py")) if package.is_dir() else []


def test_every_package_of_modules_has_tests_under_the_same_name():
    """`l4strace/a/b.py` is tested by `tests/a/test_b.py`, or with its package in `tests/a`."""
    lonely = [name(path) for path in mirrored() if not own_tests(path)]
    assert [module for module in lonely if not module.startswith(UNTESTED)] == []
