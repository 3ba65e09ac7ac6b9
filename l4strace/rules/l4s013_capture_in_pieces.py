"""One capture was given in pieces.

What it checks
--------------
Captures that follow one another in time and share flows with data, such as the files of
`tcpdump -C`, `tcpdump -G` or a ring buffer of dumpcap.

Why it matters
--------------
Captures that are given together count as captures of one run at several places. With pieces of one
capture, the rates, shares, rounds and counts of a flow come from one piece, and tracking starts
again in each.

Evidence
--------
`sources.first_ns` and `last_ns`; `directions.payload_bytes` (which flows a capture shares).

When it is wrong
----------------
Two captures at different places may each cover another part of the run. They cannot be joined, but
their findings cover only part of the run, too.

What to do
----------
Join the pieces with `mergecap`, and diagnose the result.

References
----------
tcpdump(1), options -C and -G; mergecap(1)
"""

from itertools import pairwise

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import CAPTURES


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for all pieces."""
    pieces = _pieces(evidence)
    if not pieces:
        return []
    return [
        Finding(
            Severity.WARNING,
            Confidence.HIGH,
            f"{len(pieces)} captures follow one another and share flows. Each is analyzed "
            "separately, so every finding on these flows covers only part of the run.",
            "Join them and diagnose the result: mergecap -w run.pcapng FILES.",
            source=pieces[0],
            measures=(Measure("captures that follow one another", len(pieces), "", "1"),),
        )
    ]


def _pieces(evidence: Evidence) -> list[int]:
    """Inputs, in the order of time, of which each shares a flow with one that ended before."""
    captures = (
        evidence.sources.filter(pl.col("kind").is_in(CAPTURES))
        .drop_nulls(["first_ns", "last_ns"])
        .sort("first_ns", "source")
    )
    if captures.height < 2:
        return []
    sent = evidence.directions.filter(pl.col("payload_bytes") > 0)
    flows = {source: set(sent.filter(source=source)["flow"]) for source in captures["source"]}
    found: dict[int, None] = {}
    rows = captures.select("source", "first_ns", "last_ns").rows()
    for (before, _, end), (after, begin, _) in pairwise(rows):
        if begin >= end and flows[before] & flows[after]:
            found |= {before: None, after: None}
    return list(found)


RULE = Rule.of(__name__, __doc__, check, "One capture was given in pieces")
