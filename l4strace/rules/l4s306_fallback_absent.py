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
`kernel.event`, `alpha` and `classic_ecn`: samples of prague_cong_control, prague_update_alpha or
prague_enter_cwr; `bottlenecks.kind` and `confidence`; `coexistence`.

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

from __future__ import annotations

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Rule, Severity, Skipped
from l4strace.prague.constants import DCTCP
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_states import OWN_FUNCTIONS, samples

CODE = "L4S306"
ABSENT = "Prague in this kernel has no classic-ECN fallback"
MIN_SAMPLES = 50
"""Samples below which a socket is a control connection: by eye, as in L4S307."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding per log whose Prague has no score; a warning where it would be needed."""
    if evidence.kernel.is_empty():
        return [Skipped(CODE, "no kernel log")]
    probed = evidence.kernel.filter(
        pl.col("event").is_in(OWN_FUNCTIONS) & (pl.col("cc") != DCTCP).fill_null(True)
    )
    if probed.is_empty():
        return [Skipped(CODE, "the kernel log does not probe Prague's own functions")]
    read = probed.filter(pl.col("alpha").is_not_null())
    if read.is_empty():
        return [Skipped(CODE, "the kernel log probes Prague's functions, but not its state")]
    absent = read.group_by("source").agg(pl.col("classic_ecn").is_null().all().alias("absent"))
    logs = absent.filter("absent").rename({"source": "log"})
    flows = samples(evidence).join(logs, on="log").filter(pl.col("samples") >= MIN_SAMPLES)
    judged = flows.join(subjects.bottlenecks(evidence), on=subjects.DIRECTION, how="left")
    results: list[Finding | Skipped] = []
    for row in judged.iter_rows(named=True):
        needed = (
            row["kind"] in ("classic", "shallow")
            and row["confidence"] >= subjects.ISOLATED_CONFIDENCE
        )
        starved = subjects.starved_by(evidence, row["flow"]) if needed else ""
        results.append(
            Finding(
                CODE,
                Severity.WARNING if needed else Severity.INFO,
                Confidence.MEDIUM,
                f"{ABSENT}, but the AQM is classic{starved}."
                if needed
                else f"{ABSENT}, so it cannot misfire.",
                "Use a classic congestion control behind this AQM." if needed else "",
                flow=row["flow"],
                forward=row["forward"],
            )
        )
    return results


RULE = Rule(CODE, "fallback-absent", "No fallback in this build of Prague.", check, __doc__)
