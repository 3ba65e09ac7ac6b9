"""What `diagnose` prints: one of its formats, for one run or for several that are unrelated."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

from l4strace import console
from l4strace.commands.arguments import Format

if TYPE_CHECKING:
    from l4strace.evidence import Evidence
    from l4strace.model import Analysis, Severity

    Judged = tuple[Evidence, Analysis]


class FailOn(str, Enum):
    """The lowest severity that makes the exit code 1."""

    error = "error"
    warning = "warning"
    notice = "notice"
    info = "info"
    never = "never"


def render(wanted: Format, runs: Sequence[Judged], fail_on: FailOn) -> str:
    """The answer about ``runs`` in the format that is wanted."""
    return _one(wanted, *runs[0], fail_on) if len(runs) == 1 else _several(wanted, runs, fail_on)


def exit_code(runs: Sequence[Judged], fail_on: FailOn) -> int:
    """1 when any run has a finding at least as severe as ``fail_on``."""
    lowest = _lowest(fail_on)
    found = (finding for _, analysis in runs for finding in analysis.findings)
    return int(lowest is not None and any(finding.severity >= lowest for finding in found))


def _one(wanted: Format, evidence: Evidence, analysis: Analysis, fail_on: FailOn) -> str:
    from importlib import import_module

    module = import_module(f"l4strace.output.{wanted.value}")
    options: dict[str, object] = {}
    if wanted is Format.text:
        options = {"color": console.colored_results(), "width": console.width()}
    elif wanted is Format.junit:
        options = {"fail_on": _lowest(fail_on)}
    rendered: str = module.render(evidence, analysis, **options)
    return rendered


def _several(wanted: Format, runs: Sequence[Judged], fail_on: FailOn) -> str:
    from l4strace.output import several

    named = [(evidence, several.named(evidence, analysis)) for evidence, analysis in runs]
    if wanted is Format.text:
        return several.in_text(named, color=console.colored_results(), width=console.width())
    if wanted is Format.json:
        return several.in_json(named)
    if wanted is Format.markdown:
        return several.in_markdown(named)
    if wanted is Format.sarif:
        return several.in_sarif(named)
    return several.in_junit(named, _lowest(fail_on))


def _lowest(fail_on: FailOn) -> Severity | None:
    """The severity from which a finding fails; null when none does."""
    from l4strace.model import Severity

    return None if fail_on is FailOn.never else Severity[fail_on.value.upper()]
