"""What few commands need of polars and jinja2, made when it is first asked for."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    # What it is derived from imports a dozen modules; Python asks a loader for two methods only.
    Loader = object

LATER = {
    "jinja2.bccache": ("BytecodeCache", "FileSystemBytecodeCache", "MemcachedBytecodeCache"),
    "jinja2.compiler": ("CodeGenerator", "generate"),
    "jinja2.lexer": ("Lexer", "TokenStream", "get_lexer"),
    "jinja2.parser": ("Parser",),
    "polars.catalog.unity": ("Catalog",),
    "polars.io.database": ("read_database", "read_database_uri"),
    "polars.io.delta": ("read_delta", "scan_delta"),
    "polars.io.iceberg": ("delete_iceberg", "scan_iceberg"),
}
"""What a run does not need, and the names that the package takes out of it as it is imported.

Of polars formats that l4strace does not read: with what they import in turn (importlib.metadata,
e-mail and zip among them) 47 modules and a sixth of its own import. Of jinja2 what compiles
templates, which the build has done."""


class _Finder:
    """Finds the packages of LATER as Python does, and has them executed late."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in LATER and name != "polars":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            late = name in LATER
            spec.loader = _Late(spec.loader, LATER[name]) if late else _Unsigned(spec.loader)
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
            # Whoever imports from a module asks whether it is a package; if so, it has this.
            if name == "__path__":
                raise AttributeError(name)
            if vars(module).pop("__getattr__", None) is not None:
                self._loader.exec_module(module)
            return getattr(module, name)

        vars(module).update({name: partial(_call, asked, name) for name in self._names})
        vars(module)["__getattr__"] = asked


class _Unsigned(Loader):
    """Imports a package whose decorators record signatures of 560 functions, which go unused."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the package's own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """With signatures that are worked out when someone looks at them."""
        signature = inspect.signature
        inspect.signature = _Signature.of  # type: ignore[assignment]
        try:
            self._loader.exec_module(module)
        finally:
            inspect.signature = signature


class _Signature(inspect.Signature):
    """The signature of a function, as `inspect.signature` has it from its first use on."""

    __slots__ = ("function",)

    function: Callable[..., Any]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> _Signature:
        """That of ``function``."""
        late = cls.__new__(cls)
        late.function = function
        return late

    def __getattr__(self, name: str) -> Any:
        if name not in inspect.Signature.__slots__:
            raise AttributeError(name)
        known = inspect.Signature.from_callable(self.function)
        for slot in inspect.Signature.__slots__:
            setattr(self, slot, getattr(known, slot))
        return getattr(known, name)


def _call(asked: Callable[[str], Any], name: str, *args: Any, **options: Any) -> Any:
    return asked(name)(*args, **options)


def load_late() -> None:
    """For the command line only: programs that import l4strace keep Python's own way."""
    if "polars" not in sys.modules:
        sys.meta_path.insert(0, _Finder)
