"""Capture quality: what was lost or could not be read, and which rules could not judge."""

from __future__ import annotations

from dataclasses import dataclass

from l4strace.model import Skipped
from l4strace.report.case import Case
from l4strace.report.names import counted

MAX_ROWS = 40
MAX_FLOWS_NAMED = 8


@dataclass(frozen=True)
class StatRow:
    """One row of `stats`."""

    source: str
    name: str
    count: str
    severity: str
    detail: str


@dataclass(frozen=True)
class SkippedRow:
    """A rule that could not judge: why, and for which flows (empty: the whole run)."""

    rule: str
    name: str
    reason: str
    flows: str


@dataclass(frozen=True)
class QualitySection:
    """Both lists; ``asked`` is how many rules were asked."""

    stats: tuple[StatRow, ...]
    skipped: tuple[SkippedRow, ...]
    asked: int
    left_out: str


ORDER = {"error": 0, "loss": 1, "info": 2}


def build(case: Case) -> QualitySection:
    """Damage first."""
    paths = dict(case.evidence.sources.select("source", "path").iter_rows())
    rows = sorted(
        case.evidence.stats.filter(case.evidence.stats["count"] > 0).iter_rows(named=True),
        key=lambda row: (ORDER.get(row["severity"], 3), row["source"], row["name"]),
    )
    stats = tuple(
        StatRow(
            str(paths.get(row["source"], row["source"])),
            row["name"].replace("_", " "),
            f"{row['count']:,}",
            row["severity"],
            row["detail"] or "",
        )
        for row in rows[:MAX_ROWS]
    )
    more = len(rows) - len(stats)
    left_out = (
        f"{counted(more, 'more kind')} not shown (l4strace export stats)." if more > 0 else ""
    )
    return QualitySection(stats, _skipped(case), len(case.analysis.rules), left_out)


def _skipped(case: Case) -> tuple[SkippedRow, ...]:
    """One row per rule and reason, with its flows together."""
    names = {rule.code: rule.name for rule in case.analysis.rules}
    grouped: dict[tuple[str, str], list[Skipped]] = {}
    for skipped in case.analysis.skipped:
        grouped.setdefault((skipped.rule, skipped.reason), []).append(skipped)
    return tuple(
        SkippedRow(rule, names.get(rule, ""), reason, _flows(group))
        for (rule, reason), group in sorted(grouped.items())
    )


def _flows(group: list[Skipped]) -> str:
    flows = sorted({skipped.flow for skipped in group if skipped.flow is not None})
    if not flows:
        return ""
    named = ", ".join(str(flow) for flow in flows[:MAX_FLOWS_NAMED])
    more = len(flows) - MAX_FLOWS_NAMED
    return f"flow {named} and {more:,} more" if more > 0 else f"flow {named}"
