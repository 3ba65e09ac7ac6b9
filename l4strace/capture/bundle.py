"""The collectors as one file that any Python 3.8 runs."""

from __future__ import annotations

import io
import zipfile

from l4strace import installed

SUFFIXES = (".py", ".c", ".h")


def zipapp() -> bytes:
    """The folder `collectors` as a zipapp: `python3 FILE NAME ...` runs one of them."""
    folder = installed.path("collectors")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.suffix in SUFFIXES:
                archive.write(path, path.relative_to(folder))
    return buffer.getvalue()
