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
`flows.handshake`.

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

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.derive.vantage import first
from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S110"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction that carries such options."""
    began = evidence.flows.select("source", "flow", seen=pl.col("handshake") == "full")
    rows = evidence.directions.join(began, on=["source", "flow"], how="left").with_columns(
        # Counters of a flow that began earlier report bytes that this capture never saw.
        option_implausible=pl.when("seen").then("option_implausible").otherwise(0)
    )
    rows = rows.filter((pl.col("option_zeroed") > 0) | (pl.col("option_implausible") > 0))
    rows = first(evidence, rows)
    return [_finding(row) for row in rows.iter_rows(named=True)]


def _finding(row: dict[str, Any]) -> Finding:
    zeroed, implausible = row["option_zeroed"] or 0, row["option_implausible"] or 0
    what = [
        text
        for number, text in (
            (zeroed, f"{zeroed:,} report 0 in their first counter, which starts at 1"),
            (implausible, f"{implausible:,} run backwards or report more bytes than were sent"),
        )
        if number
    ]
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.HIGH,
        f"Of {row['accecn_options'] or 0:,} AccECN options, {' and '.join(what)}.",
        "Update the stack that writes the option, or look for a middlebox that zeroes it.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        frames=() if row["option_fault_frame"] is None else (row["option_fault_frame"],),
        measures=(
            Measure("zeroed options", zeroed, "", "0"),
            Measure("implausible options", implausible, "", "0"),
        ),
    )


RULE = Rule(CODE, "accecn-option-implausible", "Impossible AccECN counters.", check, __doc__)
