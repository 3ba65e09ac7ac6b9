"""Imports among the collectors go one way, and each module loads by itself."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from l4strace.commands.capture import Kernel
from run.arguments import SOURCES

COLLECTORS = Path(__file__).resolve().parents[2] / "collectors"
MODULES = {
    ".".join(path.relative_to(COLLECTORS).with_suffix("").parts): path
    for path in sorted(COLLECTORS.rglob("*.py"))
}


def imports(path: Path) -> set[str]:
    """Modules of the collectors that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found & set(MODULES)


def test_no_circle() -> None:
    graph = {name: imports(path) for name, path in MODULES.items()}
    free: set[str] = set()
    while ready := {name for name, below in graph.items() if name not in free and below <= free}:
        free |= ready
    assert sorted(set(graph) - free) == []


def test_every_module_loads_first() -> None:
    names = [name.removesuffix(".__init__") for name in MODULES if name != "__main__"]
    script = "import sys, importlib; sys.path.insert(0, sys.argv[1])\n" + "\n".join(
        "for n in list(sys.modules):\n"
        "    if n.partition('.')[0] in ('packets', 'kernel', 'host', 'run', 'log', 'process'):\n"
        f"        del sys.modules[n]\nimportlib.import_module({name!r})"
        for name in names
    )
    command = [sys.executable, "-I", "-c", script, str(COLLECTORS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_source_of_kernel_state_is_a_program_and_a_choice() -> None:
    usage = subprocess.run(
        [sys.executable, str(COLLECTORS)], capture_output=True, text=True, check=False
    ).stderr
    assert [name for name in SOURCES if f"\n  {name} " not in usage] == []
    assert {choice.value for choice in Kernel} == {"auto", *SOURCES, "none"}
