"""ECN validation as logs of QUIC senders state it: how it ended, why, and what the packets add."""

from typing import NamedTuple

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence
from l4strace.rules.support import tried

FAILED, CAPABLE = "failed", "capable"
"""Values of `kernel.ecn_state`."""
REASONS = {
    "ACK doesn't contain ECN marks": "uncounted",
    "all ECN testing packets declared lost": "lost",
    "ACK contains more ECN counts than ECN-marked packets sent": "contradicted",
    "ACK contains fewer new ECN counts than acknowledged ECN-marked packets": "contradicted",
    "ACK decreases ECN counts": "contradicted",
    "ECN mangling detected": "all_marked",
}
"""`kernel.ecn_trigger`, in the words of quic-go -> a key of `tried.CAUSES`."""
WITH_ARRIVALS = {"uncounted": "unreported", "contradicted": "miscounted"}
"""What a reason comes to where the packets with ECT arrived as they left."""


class Logged(NamedTuple):
    """How the validation of one direction ended, as the log of its sender states it."""

    source: int
    flow: int
    forward: bool
    state: str
    trigger: str | None
    since_ns: int
    """First sample with the state."""
    last_ns: int

    @property
    def quoted(self) -> str:
        """`Its log: failed ("ACK doesn't contain ECN marks").`"""
        return f"Its log: {self.state}" + (f' ("{self.trigger}").' if self.trigger else ".")


def logged(evidence: Evidence) -> dict[tuple[int, bool], Logged]:
    """By flow and direction, what the QUIC sender's log states at last."""
    logs = evidence.sources.filter(pl.col("kind") == "qlog")["source"]
    needed = ("source", "flow", "forward", "ecn_state", "ecn_trigger", "ts_ns")
    samples = pl.concat([evidence.kernel.select(needed), evidence.udp_kernel.select(needed)])
    known = samples.filter(
        pl.col("source").is_in(logs.implode()),
        pl.all_horizontal(pl.col("flow", "ecn_state").is_not_null()),
    ).sort("ts_ns", maintain_order=True)
    ended = pl.col("ecn_state") == pl.col("ecn_state").last()
    rows = known.group_by("source", "flow", "forward", maintain_order=True).agg(
        pl.col("ecn_state", "ecn_trigger").last(),
        since_ns=pl.col("ts_ns").filter(ended).first(),
        last_ns=pl.col("ts_ns").last(),
    )
    return {(row[1], row[2]): Logged(*row) for row in rows.iter_rows()}


def cause(became: str, log: Logged | None) -> str:
    """A key of `tried.CAUSES`: what the packets show, and else what the log states."""
    reason = REASONS.get(log.trigger or "") if log and log.state == FAILED else None
    if reason is None:
        return became
    if became == "intact":
        return WITH_ARRIVALS.get(reason, became)
    return reason if became == "unknown" else became


def confidence(why: str) -> Confidence:
    """High where packets show what made the sender give up, or packets and log together."""
    both = why in WITH_ARRIVALS.values()
    return Confidence.HIGH if both else tried.confidence(why)
