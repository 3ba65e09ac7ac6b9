"""The AccECN option carries impossible counters.

What it checks
--------------
Options whose first byte counter is 0 (it starts at 1), options whose counters run backwards, and
options that report more bytes than the other side has sent.

Why it matters
--------------
A sender that uses these counters computes a wrong share of marks. A Linux sender that detects a
zeroed option ignores the option for the rest of the connection.

Evidence
--------
`directions.option_zeroed` and `option_implausible`, out of `accecn_options`; `option_fault_frame`;
`flows.handshake`. With captures at both ends, `paths.option_changed`: options that left intact were
rewritten on the path.

When it is wrong
----------------
Stacks that follow a draft may start their counters elsewhere: a FreeBSD of 2022 starts at
16,777,215 (-1 in 24 bits). If the capture lacks the start of the flow, the initial value is unknown
and the rule ignores implausible counters.

What to do
----------
Update the stack that writes the option, or look for a middlebox that zeroes unknown options.

References
----------
RFC 9768 sections 3.2.3.1 and 3.2.3.2.4
"""

from typing import Any

import polars as pl

from l4strace.derive.vantage import first, nearest
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.schema.keys import DIRECTION, KEY
from l4strace.wording.quantities import count

ZEROED = ("reports 0 in its", "report 0 in their", " first counter, which starts at 1")
IMPLAUSIBLE = ("runs backwards or reports", "run backwards or report", " more bytes than were sent")
"""Predicate of the message, for one option and for several."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction that carries such options."""
    faulty = (pl.col("option_zeroed") > 0) | (pl.col("option_implausible") > 0)
    rows = evidence.directions.filter(faulty)
    if rows.is_empty():
        return []
    began = evidence.flows.select("source", "flow", seen=pl.col("handshake") == "full")
    rows = rows.join(began, on=["source", "flow"], how="left").with_columns(
        # Counters of a flow that began earlier report bytes that this capture never saw.
        option_implausible=pl.when("seen").then("option_implausible").otherwise(0)
    )
    rows = first(evidence, rows.filter(faulty))
    if rows.is_empty():
        return []
    by_path = _rewritten(evidence)
    return [
        _finding(row, tuple(row[name] for name in KEY) in by_path)
        for row in rows.iter_rows(named=True)
    ]


def _rewritten(evidence: Evidence) -> set[tuple[Any, ...]]:
    """Directions with options that the path rewrote, at the captures behind it.

    Where the capture nearest to the host shows the fault, too, the host made it.
    """
    changed = evidence.paths.filter(pl.col("option_changed") > 0).select(DIRECTION)
    behind = evidence.directions.join(changed, on=DIRECTION, how="semi").join(
        nearest(evidence), on=KEY, how="anti"
    )
    return set(behind.select(KEY).rows())


def _finding(row: Row, by_path: bool) -> Finding:
    zeroed, implausible = row["option_zeroed"] or 0, row["option_implausible"] or 0
    total = row["accecn_options"] or 0
    what = [
        _some(number, total, *texts)
        for number, *texts in ((zeroed, *ZEROED), (implausible, *IMPLAUSIBLE))
        if number
    ]
    why = ". They left the host intact: the path rewrites them" if by_path else ""
    return Finding(
        Severity.WARNING,
        Confidence.HIGH,
        f"Of {count(total, 'AccECN option')}, {', and '.join(what)}{why}.",
        "Find the middlebox that rewrites TCP options."
        if by_path
        else "Update the stack that writes the option, or look for a middlebox that zeroes it.",
        **direction_of(row),
        frames=(row["option_fault_frame"],),
        measures=(
            Measure("zeroed options", zeroed, "", "0"),
            Measure("implausible options", implausible, "", "0"),
        ),
    )


def _some(number: int, total: int, one: str, several: str, rest: str) -> str:
    """`1 reports 0 in its ...`, `all report 0 in their ...`."""
    which = "all" if number == total > 1 else f"{number:,}"
    return f"{which} {one if number == 1 else several}{rest}"


RULE = Rule.of(__name__, __doc__, check, "AccECN options carry impossible counters")
