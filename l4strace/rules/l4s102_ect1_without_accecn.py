"""ECT(1) without accurate feedback.

What it checks
--------------
Flow directions with ECT(1) data, at the capture nearest to their sender, whose handshake negotiated
classic ECN or no ECN.

Why it matters
--------------
ECT(1) requests L4S treatment, which only a sender with accurate feedback may do (RFC 9331 section
4.2). Classic ECN feeds back at most one mark per round trip, so the sender cannot determine how
much was marked and takes more than its share of the L4S queue.

Evidence
--------
`flows.mode`, `handshake` and `vantage`; `directions.data_ect1` and `data_packets`.

When it is wrong
----------------
Behind a node that re-marks ECT(0) to ECT(1), a capture looks the same: without one at the sender
the finding has medium confidence. ECT(1) was also used by the ECN nonce, which RFC 8311 made
historic.

What to do
----------
Update the sender: trees before 2023 keep Prague running when only classic ECN (RFC 3168) was
negotiated. Until then use another congestion control towards such servers.

References
----------
RFC 9331 section 4.2, https://github.com/L4STeam/linux/issues/10
"""

import polars as pl

from l4strace.derive.vantage import at_sender, first, once
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.schema.keys import DIRECTION, KEY

MAX_STRAY_PACKETS = 3
"""Packets that a reordered handshake or a single probe explains. By eye."""

UNCOUNTED = ("classic", "none")
"""Modes without feedback that counts marks."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction: farther away, the path may have re-marked it."""
    if not evidence.flows["mode"].is_in(UNCOUNTED).any():
        return []
    modes = evidence.directions.select(KEY).join(_known(evidence), on=["source", "flow"])
    refused = first(evidence, modes).filter(pl.col("mode").is_in(UNCOUNTED))
    places = evidence.flows.select("source", "flow", "vantage")
    found = (
        once(evidence, evidence.directions)
        .filter(pl.col("data_ect1") > MAX_STRAY_PACKETS)
        .join(refused.drop("source"), on=DIRECTION)
        .join(places, on=["source", "flow"])
        .with_columns(near=at_sender())
        .sort(DIRECTION)
    )
    return [_finding(row) for row in found.iter_rows(named=True)]


def _known(evidence: Evidence) -> pl.DataFrame:
    """What each capture shows of the handshake: the one at the sender may have begun later."""
    known = evidence.flows.filter(pl.col("mode") != "unknown")
    return known.select("source", "flow", "mode", full=pl.col("handshake") == "full")


def _finding(row: Row) -> Finding:
    settled = "classic ECN" if row["mode"] == "classic" else "no ECN"
    what = f"{row['data_ect1']:,} data packets"
    if row["near"]:
        message = (
            f"{what} carry ECT(1) although the handshake negotiated {settled}: they request L4S "
            "treatment without the AccECN feedback that L4S needs."
        )
        action = (
            "Update the sender's kernel, or use another congestion control towards this server."
        )
    else:
        message = (
            f"{what} pass this capture as ECT(1) although the handshake negotiated {settled}: the "
            "sender requests L4S treatment without AccECN feedback, or the path re-marks ECT(0)."
        )
        action = (
            "Capture at the sender. If the data leaves it as ECT(1), update its kernel; else find "
            "the node that re-marks it."
        )
    return Finding(
        Severity.ERROR,
        Confidence.HIGH if row["near"] and row["full"] else Confidence.MEDIUM,
        message,
        action,
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("data packets with ECT(1)", row["data_ect1"], "", "0"),
            Measure("data packets", row["data_packets"]),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "Data is ECT(1), but AccECN was not negotiated")
