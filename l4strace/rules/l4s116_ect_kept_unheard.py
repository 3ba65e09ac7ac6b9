"""UDP keeps ECT on a path that erases it.

What it checks
--------------
With captures at both ends: directions of QUIC, RTP and UDP Prague whose packets leave with ECT to
the last, from the first or from the end of the handshake on, although the path clears the field on
nearly all of them. No feedback can then report ECT or a mark.

Why it matters
--------------
A sender has to notice that nothing reports its ECT and stop it (QUIC: validation). One that does
not takes silence for an empty queue. If the field is cleared behind the bottleneck, its ECT(1)
packets fill the low-latency queue, are marked there, and the marks never reach the receiver.

Evidence
--------
`paths.ect1_to_not_ect` and `ect0_to_not_ect`; `directions.ecn_runs`, `first_ecn_runs`, `ect1` and
`ect0` near the sender; `flows.transport`.

When it is wrong
----------------
The sender may limit itself by delay or loss, and then it does no harm. l4strace does not see that.

What to do
----------
Repair the path first (L4S104). Then ask for ECN validation in the sender: send Not-ECT when
feedback does not account for the packets that left with ECT.

References
----------
RFC 9000 section 13.4.2, RFC 9331 sections 4.1 and 4.3
"""

import polars as pl

from l4strace.derive.vantage import once
from l4strace.evidence import Evidence, traffic
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import paths
from l4strace.rules.support.tried import FOR_GOOD, VALIDATING
from l4strace.schema.keys import DIRECTION
from l4strace.schema.words import NOT_ECT
from l4strace.wording.quantities import count

ERASED = 0.9
"""Share of the packets with ECT from which the path erases the field as a whole. By eye: where one
of ten arrives with ECT, feedback reports it."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction that does not notice."""
    if evidence.paths.is_empty():
        return [Skipped("needs captures at both ends of the path")]
    cleared = pl.col("ect1_to_not_ect") + pl.col("ect0_to_not_ect")
    rows = evidence.paths.with_columns(cleared=cleared).filter(
        paths.changed(evidence, pl.col("cleared")), pl.col("cleared") >= FOR_GOOD
    )
    known = traffic(evidence)
    over_udp = known.flows.filter(pl.col("transport").is_in(VALIDATING))
    near = once(known, known.directions).join(over_udp, on=["source", "flow"], how="semi")
    near = near.select(
        "source", *DIRECTION, ect=pl.col("ect1") + pl.col("ect0"), tried=_tried_without()
    )
    kept = rows.join(near, left_on=["near", *DIRECTION], right_on=["source", *DIRECTION]).filter(
        pl.col("cleared") >= ERASED * pl.col("ect"), ~pl.col("tried")
    )
    return [_finding(row) for row in kept.to_dicts()]


def _tried_without() -> pl.Expr:
    """Whether Not-ECT came after ECT; a handshake before it is often Not-ECT."""
    before = (pl.col("first_ecn_runs").list.first() == NOT_ECT).cast(pl.UInt32)
    return pl.col("ecn_runs") > 1 + before


def _finding(row: dict[str, int]) -> Finding:
    sent = "ECT(1)" if row["ect1_to_not_ect"] >= row["ect0_to_not_ect"] else "ECT(0)"
    return Finding(
        Severity.WARNING,
        Confidence.HIGH,
        f"The sender keeps {sent} to the end although the path erases it: {row['cleared']:,} of "
        f"{count(row['ect'], 'packet')} with ECT arrived as Not-ECT, so no feedback reports "
        "them, and the sender never tried without.",
        "Repair the path (L4S104), and let the sender validate ECN: Not-ECT where feedback does "
        "not account for ECT.",
        **direction_of(row),
        measures=(Measure("ECT packets that arrived as Not-ECT", row["cleared"], "", "0"),),
    )


RULE = Rule.of(__name__, __doc__, check, "The sender keeps ECT that the path erases")
