"""plotly's own script, gzipped into the page, so that it always fits the figures.

Compressing 4.5 MB takes longer than all charts of a small run: `l4strace.page.prepare` does it when
l4strace is built. Another plotly than that one is compressed when it is needed.
"""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

from l4strace import _native, installed

LEVEL = 6
"""80 kB less than level 3 for 16 ms; level 9 saves another 30 kB for 45 ms."""
HEAD_BYTES = 4096
"""The script states its version near its top."""


@lru_cache(maxsize=1)
def script() -> str:
    """The bundle of the installed plotly package: gzip, then base64. Same package, same text."""
    source = source_file()
    ready = prepared(source)
    return ready.read_text(encoding="ascii") if ready.is_file() else compressed(source)


def compressed(source: Path) -> str:
    """plotly's script as gzip in base64."""
    return b64encode(_native.gzip(source.read_text(encoding="utf-8"), LEVEL)).decode()


def prepared(source: Path) -> Path:
    """Where the compressed script lies if it was prepared: its name states of which script."""
    with source.open("rb") as file:
        head = file.read(HEAD_BYTES)
    key = blake2b(head + str(source.stat().st_size).encode(), digest_size=8).hexdigest()
    return installed.path("reports") / "prepared" / f"plotly-{key}.js.gz.base64"


def source_file() -> Path:
    """plotly's script, found without importing plotly, which takes longer than reading it."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("plotly: not installed")
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"
