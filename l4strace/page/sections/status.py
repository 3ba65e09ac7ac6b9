"""The status line: whether this is L4S at all, before anything is judged."""

from __future__ import annotations

from typing import NamedTuple

from l4strace.page.case import Case
from l4strace.wording.amounts import typeset

TITLE = ""


class StatusSection(NamedTuple):
    """``answer`` as in `model.Status`; ``sentence`` is empty where nobody asked."""

    answer: str
    sentence: str


def build(case: Case) -> StatusSection:
    """The L4S status of the analysis."""
    status = case.analysis.status
    if status is None:
        return StatusSection("unknown", "")
    return StatusSection(status.answer, typeset(status.sentence))
