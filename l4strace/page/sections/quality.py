"""Capture quality: what was lost or could not be read, and which rules could not judge."""

from __future__ import annotations

from typing import NamedTuple

from l4strace.model import Skipped
from l4strace.page.case import Case
from l4strace.wording.quantities import count

TITLE = "Capture quality"

MAX_ROWS = 40
MAX_FLOWS_NAMED = 8


class StatRow(NamedTuple):
    """One row of `stats`."""

    source: str
    name: str
    amount: str
    severity: str
    detail: str


class SkippedRow(NamedTuple):
    """Rules (code and name) that could not judge for one reason, and for which flows."""

    rules: tuple[tuple[str, str], ...]
    reason: str
    flows: str


class QualitySection(NamedTuple):
    """Both lists; ``asked`` is how many rules were asked."""

    stats: tuple[StatRow, ...]
    skipped: tuple[SkippedRow, ...]
    asked: int
    left_out: str


NAMES = {"not_tcp": "neither TCP nor UDP"}
"""Names of `stats` that mean less than they say: packets of UDP are counted as flows."""

ORDER = {"error": 0, "loss": 1, "info": 2}


def build(case: Case) -> QualitySection:
    """Damage first."""
    inputs = case.inputs
    rows = sorted(
        case.evidence.stats.filter(case.evidence.stats["count"] > 0).iter_rows(named=True),
        key=lambda row: (ORDER.get(row["severity"], 3), row["source"], row["name"]),
    )
    stats = tuple(
        StatRow(
            str(inputs.get(row["source"], row["source"])),
            NAMES.get(row["name"], row["name"].replace("_", " ")),
            f"{row['count']:,}",
            row["severity"],
            row["detail"] or "",
        )
        for row in rows[:MAX_ROWS]
    )
    more = len(rows) - len(stats)
    left_out = f"{count(more, 'more kind')} not shown (l4strace export stats)." if more > 0 else ""
    return QualitySection(stats, _skipped(case), len(case.analysis.rules), left_out)


def _skipped(case: Case) -> tuple[SkippedRow, ...]:
    """One row per reason and place, in the order of the rules."""
    names = {rule.code: rule.name for rule in case.analysis.rules}
    places: dict[tuple[str, str], list[Skipped]] = {}
    for skipped in case.analysis.skipped:
        places.setdefault((skipped.rule, skipped.reason), []).append(skipped)
    rows: dict[tuple[str, str], list[str]] = {}
    for (rule, reason), group in sorted(places.items()):
        rows.setdefault((reason, _flows(group)), []).append(rule)
    return tuple(
        SkippedRow(tuple((rule, names.get(rule, "")) for rule in rules), reason, flows)
        for (reason, flows), rules in rows.items()
    )


def _flows(group: list[Skipped]) -> str:
    flows = sorted({skipped.flow for skipped in group if skipped.flow is not None})
    if not flows:
        return ""
    named = ", ".join(str(flow) for flow in flows[:MAX_FLOWS_NAMED])
    more = len(flows) - MAX_FLOWS_NAMED
    return f"flow {named} and {more:,} more" if more > 0 else f"flow {named}"
