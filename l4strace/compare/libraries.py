"""scipy and statsmodels, which only `compare` needs: imported when they are."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from l4strace.errors import UsageError


def library(name: str) -> Any:
    """The module ``name``. Raises UsageError with the remedy when it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        missing = name.partition(".")[0]
        raise UsageError(
            f"compare needs {missing}, which is not installed",
            "Install it with: pip install 'l4strace[compare]'",
        ) from error
