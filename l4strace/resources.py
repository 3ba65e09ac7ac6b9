"""Files that ship with the program but are not Python: page templates and collectors.

An installed wheel holds them in ``l4strace/share/``; a checkout has them in its top folder.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Folder ``reports`` or ``collectors``. Raises FileNotFoundError for a broken installation."""
    for candidate in (PACKAGE / "share" / name, PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"{name}/ is missing from this installation of l4strace")
