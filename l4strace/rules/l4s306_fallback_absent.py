"""This build of Prague has no classic-ECN fallback.

What it checks
--------------
Whether a log of Prague's own functions shows alpha but never `classic_ecn`: L4STeam kernels from
6.1 on have no detector.

Why it matters
--------------
On such a kernel the fallback cannot misfire. It also cannot protect classic flows that share an
RFC 3168 queue with Prague.

Evidence
--------
`fallback.state`, which rests on: `kernel.event`, `alpha` and `classic_ecn`: samples of
prague_cong_control, prague_update_alpha or prague_enter_cwr; `bottlenecks.kind` and `confidence`;
`coexistence`.

When it is wrong
----------------
If the collector did not read the field. Logs of polls (`ss`) never have it and are skipped.

What to do
----------
Nothing on an L4S path. Behind a classic ECN AQM use a classic congestion control.

References
----------
tcp_prague.c of minuscat/l4steam-6.1.y and l4steam-6.6.y and of L4STeam/linux for net-next; RFC 9331
section 4.3
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.fallback import cases
from l4strace.fallback.row import Row
from l4strace.fallback.samples import OWN_FUNCTIONS
from l4strace.fallback.table import rows
from l4strace.model import Finding, Rule, Severity, Skipped
from l4strace.prague.constants import DCTCP
from l4strace.rules.support import subjects

NEEDS_ONE = "Prague without fallback behind a classic AQM"
ABSENT = "Prague in this kernel has no classic-ECN fallback"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding per flow of a log whose Prague has no score; a warning where one is needed."""
    if reason := _unread(evidence):
        return [Skipped(reason)]
    return [_finding(evidence, row) for row in rows(evidence) if cases.absent(row)]


def _unread(evidence: Evidence) -> str:
    """Why the log cannot show it, or nothing."""
    if evidence.kernel.is_empty():
        return "no kernel log"
    prague = (pl.col("cc") != DCTCP).fill_null(True)
    probed = evidence.kernel.filter(pl.col("event").is_in(OWN_FUNCTIONS) & prague)
    if probed.is_empty():
        return "the kernel log does not probe Prague's own functions"
    if probed["alpha"].is_null().all():
        return "the kernel log probes Prague's functions, but not its state"
    return ""


def _finding(evidence: Evidence, row: Row) -> Finding:
    needed = row.place.shared
    starved = subjects.starved_by(evidence, row.flow) if needed else ""
    return Finding(
        Severity.WARNING if needed else Severity.INFO,
        row.confidence,
        f"{ABSENT}, but the AQM is {subjects.hedge(row.place.confidence)}classic{starved}."
        if needed
        else f"{ABSENT}, so it cannot misfire.",
        "Use a classic congestion control behind this AQM." if needed else "",
        flow=row.flow,
        forward=row.forward,
        headline=NEEDS_ONE if needed else "",
    )


RULE = Rule.of(__name__, __doc__, check, "This Prague has no classic-ECN fallback", NEEDS_ONE)
