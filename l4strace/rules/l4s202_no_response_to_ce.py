"""An AccECN sender does not respond to CE marks.

What it checks
--------------
Whether the window of an ECT(1) sender, over the whole trace, is explained by no reduction at all
and not by alpha/2 of what its marks ask for: the log-likelihood of no reduction leads that of every
other law by at least 6 nats, and 0.1 nats per round (table `laws`).

Why it matters
--------------
A sender that ignores marks fills the shallow queue of an L4S AQM. The AQM can then protect other
flows only by dropping.

Evidence
--------
`laws.law`, `half_alpha`, `window_packets` and `samples`; `flows.handshake`; `noise.release_us`.

When it is wrong
----------------
If the sender follows another law than alpha/2 and reduces less. A capture that begins in the middle
of the flow does not show alpha: such flows are left out. So are flows behind a link that releases
packets in bursts (L4S406): what is in flight then follows the link and not the window. Senders over
UDP have other laws and are not judged.

What to do
----------
Check the congestion control of the sender, and that its kernel counts delivered_ce.

References
----------
RFC 9331 section 4.3; RFC 8257 section 3.3
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import datagrams, subjects

CODE = "L4S202"
MIN_PACKETS = 1.0
"""Packets that alpha/2 of the window must amount to: less does not show in what is in flight."""

BURSTY = "a link releases packets in bursts, and what is in flight between them is not the window"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose data in flight does not fall as its marks ask."""
    asked = pl.col("half_alpha") * pl.col("window_packets")
    ignored = subjects.once(evidence, evidence.laws).filter(
        (pl.col("law") == "none") & (asked >= MIN_PACKETS)
    )
    unknown = datagrams.unknown_law(evidence, CODE)
    if ignored.is_empty():
        return [*unknown]
    begun = evidence.flows.filter(pl.col("handshake") != "none").select("source", "flow")
    bursty = subjects.noise(evidence).filter(pl.col("release_us").is_not_null())
    ignored = ignored.join(begun, on=["source", "flow"], how="semi").join(
        bursty.select(*subjects.DIRECTION, "release_us"), on=subjects.DIRECTION, how="left"
    )
    judged = [
        _finding(row) if row["release_us"] is None else Skipped(CODE, BURSTY, row["flow"])
        for row in ignored.iter_rows(named=True)
    ]
    return [*judged, *unknown]


def _finding(row: dict[str, Any]) -> Finding:
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.MEDIUM,
        f"The sender did not respond to CE: in {row['samples']:,} rounds the marks asked for a "
        f"reduction of {100 * row['half_alpha']:.0f} % (median of alpha/2), but the data in flight "
        "went on as without marks.",
        "Check the sender's congestion control and that its kernel counts delivered_ce.",
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("expected reduction (alpha/2)", row["half_alpha"], "share"),
            Measure("median window", row["window_packets"], "packet"),
        ),
    )


RULE = Rule(
    CODE,
    "no-response-to-ce",
    "An AccECN sender ignores CE.",
    check,
    __doc__,
    ("The sender does not respond to CE",),
)
