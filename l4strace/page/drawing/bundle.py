"""plotly's own script, gzipped into the page.

It is the `basic` one, which draws scatters and bars, and lies in `reports/` as published on npm
(`plotly.js-basic-dist-min`). The full one, which comes with the Python package, is four times as
large: a browser spent more time on reading it than on drawing the charts of a page.

`l4strace.page.prepare` compresses it when l4strace is built; else it is compressed when needed.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from hashlib import blake2b
from os import fstat
from pathlib import Path

from l4strace import installed
from l4strace.core import _native

GZIP_LEVEL = 9
"""Highest level: the script is compressed once, and every page carries it."""
VERSION = re.compile(r"plotly\.js \(basic - minified\) v([\d.]+)")
HEAD_BYTES = 200
"""The script states its version near its top."""


@lru_cache(maxsize=1)
def script() -> str:
    """plotly's script: gzip, then base64."""
    source = source_file()
    ready = prepared(source)
    return ready.read_bytes().decode("ascii") if ready.is_file() else compressed(source)


def compressed(source: Path) -> str:
    """A script as gzip in base64."""
    return b64encode(_native.gzip(source.read_text(encoding="utf-8"), GZIP_LEVEL)).decode()


def prepared(source: Path) -> Path:
    """Where the compressed script lies if it was prepared: its name states of which script.

    By its size and its first lines, which have the version: to read all of it takes as long as a
    section of the page.
    """
    with source.open("rb") as file:
        about = b"%d %s" % (fstat(file.fileno()).st_size, file.read(HEAD_BYTES))
    key = blake2b(about, digest_size=8).hexdigest()
    return installed.prepared() / f"plotly-{key}.js.gz.base64"


def source_file() -> Path:
    """plotly's script as text."""
    return installed.path("reports") / "plotly-basic.min.js"


def version() -> str:
    """The version of the script, by its first lines."""
    with source_file().open(encoding="utf-8") as file:
        found = VERSION.search(file.read(HEAD_BYTES))
    return found[1] if found else "unknown"
