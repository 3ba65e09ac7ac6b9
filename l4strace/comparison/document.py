"""A comparison as plain data, for `--json`: keys are only ever added."""

from __future__ import annotations

from typing import Any

from l4strace.comparison.comparison import Comparison
from l4strace.comparison.permutation import LEVEL

SCHEMA = 1


def document(comparison: Comparison) -> dict[str, Any]:
    """Each measure with all its cells."""
    return {
        "schema": SCHEMA,
        "by": comparison.by or None,
        "before": comparison.names[0],
        "after": comparison.names[1],
        "paired_by": list(comparison.parameters),
        "unpaired_cells": comparison.unpaired,
        "also_differ": list(comparison.apart),
        "correction": comparison.method,
        "level": LEVEL,
        "alike": [list(names) for names in comparison.alike],
        "measures": [
            {
                "name": measured.name,
                "title": measured.title,
                "unit": measured.unit,
                "mean_difference": measured.mean_difference,
                "p_cells": measured.p_cells,
                "visible": measured.visible,
                "differing_cells": int(measured.cells["differs"].sum()),
                "cells": measured.cells.to_dicts(),
            }
            for measured in comparison.measures
        ],
    }
