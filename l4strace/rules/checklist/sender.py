"""One L4S sender with the rows that its checklist looks at."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from l4strace.evidence import Evidence, Row, traffic
from l4strace.model import Finding
from l4strace.rules.support import subjects
from l4strace.rules.support.tried import VALIDATING
from l4strace.schema.words import ECT1
from l4strace.wording.vantages import of_direction

Answer = tuple[str, str]
"""Verdict and evidence."""
PASS, FAIL, NOT_SHOWN = "pass", "fail", "not shown"
MIN_PACKETS = 100
"""Data packets from which a direction is a sender to check: below, nothing is shown. By eye."""
MAX_SENDERS = 6
"""Senders that get a checklist, those that sent most."""


@dataclass(frozen=True)
class Sender:
    """The sender of one flow direction; ``row`` is its row of `directions` nearest to it."""

    evidence: Evidence
    findings: tuple[Finding, ...]
    row: Row

    @property
    def flow(self) -> int:
        """Number of the sender's conversation."""
        return int(self.row["flow"])

    @property
    def forward(self) -> bool:
        """Direction in which the sender sends."""
        return bool(self.row["forward"])

    @cached_property
    def handshake(self) -> Row:
        """Row of `flows` of the sender's conversation, in the same capture."""
        here = (pl.col("source") == self.row["source"]) & (pl.col("flow") == self.flow)
        return traffic(self.evidence).flows.filter(here).row(0, named=True)

    @cached_property
    def there(self) -> bool:
        """The capture stood at the sender: packets are as they left."""
        return of_direction(self.handshake, self.forward) == "sender"

    @property
    def over_udp(self) -> bool:
        """The transport is not TCP, whose laws (`laws`) are not compared with others."""
        return self.handshake["transport"] not in (None, "tcp")

    @cached_property
    def law(self) -> Row | None:
        """Row of `laws` of the sender's direction."""
        return self.of(self.evidence.laws)

    @cached_property
    def bottleneck(self) -> Row | None:
        """Row of `bottlenecks` of the sender's direction."""
        return self.of(self.evidence.bottlenecks)

    @cached_property
    def noise(self) -> Row | None:
        """Row of `noise` of the sender's direction."""
        return self.of(self.evidence.noise)

    @cached_property
    def kernel(self) -> pl.DataFrame:
        """Kernel samples of the sender's socket, from any log."""
        kernel = self.evidence.kernel
        own = (pl.col("flow") == self.flow) & (pl.col("forward") == self.forward)
        return kernel if kernel.is_empty() else kernel.filter(own)

    def found(self, *rules: str) -> Finding | None:
        """The first finding of one of ``rules`` about this direction."""
        return next(
            (
                finding
                for finding in self.findings
                if finding.rule in rules and finding.forward in (None, self.forward)
            ),
            None,
        )

    def of(self, table: pl.DataFrame) -> Row | None:
        """The row of ``table`` about the sender's direction."""
        rows = table.filter(*(pl.col(key) == self.row[key] for key in subjects.KEY))
        return rows.row(0, named=True) if rows.height else None


def senders(evidence: Evidence, findings: Sequence[Finding]) -> Iterator[Sender]:
    """Directions with ECT(1) data, or whose handshake promised it, the ones that sent most."""
    meant = evidence.flows.filter(pl.col("mode") == "accecn").filter(pl.col("syn_ecn") == ECT1)
    promised = meant.select("flow").unique().with_columns(forward=True)
    enough = pl.col("data_packets") >= MIN_PACKETS
    near = subjects.once(evidence, evidence.directions).filter(enough)
    scalable = near.join(subjects.scalable(evidence), on=subjects.KEY, how="semi")
    intended = near.join(promised, on=subjects.DIRECTION, how="semi")
    hidden = _over_udp(evidence).filter(enough)
    chosen = pl.concat([scalable, intended, hidden]).unique(subjects.KEY, maintain_order=True)
    ranked = chosen.sort("payload_bytes", "flow", "forward", descending=[True, False, True])
    for row in ranked.head(MAX_SENDERS).iter_rows(named=True):
        own = tuple(finding for finding in findings if finding.flow == row["flow"])
        yield Sender(evidence, own, row)


def _over_udp(evidence: Evidence) -> pl.DataFrame:
    """Rows of directions with ECT(1) whose feedback is not read, of each flow the larger one.

    A tunnel shows the codepoints of whatever it carries.
    """
    if evidence.udp_directions.is_empty():
        return evidence.udp_directions
    validating = evidence.udp_flows.filter(pl.col("transport").is_in(VALIDATING))
    unread = validating.join(evidence.flows, on="flow", how="anti")
    sent = evidence.udp_directions.join(unread, on=["source", "flow"], how="semi")
    larger = subjects.once(evidence, sent).sort("payload_bytes", descending=True, nulls_last=True)
    first = larger.unique("flow", keep="first", maintain_order=True)
    return first.join(subjects.scalable(traffic(evidence)), on=subjects.KEY, how="semi")
