"""The budget of this project: small files, short functions, tests that mirror the code."""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.places import REPOSITORY

FILE_LINES = 400
FUNCTION_LINES = 80
FUNCTION_BRANCHES = 12
DECIDING = ("derive", "bottleneck", "fallback", "rules")
"""Rooms in which boolean operators count as branches, too (ruff counts branches alone)."""
ROUNDS = ("rounds", "udp_rounds")
MEDIAN_FILE_LINES = 120
LOOSE_MODULES = 9
"""At the top of the package, beside `__init__` and `__main__`."""
TESTS = REPOSITORY / "tests"
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
"""Modules without behavior of their own."""
DECLARATIONS = "l4strace/schema/"
"""One column a line: long by nature."""

OVER_BUDGET: set[str] = set()
"""Files to be split; may only shrink."""
ELSEWHERE = {
    # Parts that only show what they do together.
    "capture/": "capture/test_live.py",
    "commands/capture.py": "capture/test_live.py",
    "commands/destination.py": "hostile/test_places.py",
    "commands/memory.py": "hostile/test_edge.py",
    "commands/page_file.py": "commands/test_diagnose.py",
    # What is measured for the table shows in its rows.
    "fallback/": "fallback/test_table.py",
    "ingest/host_file.py": "hostile/test_edge.py",
    "ingest/file_names.py": "hostile/test_edge.py",
    "commands/watch.py": "watch/test_watch.py",
    "ingest/join/attach.py": "ingest/logs/test_trace_events.py",
    # One test per dialect, named after what writes it: kprobes and tcp_probe are trace events,
    # ss and Flent are polls. What all dialects share is tested through each of them.
    "ingest/logs/": "ingest/logs/test_trace_events.py",
    "ingest/logs/flent.py": "lab/test_polls.py",
    "ingest/logs/ss.py": "ingest/logs/test_polls.py",
    "ingest/logs/kernel_log_check.py": "ingest/logs/test_kernel_log.py",
    "output/columns.py": "output/test_text.py",
    "output/flow_lines.py": "output/test_text.py",
    # The page is tested where it is read: its sections, its file, its charts in a browser.
    "page/": "page/test_fill.py",
    "page/build.py": "page/test_sections.py",
    "page/case.py": "page/test_sections.py",
    "page/drawing/": "page/drawing/test_figure.py",
    "page/figures/": "page/test_chromium.py",
    "rules/support/events.py": "rules/test_l4s204_slow_start_overshoot.py",
    "rules/support/fallback_words.py": "rules/support/test_fallback_line.py",
    "rules/support/paths.py": "rules/test_l4s408_path_changed.py",
    # Words are tested where they are read.
    "wording/": "output/test_text.py",
}
"""Modules or folders without a test of their own name -> the test that covers them.

May only shrink: an entry whose modules are gone or have a test of their own fails.
"""
BORROWS_ENDINGS = ("tests/capture/",)
"""Share how a recording ends (test_endings); may only shrink."""
OWN_PLACES = ("tests/capture/", "tests/collectors/", "tests/rules/", "tests/test_layout.py")
"""Find folders of their own; may only shrink."""


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
    assert (
        lines(path) <= FILE_LINES
        or name(path).startswith(DECLARATIONS)
        or name(path) in OVER_BUDGET
    )


@pytest.mark.parametrize("path", PYTHON, ids=name)
def test_no_function_is_too_long(path: Path):
    assert [f for f in functions(path) if f[1] > FUNCTION_LINES] == []


def test_most_files_are_short():
    sizes = sorted(lines(path) for path in PYTHON if not path.is_relative_to(TESTS))
    assert sizes[len(sizes) // 2] <= MEDIAN_FILE_LINES


def test_few_modules_lie_loose_at_the_top():
    loose = {path.stem for path in (REPOSITORY / "l4strace").glob("*.py")}
    assert len(loose - {"__init__", "__main__"}) <= LOOSE_MODULES


def test_what_is_known_is_imported_by_name():
    """A module that is named by a string is seen by no type checker and by no import contract."""
    late = {
        name(path)
        for path in PYTHON
        if path.is_relative_to(REPOSITORY / "l4strace")
        and re.search(r"\b(import_module|__import__)\(", path.read_text())
    }
    assert late == {"l4strace/cli.py"}


def test_what_begins_like_a_program_runs_as_one():
    """`fixtures/lab/vm/corpus.py --seed 1 ...` stands in a README."""
    programs = [path for path in PYTHON if path.read_bytes().startswith(b"#!")]
    assert [name(path) for path in programs if not os.access(path, os.X_OK)] == []


def test_no_folder_of_leftovers():
    assert not [
        name(path) for path in PYTHON if path.stem in {"utils", "helpers", "misc", "common"}
    ]


def mirrored() -> list[Path]:
    """Modules of l4strace that have behavior, and those of the collectors."""
    return [
        path
        for path in PYTHON
        if path.is_relative_to(REPOSITORY / "l4strace")
        and path.name not in NOT_MIRRORED
        and "schema" not in path.parts
    ]


class Branches(ast.NodeVisitor):
    """Counts the ways through a function: branches, and what follows each `and` and `or`."""

    FORKS = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.comprehension)

    def __init__(self) -> None:
        self.count = 1

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.BoolOp):
            self.count += len(node.values) - 1
        self.count += isinstance(node, (*self.FORKS, ast.Assert))
        super().generic_visit(node)


def branches(function: ast.AST) -> int:
    counted = Branches()
    counted.visit(function)
    return counted.count


def test_boolean_operators_count_as_branches():
    assert branches(ast.parse("def f(a, b, c):\n    return 1 if a and b or c else 0")) == 4


def test_what_decides_can_be_read_at_once():
    over = [
        (name(path), node.name, branches(node))
        for room in DECIDING
        for path in sorted((REPOSITORY / "l4strace" / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and branches(node) > FUNCTION_BRANCHES
    ]
    assert over == []


def test_rules_read_no_round():
    """A question to rounds is a pass of the native core, and its answer a row a direction."""
    asking = [
        (name(path), node.lineno)
        for path in sorted((REPOSITORY / "l4strace/rules").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute | ast.alias)
        if (node.attr if isinstance(node, ast.Attribute) else node.name) in ROUNDS
    ]
    assert asking == []


def has_own_test(module: str) -> bool:
    """`a/b.py` is tested by `tests/a/test_b.py`, or the package a by one test of its name."""
    path = TESTS / module
    package, stem = path.parent, path.stem
    if (package / f"test_{stem}.py").exists():
        return True
    together = (package / f"test_{package.name}.py", package.parent / f"test_{package.name}.py")
    return package != TESTS and any(one.exists() for one in together)


def without_own_test() -> set[str]:
    modules = {path.relative_to(REPOSITORY / "l4strace").as_posix() for path in mirrored()}
    return {module for module in modules if not has_own_test(module)}


def covering(module: str) -> str | None:
    """The entry of ELSEWHERE that names the module, or its folder."""
    return next(
        (entry for entry in (module, module.rpartition("/")[0] + "/") if entry in ELSEWHERE), None
    )


def test_every_module_has_tests_under_its_own_name():
    untested = {module for module in without_own_test() if covering(module) is None}
    assert untested == set(), "l4strace/a/b.py wants tests/a/test_b.py"


def test_what_is_tested_elsewhere_is_and_must_be():
    assert [test for test in ELSEWHERE.values() if not (TESTS / test).exists()] == []
    assert set(ELSEWHERE) - {covering(module) for module in without_own_test()} == set()


def imported(path: Path) -> Iterator[str]:
    """Modules that a file imports, by their full names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def test_tests_import_helpers_from_support_only():
    """No test imports another test; all do it in one way: `from tests.support.x import y`."""
    others = {
        (name(path), module)
        for path in PYTHON
        if path.is_relative_to(TESTS)
        for module in imported(path)
        if module.startswith((".", "tests", "support")) and not module.startswith("tests.support")
    }
    assert {path for path, _ in others if not path.startswith(BORROWS_ENDINGS)} == set()


def test_the_shared_data_are_for_the_lab_alone():
    readers = {
        name(path)
        for path in PYTHON
        if path.is_relative_to(TESTS) and path != Path(__file__).resolve()
        if re.search("shared_data|L4STRACE_SHARED", path.read_text())
    }
    assert {path for path in readers if not path.startswith("tests/lab/")} == set()


def test_places_are_found_in_one_way():
    """`tests.support.places`: a moved test still finds the repository."""
    searching = {
        name(path)
        for path in PYTHON
        if path.is_relative_to(TESTS) and re.search(r"__file__.*\.parents?\b", path.read_text())
    }
    allowed = ("tests/support/places.py", "tests/lab/conftest.py")
    assert {path for path in searching if not path.startswith((*allowed, *OWN_PLACES))} == set()
