"""Where the files that ship with l4strace are: in an editable checkout and in a wheel."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def path(name: str) -> Path:
    """The folder ``name`` (`collectors` or `reports`), installed or in the checkout.

    Raises FileNotFoundError when neither is there: a broken installation.
    """
    # An editable build leaves staged copies beside the package: in a checkout the source wins.
    staged, source = PACKAGE / "share" / name, PACKAGE.parent / name
    checkout = (PACKAGE.parent / "pyproject.toml").is_file()
    for folder in (source, staged) if checkout else (staged,):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"{name}: not part of this installation of l4strace")
