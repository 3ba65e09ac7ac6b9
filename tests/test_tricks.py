"""Other people's code: nothing is replaced in it, nothing private is used. No thread is left."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

import pytest

from tests.support.places import REPOSITORY

SOURCES = sorted(
    path
    for folder in ("l4strace", "collectors")
    for path in (REPOSITORY / folder).rglob("*.py")
    if not {"target", "share"}.intersection(path.parts)
)
OWN = {"l4strace", "collectors", "__future__"}
LISTENERS = {"l4strace/capture/ssh.py", "l4strace/capture/remote.py"}
"""May have daemon threads: each reads a pipe that is closed at the end, and is joined then."""
OF_TUPLES = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}
"""Documented methods of named tuples."""
IMPORTER = {"meta_path", "path_hooks", "path_importer_cache"}
STREAMS = {"sys.stderr", "setattr(sys, name, os.fdopen(number, 'r' if number == 0 else 'w'))"}
"""Python documents that a program may set its own streams."""


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in SOURCES:
        yield str(path.relative_to(REPOSITORY)), ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> dict[str, str]:
    """Each name that an import binds -> what it stands for, `package.name`."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                names[one.asname or one.name.partition(".")[0]] = one.name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for one in node.names:
                names[one.asname or one.name] = f"{node.module}.{one.name}"
    return names


def root(node: ast.expr) -> str | None:
    """The name that an expression like `a.b[c].d` begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def caller(node: ast.expr) -> str | None:
    """The name that an expression like `a.b(c).d` begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def own_names() -> set[str]:
    """Names with an underscore that our own code defines."""
    names = set(OF_TUPLES)
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
    return names


def replaced(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What is stored into something that is imported, or into Python's importer."""
    names = imported(tree)
    for node in ast.walk(tree):
        found = False
        if isinstance(node, ast.Attribute):
            found = not isinstance(node.ctx, ast.Load) and root(node) in names
            found = found or (node.attr in IMPORTER and names.get(root(node) or "") == "sys")
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            place = node.value
            if isinstance(place, ast.Call) and ast.unparse(place.func) == "vars" and place.args:
                found = root(place.args[0]) in names
            else:
                text = ast.unparse(place)
                found = text == "sys.modules" or text.endswith(".__dict__")
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "delattr"):
            found = root(node.args[0]) in names
        if found and ast.unparse(node) not in STREAMS:
            yield node.lineno, ast.unparse(node)


def private(tree: ast.Module, own: set[str]) -> Iterator[tuple[int, str]]:
    """Names with an underscore that belong to a dependency."""
    names = imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            package = names.get(caller(node) or "", "").partition(".")[0]
            theirs = package and package not in OWN | sys.stdlib_module_names
            theirs = theirs or (not package and node.attr not in own)
            if theirs:
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            module = getattr(node, "module", None) or ""
            whole = [f"{module}.{one.name}" if module else one.name for one in node.names]
            for name in whole:
                package, *rest = name.split(".")
                if package not in OWN and any(map(is_private, rest)):
                    yield node.lineno, name


def left_threads(place: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Threads that may outlive their work: daemons, and those that nobody joins."""
    text = ast.unparse(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "daemon":
            yield node.lineno, ast.unparse(node)
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        daemon = any(one.arg == "daemon" for one in node.keywords) and place not in LISTENERS
        alone = name == "Thread" and ".join(" not in text
        pool = name == "ThreadPoolExecutor" and not (
            f"with {ast.unparse(node)} as" in text or ".shutdown(" in text
        )
        if daemon or alone or pool or name in ("Timer", "start_new_thread"):
            yield node.lineno, ast.unparse(node)


def test_nothing_replaces_a_name_in_somebody_elses_module() -> None:
    assert [(place, *one) for place, tree in trees() for one in replaced(tree)] == []


def test_no_private_name_of_a_dependency_is_used() -> None:
    own = own_names()
    assert [(place, *one) for place, tree in trees() for one in private(tree, own)] == []


def test_no_thread_outlives_its_work() -> None:
    assert [(place, *one) for place, tree in trees() for one in left_threads(place, tree)] == []


TRICKS = {
    "import sys\nsys.meta_path.insert(0, f)": replaced,
    "import inspect\ninspect.signature = f": replaced,
    "import typing\nvars(typing)['compile'] = f": replaced,
    "from polars import DataFrame\nDataFrame.height = 1": replaced,
    "import typing\nsetattr(typing, 'x', f)": replaced,
    "import polars as pl\npl.QueryOptFlags._eager()": private,
    "import polars as pl\npl.DataFrame({})._df": private,
    "from polars._utils import unstable": private,
    "frame._df": private,
    "from threading import Thread\nThread(target=f, daemon=True).start()": left_threads,
    "from threading import Thread\nThread(target=f).start()": left_threads,
    "t.daemon = True": left_threads,
    "pool = ThreadPoolExecutor(2)": left_threads,
}


@pytest.mark.parametrize("text", TRICKS)
def test_a_trick_is_seen(text: str) -> None:
    tree, look = ast.parse(text), TRICKS[text]
    seen = {
        replaced: lambda: replaced(tree),
        private: lambda: private(tree, set()),
        left_threads: lambda: left_threads("l4strace/x.py", tree),
    }
    assert list(seen[look]())
