"""ECT(1) without accurate feedback.

What it checks
--------------
Flow directions with ECT(1) data, at the capture nearest to their sender, whose handshake negotiated
classic ECN or no ECN. Over UDP: directions that send ECT(1) to the last, although feedback reports
at least 200 of their packets as arrived and none of them with ECT or CE. Packets show this feedback
for RTP, UDP Prague's block acks and QUIC whose keys are given; else the qlog of the sender does.

Why it matters
--------------
ECT(1) requests L4S treatment, which only a sender with accurate feedback may do (RFC 9331 section
4.2). Classic ECN feeds back at most one mark per round trip, so the sender cannot determine how
much was marked and takes more than its share of the L4S queue.

Evidence
--------
`flows.mode`, `handshake`, `vantage` and `transport`; `directions.data_ect1` and `data_packets`;
over UDP `directions.ect1`, `without_ect_since_ns`, `reported_packets`, `reported_ect1`,
`reported_ect0` and `ce_fed_back_best`; of a qlog (`sources.kind`) `kernel.delivered`,
`delivered_ect1`, `delivered_ect0`, `delivered_ce` and `alpha`; `paths.ect1_to_ect1` and
`ect1_to_not_ect`.

When it is wrong
----------------
Behind a node that re-marks ECT(0) to ECT(1), a capture looks the same: without one at the sender
the finding has medium confidence. ECT(1) was also used by the ECN nonce, which RFC 8311 made
historic. Over UDP the sender is at fault in any case, but the path may be why no feedback counts
ECT: where both ends show that it clears the field, this is L4S116. Some qlogs leave counts out.

What to do
----------
Update the sender: trees before 2023 keep Prague running when only classic ECN (RFC 3168) was
negotiated. Until then use another congestion control towards such servers. Over UDP let the
sender validate ECN, and find out which of path and receiver hides it: capture at both ends.

References
----------
RFC 9331 section 4.2, RFC 9000 section 13.4.2, https://github.com/L4STeam/linux/issues/10
"""

import polars as pl

from l4strace.derive.senders import sender_logs
from l4strace.derive.vantage import at_sender, first, once
from l4strace.evidence import Evidence, Row, traffic
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import datagrams
from l4strace.rules.support.tried import ACTIONS, FOR_GOOD, VALIDATING
from l4strace.schema.keys import DIRECTION, KEY

MAX_STRAY_PACKETS = 3
"""Packets that a reordered handshake or a single probe explains. By eye."""

UNCOUNTED = ("classic", "none")
"""Modes without feedback that counts marks."""


UNCOUNTED_HEADLINE = "Data is ECT(1), but its feedback counts no ECN"
WHY = {
    True: "ECT(1) arrives as it left: the receiver does not report ECN.",
    False: "The path clears ECT, or the receiver does not report it.",
}
"""Why feedback counts nothing, by whether both ends show that ECT(1) arrives."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction: farther away, the path may have re-marked it."""
    return [*_over_tcp(evidence), *_over_udp(evidence)]


def _over_tcp(evidence: Evidence) -> list[Finding]:
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


def _over_udp(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose feedback shows neither ECT nor marks.

    Where the path is known to clear the field, L4S116 says so.
    """
    hidden = datagrams.ect1(evidence)
    if hidden.is_empty():
        return []
    known, logged = traffic(evidence), _logged(evidence)
    places = known.flows.filter(pl.col("transport").is_in(VALIDATING))
    cleared, arrived = pl.col("ect1_to_not_ect"), pl.col("ect1_to_ect1")
    found = (
        once(known, known.directions)
        .filter(pl.col("ect1") >= FOR_GOOD, pl.col("without_ect_since_ns").is_null())
        .join(places.select("source", "flow", "transport"), on=["source", "flow"])
        .join(logged, on=DIRECTION, how="left")
        .join(evidence.paths.filter(cleared > arrived), on=DIRECTION, how="anti")
        .with_columns(
            intact=pl.struct(DIRECTION).is_in(_directions(evidence.paths.filter(arrived > 0))),
            by_log=pl.col("reported_packets").fill_null(0) == 0,
            acked=_acked(),
        )
        .filter(pl.col("acked") >= FOR_GOOD)
        .sort(DIRECTION)
    )
    unlogged = hidden.join(logged, on=DIRECTION, how="anti")
    return [
        *(_unheard(row) for row in found.iter_rows(named=True)),
        *datagrams.unread(unlogged),
    ]


def _acked() -> pl.Expr:
    """Packets of which feedback reports neither ECT nor CE; null where it reports some."""
    # Acknowledgements of QUIC may lack counts; UDP Prague's of single packets have CE alone.
    uncounted = pl.when(transport="quic").then(0)
    ect = [pl.coalesce(name, uncounted) for name in ("reported_ect0", "reported_ect1")]
    none = pl.sum_horizontal(*ect, "ce_fed_back_best", ignore_nulls=False) == 0
    read = pl.col("reported_packets").fill_null(0) > 0
    return pl.when(read & none).then("reported_packets").when(~read).then("uncounted")


def _logged(evidence: Evidence) -> pl.DataFrame:
    """By direction, `uncounted`: packets that a qlog has as acknowledged if it counts none."""
    qlogs = evidence.sources.filter(kind="qlog").select("source")
    rows = sender_logs.summary(evidence).join(qlogs, on="source")
    counts = (pl.col(f"delivered_{name}").fill_null(0) for name in ("ect1", "ect0", "ce"))
    # A sender that states alpha has counts, although its log may leave them out.
    none = (pl.sum_horizontal(counts) == 0) & pl.col("alpha").is_null()
    return rows.select(*DIRECTION, uncounted=pl.when(none).then("delivered")).unique(DIRECTION)


def _directions(rows: pl.DataFrame) -> pl.Series:
    return rows.select(pl.struct(DIRECTION)).to_series().implode()


def _unheard(row: Row) -> Finding:
    what = "sender's log" if row["by_log"] else "feedback"
    return Finding(
        Severity.WARNING,
        Confidence.MEDIUM if row["by_log"] else Confidence.HIGH,
        f"{row['ect1']:,} packets carry ECT(1), up to the last, but the {what} has "
        f"{row['acked']:,} as acknowledged and counts none with ECT or CE: they request L4S "
        f"treatment without the feedback that L4S needs. {WHY[row['intact']]}",
        ACTIONS["intact" if row["intact"] else "unknown"],
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("packets with ECT(1)", row["ect1"]),
            Measure("packets that feedback counts with ECT or CE", 0, "", f"{row['acked']:,}"),
        ),
        headline=UNCOUNTED_HEADLINE,
    )


RULE = Rule.of(
    __name__, __doc__, check, "Data is ECT(1), but AccECN was not negotiated", UNCOUNTED_HEADLINE
)
