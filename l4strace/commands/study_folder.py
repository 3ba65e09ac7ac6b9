"""Whether what a command is given is the results of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from l4strace.errors import UsageError

if TYPE_CHECKING:
    from l4strace.studies.cells import Tables

MARK = "sweep.json"
"""As in `l4strace/studies/dataset.py`, which captures need not load."""


def tables(paths: Sequence[str]) -> Tables | None:
    """Tables of the sweep that ``paths`` name; null for captures. Raises UsageError for a mix."""
    kept = [path for path in paths if Path(path, MARK).is_file()]
    if not kept:
        return None
    if len(paths) > 1:
        raise UsageError(f"{kept[0]}: a sweep stands alone", "Name one sweep.")
    from l4strace.studies.dataset import Dataset

    dataset = Dataset(kept[0])
    dataset.about()
    return dataset.tables()
