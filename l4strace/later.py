"""What few commands need of polars, jinja2, typer and Python, made when it is first asked for."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import EllipsisType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    # What it is derived from imports a dozen modules; Python asks a loader for two methods only.
    Loader = object

LATER: dict[str, Sequence[str] | EllipsisType] = {
    "bz2": (),
    "concurrent.futures": ("ThreadPoolExecutor",),
    "difflib": ("get_close_matches",),
    "jinja2.bccache": ("BytecodeCache", "FileSystemBytecodeCache", "MemcachedBytecodeCache"),
    "jinja2.compiler": ("CodeGenerator", "generate"),
    "jinja2.lexer": ("Lexer", "TokenStream", "get_lexer"),
    "jinja2.parser": ("Parser",),
    "lzma": (),
    "polars.catalog.unity": ("Catalog",),
    "polars.convert.normalize": ("json_normalize",),
    "polars.dataframe._html": ("NotebookFormatter",),
    "polars.dataframe.plotting": ("DataFramePlot",),
    "polars.io": ...,
    "polars.io.cloud": ...,
    "polars.io.database": ("read_database", "read_database_uri"),
    "polars.io.delta": ("read_delta", "scan_delta"),
    "polars.io.iceberg": ("delete_iceberg", "scan_iceberg"),
    "polars.plugins": (),
    "polars.series.array": ("ArrayNameSpace",),
    "polars.series.binary": ("BinaryNameSpace",),
    "polars.series.categorical": ("CatNameSpace",),
    "polars.series.datetime": ("DateTimeNameSpace",),
    "polars.series.ext": ("ExtensionNameSpace",),
    "polars.series.list": ("ListNameSpace",),
    "polars.series.map": ("MapNameSpace",),
    "polars.series.plotting": ("SeriesPlot",),
    "polars.series.struct": ("StructNameSpace",),
    "polars.sql": ("SQLContext", "sql"),
    "shellingham": (),
    "subprocess": (),
    "tokenize": (),
    "traceback": ("FrameSummary", "StackSummary"),
    "urllib.parse": ("quote_from_bytes",),
    "uuid": ("UUID",),
}
"""What a run does not need, and the names that a package takes out of it as it is imported; those
of `...` are all that polars takes as it is.

Of polars formats that l4strace does not read, and what one type of columns has of its own. Of
jinja2 what compiles templates, which the build has done. Of Python what those and typer import for
the case that something fails, that a URL is read or that a thread is begun."""

MADE_LATER = ("ThreadPoolExecutor",)
"""What polars makes one of as it is imported, for a call that l4strace does not use."""


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
            spec.loader = _Late(spec.loader, LATER[name]) if late else _Polars(spec.loader)
        return spec


class _Late(Loader):
    """Executes a module when one of its ``names`` is called, or when it is asked for another."""

    def __init__(self, loader: Loader, names: Sequence[str] | EllipsisType) -> None:
        self._loader, self._names = loader, names

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the module's own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Puts stand-ins where the names will be."""
        names, working = self._names, RLock()
        own: dict[str, Any] = {}

        def asked(name: str) -> Any:
            # Whoever imports from a module asks whether it is a package; if so, it has this.
            if name == "__path__":
                raise AttributeError(name)
            if names is ... and _Polars.importing:
                return partial(_call, asked, name)
            with working:
                if vars(module).get("__getattr__") is asked:
                    for one in own:
                        del vars(module)[one]
                    self._loader.exec_module(module)
            return getattr(module, name)

        own["__getattr__"] = asked
        if names is not ...:
            own.update({name: partial(_call, asked, name) for name in names})
        vars(module).update(own)


class _Polars(Loader):
    """Imports polars, whose decorators record signatures of 560 functions, which go unused."""

    importing = False

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the package's own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """With signatures that are worked out when someone looks at them."""
        import inspect

        from l4strace.unsigned import Signature

        signature = inspect.signature
        inspect.signature = Signature.of  # type: ignore[assignment]
        _Polars.importing = True
        try:
            self._loader.exec_module(module)
        finally:
            _Polars.importing = False
            inspect.signature = signature


def _uncompiled(source: str, *_: Any) -> str:
    """What `typing` compiles of an annotation that is a string: `eval` takes the string as well."""
    return source


def _call(asked: Callable[[str], Any], name: str, *args: Any, **options: Any) -> Any:
    def made() -> Any:
        return asked(name)(*args, **options)

    return _Made(made) if name in MADE_LATER and _Polars.importing else made()


class _Made:
    """What a call returns, made when it is first used."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] = cache(make)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._make(), name)


def load_late() -> None:
    """For the command line only: programs that import l4strace keep Python's own way."""
    if "polars" not in sys.modules:
        sys.meta_path.insert(0, _Finder)
        # Half a thousand annotations of named tuples and unions, of which typer looks at forty.
        vars(typing)["compile"] = _uncompiled
