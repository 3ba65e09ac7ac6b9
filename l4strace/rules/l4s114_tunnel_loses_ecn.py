"""A tunnel loses or hides ECN.

What it checks
--------------
With a capture within a tunnel: packets whose outer header carries CE and whose inner header carries
ECT, against the CE marks that the receiver reports; and packets whose outer header is Not-ECT
although the inner one is ECT.

Why it matters
--------------
Where a tunnel ends, CE of the outer header has to reach the inner one. A node that drops the outer
header alone drops the mark: the sender does not slow down and keeps the queue full. An outer header
with Not-ECT makes an L4S AQM treat the packet as classic traffic, and drop it where it would have
marked it.

Evidence
--------
`directions.outer_ce` and `ce` against `ce_fed_back_hi` (under classic ECN: against `ece_acks`);
`directions.outer_not_ect` of `packets`; `flows.mode` and `flows.tunnel`.

When it is wrong
----------------
Marked packets that are lost behind the capture are not reported either. A tunnel that starts in
compatibility mode sends Not-ECT on purpose (RFC 6040 section 4.1), because its other end is old.

What to do
----------
Set the tunnel's ends to RFC 6040 normal mode. Linux does so for its own tunnels; look for gateways
in hardware or in user space (VPN daemons), and update them.

References
----------
RFC 6040 section 4, RFC 9599, RFC 9331 section 6.2
"""

import polars as pl

from l4strace.evidence import Evidence, Row, traffic
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of

MIN_TUNNEL_MARKS = 10
"""Marks of the tunnel that make a case. By eye: a single one may be lost with its packet."""
LOST = 0.9
"""Share of the marks that are reported at most where the tunnel loses some: packets lost behind the
capture are fewer. By eye."""
CLEARLY_LOST_SHARE = 0.5
"""Share of the marks below which no loss of packets is the explanation. By eye."""
HIDDEN = 0.01
"""Share of packets with a hidden ECT from which it is no single fault. By eye."""

HIDES = "A tunnel hides ECN from its queues"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each tunnelled flow direction and kind of fault."""
    known = traffic(evidence)
    flows = known.flows.select("source", "flow", "mode", "tunnel")
    tunnelled = known.directions.filter(
        (pl.col("outer_ce") >= MIN_TUNNEL_MARKS)
        | (pl.col("outer_not_ect") > HIDDEN * pl.col("packets"))
    ).join(flows, on=["source", "flow"], how="left")
    found: list[Finding | Skipped] = []
    for row in tunnelled.iter_rows(named=True):
        if row["outer_ce"] >= MIN_TUNNEL_MARKS:
            found += _marks_lost(row)
        if row["outer_not_ect"] > HIDDEN * row["packets"]:
            found.append(_hidden(row))
    return found


def _marks_lost(row: Row) -> list[Finding | Skipped]:
    marks = row["outer_ce"] + row["ce"]
    counted = row["mode"] in ("accecn", None)  # over UDP there is no mode, and reports count CE
    reported = row["ce_fed_back_hi"] if counted else _classic(row)
    if reported is None:
        return [Skipped("no feedback shows whether the tunnel's marks arrived", row["flow"])]
    if reported > LOST * marks:
        return []
    return [
        Finding(
            Severity.ERROR,
            Confidence.HIGH if reported <= CLEARLY_LOST_SHARE * marks else Confidence.MEDIUM,
            f"The end of the {_tunnel(row)} loses congestion marks: {marks:,} packets carry CE, "
            f"{row['outer_ce']:,} of them in the outer header only, and the receiver reports at "
            f"most {reported:,}.",
            "Set the end of the tunnel to RFC 6040, which copies CE to the inner header.",
            **direction_of(row),
            measures=(
                Measure("CE in the outer header", row["outer_ce"]),
                Measure("CE reported by the receiver", reported, "", f"{marks:,}"),
            ),
        )
    ]


def _classic(row: Row) -> int | None:
    """Marks that classic ECN can show: none, or an unknown number (all of them, then)."""
    if row["mode"] != "classic" or row["ece_acks"] is None:
        return None
    return 0 if row["ece_acks"] == 0 else int(row["outer_ce"] + row["ce"])


def _hidden(row: Row) -> Finding:
    return Finding(
        Severity.WARNING,
        Confidence.HIGH,
        f"The {_tunnel(row)} hides that packets are ECN-capable: {row['outer_not_ect']:,} of "
        f"{row['packets']:,} packets have Not-ECT in the outer header. Queues within the tunnel "
        "drop them where they would mark.",
        "Set the start of the tunnel to RFC 6040 normal mode, which copies the ECN field outwards.",
        **direction_of(row),
        headline=HIDES,
        measures=(Measure("packets with a hidden ECT", row["outer_not_ect"], "", "0"),),
    )


def _tunnel(row: Row) -> str:
    names = {"gre": "GRE", "vxlan": "VXLAN", "geneve": "Geneve", "ipip": "IP-in-IP", "gtp": "GTP-U"}
    return f"{names[row['tunnel']]} tunnel" if row["tunnel"] in names else "tunnel"


RULE = Rule.of(__name__, __doc__, check, "A tunnel loses congestion marks", HIDES)
