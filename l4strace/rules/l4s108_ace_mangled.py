"""The three-bit ACE counter is zeroed or frozen on the path.

What it checks
--------------
AccECN flow directions whose packets all carry ACE 000, whose first counter is 000, or whose counter
never moves although the other direction was marked.

Why it matters
--------------
ACE is how the sender learns of marks. A path that clears the reserved TCP bits, or an offload that
repeats them, cuts the sender off from congestion feedback; a Linux sender that notices stops using
ECT.

Evidence
--------
`directions.ace_first`, `ace_distinct`, `ace_zero_run` of the feedback's direction; `ceb_bytes` and
`ce` of the data's direction; `paths.ace_changed`.

When it is wrong
----------------
Marks in multiples of eight between two packets leave ACE where it was: a frozen counter is reported
only after many marks. The counter starts at 5 and returns to 0 after three marks: ACE 000 alone is
no fault later in a connection.

What to do
----------
Look for a firewall that normalises TCP flags ("clear reserved bits"), and switch offloads off that
rebuild headers.

References
----------
RFC 9768 sections 3.2.2 and 3.2.2.4
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S108"
ENOUGH_PACKETS = 10
ENOUGH_MARKS = 20
"""Marks that would leave a three-bit counter still only by a rare chance."""
ACTION = "Look for a middlebox that clears reserved TCP bits, or an offload that repeats them."


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose feedback is mangled, by its strongest evidence."""
    said: dict[tuple[int, bool], Finding] = {}
    for found in [*_by_both_ends(evidence), *_one_sided(evidence)]:
        said.setdefault((found.flow or 0, bool(found.forward)), found)
    return list(said.values())


def _by_both_ends(evidence: Evidence) -> list[Finding]:
    rows = evidence.paths.filter(pl.col("ace_changed") > 0)
    return [
        _finding(
            row,
            row["near"],
            Confidence.HIGH,
            f"{row['ace_changed']:,} of {row['matched']:,} packets arrived with other ACE bits "
            "than they left with.",
            row["first_change_frame_near"],
            Measure("packets with changed ACE", row["ace_changed"], "", "0"),
        )
        for row in rows.iter_rows(named=True)
    ]


def _one_sided(evidence: Evidence) -> list[Finding]:
    keys = ["source", "flow"]
    marked = evidence.directions.select(
        *keys,
        (~pl.col("forward")).alias("forward"),
        pl.max_horizontal(
            pl.col("ce"), (pl.col("ceb_bytes") / pl.col("max_payload").clip(1)).cast(pl.UInt64)
        )
        .fill_null(0)
        .alias("marks"),
    )
    rows = (
        evidence.directions.join(
            evidence.flows.filter(pl.col("mode") == "accecn").select(keys), on=keys
        )
        .filter((pl.col("packets") >= ENOUGH_PACKETS) & (pl.col("ace_distinct") == 1))
        .join(marked, on=[*keys, "forward"], how="left")
        # Few are left of many thousand flows, and rows become dicts below.
        .filter((pl.col("ace_first") == 0) | (pl.col("marks") >= ENOUGH_MARKS))
    )
    found = []
    for row in rows.iter_rows(named=True):
        if row["ace_first"] == 0:
            found.append(_zeroed(row))
        elif (row["marks"] or 0) >= ENOUGH_MARKS:
            found.append(_frozen(row))
    return found


def _zeroed(row: dict[str, Any]) -> Finding:
    return _finding(
        row,
        row["source"],
        Confidence.HIGH,
        f"All {row['packets']:,} packets carry ACE 000 although AccECN was negotiated: the counter "
        "starts at 5 and is zeroed on the way.",
        row["first_frame"],
        Measure("first ACE", "000", "", "101"),
    )


def _frozen(row: dict[str, Any]) -> Finding:
    return _finding(
        row,
        row["source"],
        Confidence.HIGH,
        f"ACE never moves from {row['ace_first'] or 0:03b} although about {row['marks']:,} packets "
        "of the other direction were marked.",
        row["first_frame"],
        Measure("distinct ACE values", 1, "", "8"),
    )


def _finding(
    row: dict[str, Any],
    source: int,
    confidence: Confidence,
    message: str,
    frame: int | None,
    measure: Measure,
) -> Finding:
    return Finding(
        CODE,
        Severity.ERROR,
        confidence,
        message,
        ACTION,
        source=source,
        flow=row["flow"],
        forward=row["forward"],
        frames=() if frame is None else (frame,),
        measures=(measure,),
    )


RULE = Rule(CODE, "ace-mangled", "The ACE counter is zeroed or frozen.", check, __doc__)
