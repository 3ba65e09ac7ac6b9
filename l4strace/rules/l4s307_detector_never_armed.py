"""No CE, so the detector never ran.

What it checks
--------------
Whether the kernel saw no CE on a flow in its whole log, so that `classic_ecn` stayed at 0 and alpha
at its initial value.

Why it matters
--------------
The score of 0 then does not describe the AQM, and an alpha of 1.0 does not describe congestion.

Evidence
--------
`fallback.state`, which rests on: `kernel.saw_ce`, `delivered_ce`, `classic_ecn` and `alpha`.

When it is wrong
----------------
If the log covers only a part of the flow, one without marks.

What to do
----------
Find out why nothing was marked: a FIFO, codepoints that the path bleached (L4S104), or no queue on
this path.

References
----------
tcp_prague.c, prague_update_alpha and prague_classic_ecn_detection (`saw_ce`)
"""

from l4strace.evidence import Evidence
from l4strace.fallback import cases
from l4strace.fallback.row import Row
from l4strace.fallback.samples import Sampled
from l4strace.fallback.table import rows
from l4strace.model import Finding, Measure, Rule, Severity, Skipped


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose score could not move."""
    known = [(row, row.sampled) for row in rows(evidence) if row.sampled]
    if all(samples.score_max is None for _, samples in known):
        return [Skipped("no kernel log with Prague's score")]
    return [_finding(row, samples) for row, samples in known if cases.unarmed(row)]


def _finding(row: Row, samples: Sampled) -> Finding:
    return Finding(
        Severity.NOTICE,
        row.confidence,
        "Prague's detector never ran because the log shows no CE mark: the score of 0 and the "
        f"alpha of {samples.alpha_last:.2f} are initial values, not measurements.",
        "Find out why nothing was marked: a FIFO, bleached codepoints, or no queue.",
        flow=row.flow,
        forward=row.forward,
        measures=(
            Measure("CE delivered", samples.delivered_ce or 0, "packet"),
            Measure("alpha", samples.alpha_last),
            Measure("samples", samples.samples),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "Prague's detector never ran: no CE mark")
