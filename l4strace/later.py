"""Modules that a short command can do without, executed when something is first asked of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

LATER = frozenset({"importlib.metadata"})
"""polars imports it for the name of a plugin that reads Iceberg tables: 47 modules, e-mail and zip
among them, and a tenth of its own import."""


class _Finder:
    """Finds the modules of LATER as Python does, and has them executed late."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in LATER:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def load_late() -> None:
    """For the command line only: programs that import l4strace keep Python's own way."""
    if not any(module in sys.modules for module in LATER):
        sys.meta_path.insert(0, _Finder)
