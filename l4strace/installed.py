"""Where the files that ship with l4strace are: in an editable checkout and in a wheel."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent
"""The repository, where the package is not installed from a wheel."""


def path(name: str) -> Path:
    """The folder ``name`` (`collectors` or `reports`), installed or in the checkout.

    Raises FileNotFoundError when neither is there: a broken installation.
    """
    # An editable build leaves staged copies beside the package: in a checkout the source wins.
    staged, source = PACKAGE / "share" / name, CHECKOUT / name
    for folder in (source, staged) if in_checkout() else (staged,):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"{name}: not part of this installation of l4strace")


def prepared() -> Path:
    """The folder of what `l4strace.page.prepare` makes; it need not exist."""
    return CHECKOUT / "build/prepared" if in_checkout() else PACKAGE / "share/prepared"


def in_checkout() -> bool:
    """The package is that of a checkout."""
    return (CHECKOUT / "pyproject.toml").is_file()
