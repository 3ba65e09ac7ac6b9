"""A host marks IPv6 and not IPv4, or the reverse.

What it checks
--------------
Flows over UDP that one host sends from one port, some over IPv6 and some over IPv4: those of one IP
version carry ECT, and those of the other never did, from their first packet on.

Why it matters
--------------
A program with one socket for both IP versions marks by a socket option or a control message. On
Linux, IPV6_TCLASS does not reach packets to IPv4-mapped addresses, and IP_TOS does not reach those
of IPv6. Half of the peers get no L4S, and nothing reports an error.

Evidence
--------
`directions.sender_host` (one link-layer address, a TTL that no router lowered), `not_ect` of
`packets`; `directions.from_start` and `flows.version`, which show a flow's
beginning; `flows.transport`, `client`, `client_port`, `server` and `server_port`.

When it is wrong
----------------
Two programs may share a port (SO_REUSEPORT, or one for each IP version), of which one sends no ECN.
A program may remember that a peer or network failed validation, and not try again. The path is not
to blame: no router stands between the host and the capture.

What to do
----------
Set both options on a socket for both IP versions, IPV6_TCLASS and IP_TOS, or send each control
message in the version of the destination; or open a socket for each. Receive likewise
(IPV6_RECVTCLASS and IP_RECVTOS).

References
----------
RFC 3542 section 6.5 (IPV6_TCLASS), RFC 9000 section 13.4.2 (every path is validated)
"""

import polars as pl

from l4strace.evidence import Evidence, Row, traffic
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support.tried import FOR_GOOD, MOST_PROBES
from l4strace.wording.quantities import count

OF_FLOW = ("transport", "version", "client", "client_port", "server", "server_port")
SENDER = ("source", "sender_host", "port", "transport")
"""One program, as far as packets show it."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each IP version that a sender leaves unmarked."""
    rows = _senders(evidence)
    marked = pl.col("packets") - pl.col("not_ect")
    families = rows.group_by(*SENDER, "ipv6", maintain_order=True).agg(
        pl.col("flow", "forward", "first_frame", "first_ns", "last_ns").first(),
        flows=pl.len(),
        packets=pl.col("packets").sum(),
        marked=(marked > MOST_PROBES).all(),
        never=(marked == 0).all() & pl.col("started").all(),
    )
    known = families.filter("marked").select(*SENDER, "ipv6", pl.col("flow").alias("beside"))
    pairs = families.filter("never").join(known, on=SENDER, maintain_order="left", suffix="_beside")
    return [_finding(row) for row in pairs.to_dicts()]


def _senders(evidence: Evidence) -> pl.DataFrame:
    """Directions of hosts that are known, which sent enough to decide about ECN."""
    known = traffic(evidence)
    start = pl.col("version").is_not_null() | pl.col("from_start").fill_null(False)
    address = pl.when("forward").then("client").otherwise("server")
    return (
        known.directions.filter(pl.col("sender_host").is_not_null(), pl.col("packets") >= FOR_GOOD)
        .join(known.flows.select("source", "flow", *OF_FLOW), on=["source", "flow"])
        .filter(pl.col("transport").is_in(("quic", "udp-prague")))
        .with_columns(
            ipv6=address.str.contains(":", literal=True),
            port=pl.when("forward").then("client_port").otherwise("server_port"),
            started=start,
        )
    )


def _finding(row: Row) -> Finding:
    bare, other = ("IPv6", "IPv4") if row["ipv6"] else ("IPv4", "IPv6")
    return Finding(
        Severity.WARNING,
        Confidence.MEDIUM,
        f"The sender marks {other} and not {bare}: from port {row['port']} of one host "
        f"{count(row['packets'], 'packet')} of {count(row['flows'], 'flow')} over {bare} left, "
        f"none with ECT, while flow {row['beside']} over {other} carries ECT. The option that "
        f"marks {other} does not reach {bare} on a socket for both.",
        "Set IPV6_TCLASS and IP_TOS on the socket, or send the control message of the "
        "destination's IP version; receive with IPV6_RECVTCLASS and IP_RECVTOS.",
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        frames=(row["first_frame"],),
        measures=(Measure(f"Not-ECT packets over {bare}", row["packets"], "packet", "0"),),
    )


RULE = Rule.of(__name__, __doc__, check, "The sender marks one IP version alone", over_udp=True)
