"""ECN as a sender over UDP tries it out and gives it up, and what became of it on the way."""

from typing import NamedTuple

import polars as pl

from l4strace.derive import one_way
from l4strace.derive.vantage import once
from l4strace.evidence import Evidence, Row, kept, traffic
from l4strace.model import Confidence
from l4strace.schema.words import CODEPOINTS, NOT_ECT

FOR_GOOD = 200
"""Not-ECT packets after which a sender has decided: it knows once its first packets with ECT were
answered, and before that it sends an initial window, of which the largest known has 100 packets.
By eye."""
MOST_PROBES = 64
"""Packets with ECT up to which a sender still tries ECN out. RFC 9000 section 13.4.2 suggests ten;
stacks that mark batches send up to a batch more (neqo: 13; UDP_SEGMENT: 64 at most)."""


VALIDATING = ("quic", "rtp", "udp-prague")
"""Transports whose receiver reports ECN. What runs over plain UDP may be a tunnel, which shows the
codepoints of whatever flow it carries."""


class Tried(NamedTuple):
    """One direction near its sender: the run of ECT after which everything is Not-ECT."""

    row: Row
    """The direction's row of `directions`, with `transport` and the start of the flow
    (`began_ns`): a stretch of time has later first packets."""
    codepoint: int
    packets: int
    """Packets of all runs with ECT."""

    @property
    def direction(self) -> tuple[int, bool]:
        """Number of the flow, and whether its client sends."""
        return self.row["flow"], self.row["forward"]

    @property
    def name(self) -> str:
        """`ECT(1)`."""
        return list(CODEPOINTS.values())[self.codepoint]

    @property
    def probes(self) -> bool:
        """Whether QUIC validated ECN with these packets, and no more."""
        return self.row["transport"] == "quic" and self.packets <= MOST_PROBES

    @property
    def span_ns(self) -> tuple[int, int]:
        """From the decision to the end."""
        return self.row["without_ect_since_ns"], self.row["last_ns"]


@kept
def given_up(evidence: Evidence) -> list[Tried]:
    """Directions over UDP that sent ECT and then Not-ECT for good, seen nearest to the sender."""
    known = traffic(evidence)
    near = once(known, known.directions).filter(
        pl.col("without_ect_since_ns").is_not_null() & (pl.col("without_ect_packets") >= FOR_GOOD)
    )
    transports = known.flows.select("source", "flow", "transport", began_ns="first_ns")
    validating = transports.filter(pl.col("transport").is_in(VALIDATING))
    rows = near.join(validating, on=["source", "flow"]).to_dicts()
    found = (_tried(row) for row in rows)
    return [tried for tried in found if tried is not None]


def reported(evidence: Evidence) -> list[Row]:
    """Directions of UDP Prague, all Not-ECT where seen, whose receiver reports that as an error.

    Rows of `directions` nearest to the sender; `run` is the number of their packets.
    """
    known = traffic(evidence)
    runs = pl.col("first_ecn_runs").list
    near = once(known, known.directions).with_columns(run=runs.get(1, null_on_oob=True))
    erased = (pl.col("ecn_runs") == 1) & (runs.first() == NOT_ECT)
    return near.filter(
        erased, pl.col("l4s_error_ns").is_not_null(), pl.col("run") >= FOR_GOOD
    ).to_dicts()


def _tried(row: Row) -> Tried | None:
    """Null where the codepoint changes more often than runs are kept: no sender probes so."""
    runs = row["first_ecn_runs"]
    if row["ecn_runs"] * 2 > len(runs):
        return None
    ect = [
        (codepoint, packets)
        for codepoint, packets in zip(runs[::2], runs[1::2], strict=True)
        if codepoint != NOT_ECT
    ]
    return Tried(row, ect[0][0], sum(packets for _, packets in ect))


UNCOUNTED = {"unknown": "uncounted", "intact": "unreported"}
"""What acknowledgements without counts add to what became of the packets."""
BECAME = {
    "cleared": ("ect1_to_not_ect", "ect0_to_not_ect"),
    "changed": ("ect1_to_ect0", "ect0_to_ect1"),
    "marked": ("ect1_to_ce", "ect0_to_ce"),
    "intact": ("ect1_to_ect1", "ect0_to_ect0"),
}
"""What may become of a packet with ECT: columns of `paths`."""


def became(evidence: Evidence, tried: Tried) -> str:
    """A key of BECAME, as both ends show the packets with ECT; `marked` if it was every one of
    them. With one capture `reported` where UDP Prague's receiver reported an error, else
    `unknown`. Acknowledgements that keys open add that they count none (see UNCOUNTED)."""
    row = tried.row
    paths = one_way.end_to_end(evidence).filter(flow=row["flow"], forward=row["forward"])
    counts = paths.select(
        pl.sum_horizontal(columns).sum().alias(name) for name, columns in BECAME.items()
    ).row(0, named=True)
    if counts["cleared"] or counts["changed"]:
        return "cleared" if counts["cleared"] >= counts["changed"] else "changed"
    seen = next((name for name in ("intact", "marked") if counts[name]), "unknown")
    if seen == "unknown" and row["l4s_error_ns"] is not None:
        return "reported"
    return UNCOUNTED.get(seen, seen) if _counts_none(row) else seen


def _counts_none(row: Row) -> bool:
    """Whether acknowledgements of QUIC are read, and count no packet with ECT or CE."""
    read = row["transport"] == "quic" and row["reported_packets"]
    return bool(read) and not (
        row["reported_ect0"] or row["reported_ect1"] or row["ce_fed_back_best"]
    )


def confidence(became: str) -> Confidence:
    """High where the packets themselves show what made the sender give up."""
    return Confidence.HIGH if became in ("cleared", "changed") else Confidence.MEDIUM


CAUSES = {
    "cleared": "The path clears ECT (L4S104).",
    "changed": "The path swaps ECT(1) and ECT(0) (L4S105).",
    "marked": "Every packet with ECT arrived as CE.",
    "intact": "ECT arrived as it left: the receiver does not report it, or the sender misreads "
    "the report.",
    "reported": "Its receiver reported a packet that came with neither ECT(1) nor CE: the path "
    "clears or changes ECT, or the receiver's socket misreads it.",
    "unknown": "The path clears or changes ECT, or the receiver does not report it: one capture "
    "does not show which.",
    "unreported": "ECT arrived as it left, and the acknowledgements do not count it: the receiver "
    "does not report ECN.",
    "miscounted": "ECT arrived as it left, and the acknowledgements count something else: the "
    "receiver or the sender counts wrongly.",
    "uncounted": "The acknowledgements do not count ECT: the path clears it, or the receiver does "
    "not report it.",
    "contradicted": "The acknowledgements count something else than was sent: the path changes "
    "the codepoint, or one end counts wrongly.",
    "all_marked": "The acknowledgements count CE for every packet with ECT: a node of the path "
    "sets it.",
    "lost": "Every packet with ECT was lost: the path drops them, or lost all that was sent then.",
}
"""What explains a trial that failed, by what became of its packets (see `became`), and with the
sender's log beside them (see `validation.cause`)."""
CAPTURE_BOTH = "Capture at the other end too: it shows how the packets arrived."
DELIVER = (
    "Check that the receiver's socket delivers the ECN field (IP_RECVTOS, IPV6_RECVTCLASS) and "
    "that its feedback counts it."
)
ACTIONS = {
    "cleared": "Find the node that clears the ECN field (L4S104).",
    "changed": "Find the node that rewrites the ECN field (L4S105).",
    "marked": "Find the node that sets CE on every packet (L4S403).",
    "intact": DELIVER,
    "reported": CAPTURE_BOTH,
    "unknown": CAPTURE_BOTH,
    "unreported": DELIVER,
    "miscounted": "Compare the counts in the logs of both ends with the packets of the captures.",
    "uncounted": CAPTURE_BOTH,
    "contradicted": CAPTURE_BOTH,
    "all_marked": "Find the node that sets CE on every packet (L4S403).",
    "lost": CAPTURE_BOTH,
}
"""What to do about it, by the cause (see `validation.cause`)."""
