"""Names and docstrings that a reader understands without the line above."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.places import REPOSITORY

BARE = re.compile(
    r"_?(ALL|AROUND|BEYOND|CLEAR|DEEP|ENOUGH|FAR|FAST|FEW|FEWEST|FULL|HIGH|LARGE|LARGEST|LATE|LEAST"
    r"|LIMIT|LITTLE|LONG|LONGEST|LOW|MANY|MARGIN|MAX|MIN|MOST|MUCH|NEAR|NEEDED|NOISE|OFTEN|RARE"
    r"|SELDOM|SEVERAL|SHARE|SHORT|SHORTEST|SHOWN|SLOW|SMALL|SMALLEST|SOME|SURE|WHOLE|WIDE)"
)
"""Names of constants that do not state what is many, near or needed, nor in which unit."""
NEEDS_A_NEIGHBOR = re.compile(
    r"(The same( of| as| in| for| without)?|Those|That of|Of|As of|And of|Likewise|Its|Their)\b"
    r"(?! l4strace)"
)
"""How docstrings begin that refer to the definition above them."""
PYTHON = sorted(
    path
    for folder in ("l4strace", "collectors", "fixtures")
    for path in (REPOSITORY / folder).rglob("*.py")
    if not {"target", "share"}.intersection(path.parts)
)


def name(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def constants(path: Path) -> Iterator[str]:
    """Names that a module assigns at its top, without the schema's tables."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and "Table(" not in ast.unparse(node):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))


def docstrings(path: Path) -> Iterator[str]:
    """Docstrings of modules, classes and functions, and strings below constants and fields."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for statement in node.body:
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value.strip()


@pytest.mark.parametrize("path", PYTHON, ids=name)
def test_no_constant_has_a_bare_name(path: Path):
    assert [constant for constant in constants(path) if BARE.fullmatch(constant)] == []


@pytest.mark.parametrize("path", PYTHON, ids=name)
def test_no_docstring_needs_the_one_above(path: Path):
    assert [doc for doc in docstrings(path) if NEEDS_A_NEIGHBOR.match(doc)] == []
