"""What a rule's check reads, found in its source: tables, columns, names of stats, keys of hosts.

The walk starts at `check` and follows every function and constant that it names through the
package's own modules, so that a column which a helper reads counts as read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from l4strace.evidence import Evidence
from tests.support.places import REPOSITORY

ROOT = REPOSITORY
INPUTS = frozenset(Evidence.__dataclass_fields__)
"""Fields of `Evidence`: the tables, `host_files` and `aggregates`."""
Place = tuple[str, str]
"""A module and a name in it."""


FALLBACK = ("l4strace.fallback.table", "rows")
"""What gives the rows of the table `fallback`, typed."""


@dataclass
class Reads:
    """`inputs` of Evidence that are read, `own` those that the rule's own file reads."""

    inputs: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    """Strings: names of columns among them."""
    patterns: set[str] = field(default_factory=set)
    """f-strings as regular expressions: a rule may build the name of a column."""

    def word(self, name: str) -> bool:
        """Whether ``name`` is one of the strings, or one that an f-string can make."""
        return name in self.words or any(re.fullmatch(p, name) for p in self.patterns)


@dataclass(frozen=True)
class Module:
    """Top-level definitions of a file, and where its imported names come from."""

    definitions: dict[str, ast.stmt]
    imports: dict[str, Place]


@cache
def module(name: str) -> Module | None:
    """The module ``name``; None when it is not a file of the package."""
    stem = ROOT.joinpath(*name.split("."))
    file = next((f for f in (stem.with_suffix(".py"), stem / "__init__.py") if f.is_file()), None)
    if file is None:
        return None
    statements = ast.parse(file.read_text(encoding="utf-8")).body
    return Module(
        {defined: statement for statement in statements for defined in _defines(statement)},
        {
            alias.asname or alias.name: (statement.module, alias.name)
            for statement in statements
            if isinstance(statement, ast.ImportFrom) and statement.module
            for alias in statement.names
        },
    )


def reads(rule_module: str) -> Reads:
    """What `check` of the module reads, directly and through what it calls."""
    found = Reads()
    seen: set[Place] = set()
    waiting: list[Place] = [(rule_module, "check")]
    while waiting:
        place = waiting.pop()
        where = module(place[0])
        if where is None or place in seen:
            continue
        seen.add(place)
        found.inputs |= {"fallback"} if place == FALLBACK else set()
        if place[1] in where.definitions:
            node = where.definitions[place[1]]
            _take(node, found, own=place[0] == rule_module)
            waiting += _named(node, place[0], where)
        elif place[1] in where.imports:
            waiting.append(where.imports[place[1]])
    return found


def _defines(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id


def _named(node: ast.AST, name: str, where: Module) -> Iterator[Place]:
    """What ``node`` refers to: names of this module and attributes of imported modules."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield name, part.id
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            package, base = where.imports.get(part.value.id, ("", ""))
            yield f"{package}.{base}", part.attr


def _take(node: ast.AST, found: Reads, own: bool) -> None:
    prose = set(_prose(node))
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            found.words |= set() if id(part) in prose else {part.value}
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            # A field of a typed row bears the name of its column.
            found.words.add(part.target.id)
        elif isinstance(part, ast.JoinedStr):
            found.patterns |= {_pattern(part)} - {"\\w+"}
        elif isinstance(part, ast.Attribute) and part.attr in INPUTS and _is_evidence(part.value):
            found.inputs.add(part.attr)
            found.own |= {part.attr} if own else set()


def _is_evidence(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("evidence", "capture")


def _prose(node: ast.AST) -> Iterator[int]:
    """Strings that name nothing: docstrings, parts of f-strings, what a measure is called."""
    for part in ast.walk(node):
        if isinstance(part, ast.Expr):
            yield id(part.value)
        elif isinstance(part, ast.JoinedStr):
            yield from (id(value) for value in part.values)
        elif isinstance(part, ast.Call) and getattr(part.func, "id", "") == "Measure":
            yield id(part.args[0])


def _pattern(text: ast.JoinedStr) -> str:
    return "".join(
        re.escape(str(v.value)) if isinstance(v, ast.Constant) else r"\w+" for v in text.values
    )
