"""ECN was negotiated, but the data is Not-ECT.

What it checks
--------------
Flow directions with AccECN or classic ECN whose data is Not-ECT in every capture of the run. Left
out is a client that asked for AccECN and got classic ECN: L4S101 explains it.

Why it matters
--------------
A bottleneck drops Not-ECT packets where it would mark ECT packets, and an L4S AQM treats them as
classic traffic. A sender that negotiates ECN normally wants marks. Home routers and providers that
clear the field are the usual cause where a client negotiates classic ECN.

Evidence
--------
`flows.mode`, `syn_ace` and `vantage`; `directions.data_not_ect`, `data_packets`, `data_ect1`,
`data_ect0` and `data_ce`.

When it is wrong
----------------
A host may negotiate ECN although its congestion control does not use ECN. A sender that finds
ECN mangled on the path correctly stops using ECT (RFC 9768 sections 3.2.2.3 and 3.2.2.4).

What to do
----------
Capture at the sender. If the packets leave as ECT, the path bleaches them (L4S104). If they do not,
check whether the handshake shows mangling that made the sender stop.

References
----------
RFC 9768 sections 3.2.2.3 and 3.2.2.4, RFC 9331 section 4.1, RFC 3168 section 6.1.1
"""

import polars as pl

from l4strace.derive.vantage import first
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.schema.words import ACCECN_REQUEST
from l4strace.wording.vantages import of_direction

MIN_DATA_PACKETS = 50
"""Data packets that make it a decision of the sender or the path: five initial windows (RFC 6928),
as the first packets may be probes. By eye."""

NEGOTIATED = {"accecn": "AccECN", "classic": "classic ECN"}


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction without ECT or CE on data in any capture."""
    plain = evidence.directions.filter(
        (pl.col("data_packets") >= MIN_DATA_PACKETS)
        & (pl.col("data_not_ect") == pl.col("data_packets"))
    )
    if plain.is_empty():
        return []
    negotiated = evidence.flows.filter(pl.col("mode").is_in(list(NEGOTIATED)))
    flows = negotiated.select("source", "flow", "vantage", "mode", "syn_ace")
    # Prague without AccECN sends Not-ECT.
    explained = (
        pl.col("forward") & (pl.col("mode") == "classic") & (pl.col("syn_ace") == ACCECN_REQUEST)
    )
    ect = evidence.directions.filter(
        pl.col("data_ect1") + pl.col("data_ect0") + pl.col("data_ce") > 0
    )
    # That capture may have missed the handshake.
    rows = (
        plain.join(flows, on=["source", "flow"])
        .filter(~explained.fill_null(False))
        .join(ect, on=["flow", "forward"], how="anti")
        .pipe(lambda rows: first(evidence, rows))
    )
    return [_finding(row) for row in rows.iter_rows(named=True)]


def _finding(row: Row) -> Finding:
    at_sender = of_direction(row, row["forward"]) == "sender"
    unused = at_sender and row["mode"] == "classic"
    where = "leaves its sender" if at_sender else "passes this capture"
    return Finding(
        Severity.NOTICE if unused else Severity.WARNING,
        Confidence.HIGH if at_sender else Confidence.MEDIUM,
        f"All data {where} as Not-ECT although {NEGOTIATED[row['mode']]} was negotiated"
        + ("." if at_sender else ": an earlier node bleached it, or the sender never set ECT."),
        "Capture at the sender. If the data leaves it as ECT, the path bleaches ECN.",
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("data packets with Not-ECT", row["data_not_ect"], "", "0"),
            Measure("data packets", row["data_packets"]),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "ECN was negotiated, but the data is Not-ECT")
