"""Parts of polars that no command needs, executed when something is first asked of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

LATER = {
    "polars.catalog.unity": ("Catalog",),
    "polars.io.database": ("read_database", "read_database_uri"),
    "polars.io.delta": ("read_delta", "scan_delta"),
    "polars.io.iceberg": ("delete_iceberg", "scan_iceberg"),
}
"""Packages of formats that l4strace does not read, and what polars takes out of them as it is
imported: with what they import in turn (importlib.metadata, e-mail and zip among them) 47 modules
and a sixth of its own import."""


class _Finder:
    """Finds the packages of LATER as Python does, and has them executed late."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in LATER:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Late(spec.loader, LATER[name])
        return spec


class _Late(Loader):
    """Executes a package when one of its ``names`` is called, or when it is asked for another."""

    def __init__(self, loader: Loader, names: Sequence[str]) -> None:
        self._loader, self._names = loader, names

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the package's own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Puts stand-ins where the names will be."""

        def asked(name: str) -> Any:
            if vars(module).pop("__getattr__", None) is not None:
                self._loader.exec_module(module)
            return getattr(module, name)

        def stand_in(name: str) -> Callable[..., Any]:
            return lambda *args, **options: asked(name)(*args, **options)

        vars(module).update({name: stand_in(name) for name in self._names})
        vars(module)["__getattr__"] = asked


def load_late() -> None:
    """For the command line only: programs that import l4strace keep Python's own way."""
    if "polars" not in sys.modules:
        sys.meta_path.insert(0, _Finder)
