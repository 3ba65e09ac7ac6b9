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


class Expect(str, Enum):
    """What a run is expected to be; names as in `wording.expectations`."""

    l4s = "l4s"
    accecn = "accecn"
    ect1 = "ect1"
    no_misfire = "no-misfire"


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
    """1 when a run has a finding at least as severe as ``fail_on``, or is not as expected."""
    if any(analysis.unmet for _, analysis in runs):
        return 1
    lowest = _lowest(fail_on)
    found = (finding for _, analysis in runs for finding in analysis.findings)
    return int(lowest is not None and any(finding.severity >= lowest for finding in found))


def _one(wanted: Format, evidence: Evidence, analysis: Analysis, fail_on: FailOn) -> str:
    # Each imports what it needs: sarif and junit are for few, and text for most.
    match wanted:
        case Format.text:
            from l4strace.output import text

            return text.render(
                evidence, analysis, color=console.colored_results(), width=console.width()
            )
        case Format.json:
            from l4strace.output import json

            return json.render(evidence, analysis)
        case Format.markdown:
            from l4strace.output import markdown

            return markdown.render(evidence, analysis)
        case Format.sarif:
            from l4strace.output import sarif

            return sarif.render(evidence, analysis)
        case Format.junit:
            from l4strace.output import junit

            return junit.render(evidence, analysis, fail_on=_lowest(fail_on))


def _several(wanted: Format, runs: Sequence[Judged], fail_on: FailOn) -> str:
    from l4strace.output import several

    named = [(evidence, several.named(evidence, analysis)) for evidence, analysis in runs]
    match wanted:
        case Format.text:
            return several.in_text(named, color=console.colored_results(), width=console.width())
        case Format.json:
            return several.in_json(named)
        case Format.markdown:
            return several.in_markdown(named)
        case Format.sarif:
            return several.in_sarif(named)
        case Format.junit:
            return several.in_junit(named, _lowest(fail_on))


def _lowest(fail_on: FailOn) -> Severity | None:
    """The severity from which a finding fails; null when none does."""
    from l4strace.model import Severity

    return None if fail_on is FailOn.never else Severity[fail_on.value.upper()]
