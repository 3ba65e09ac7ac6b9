"""What limits each flow.

What it checks
--------------
Which kind of queue the packets of a flow went through: an L4S AQM, a classic AQM on one queue, a
shallow step on one queue, a queue per flow, a FIFO, or none. A classic AQM on one queue and one on
a queue per flow mark a lone flow alike (fq_codel runs CoDel in each queue): where no other flow
shows which it is, the finding names both. For the fallback they are the same.

The first of these rows whose signs all hold decides, with the confidence in parentheses. A sign
that the packets do not show counts neither for a kind nor against it.

{kinds}

Why it matters
--------------
Every other verdict depends on it: whether a fallback is right, whether a missing mark is a fault,
whether a delay is expected.

Evidence
--------
`bottlenecks.kind`, `confidence` and `reason`: the queue delay at which marking begins
(`marking_delay_us`), losses, and whether the other flows of the path share delay and marks. Flows
that always have packets waiting get equal rates from a queue per flow whatever their RTTs, and
equal RTTs from one queue whatever their rates. The handshakes of connections that are too short to
be compared show whether they waited in the queue of a long flow. The time of a packet
(`serialisation_us`) and noise (`noise_us`) bound how precise that delay and the median
(`queue_delay_us`; `paths.owd_median_us` between two captures) are. The share of marks is that of
`directions.ce_fed_back_best` or `ce_segments`, of `data_segments`; a path with `phases.changed`
capacity has no one rate, and one without `phases.capacity_shown` only a bound. What cannot be
determined is worded for the direction with most `directions.payload_bytes`. The signs that decided
are the measures: `signs.sign`, `value` or `words`, `bound`, `threshold` and `unit`. No kernel state
is used. Of a flow over UDP whose feedback is encrypted captures of both ends show marks and their
one-way delay: marks that begin early name the kind, later ones may be those of jitter.

When it is wrong
----------------
Load that is balanced over several links looks like a queue per flow. A single kind is given for the
whole run, even if the bottleneck moved.

What to do
----------
Nothing: this is information. Record a competing flow to make the kind certain.

References
----------
RFC 9332; RFC 8289; sch_dualpi2.c
"""

from collections.abc import Iterator

import polars as pl

from l4strace.bottleneck import kinds
from l4strace.derive import marked, neighbors, one_way
from l4strace.evidence import Evidence, Row
from l4strace.fallback.place import confidence
from l4strace.model import Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import clocks, datagrams, paths, subjects
from l4strace.schema.words import BOTTLENECKS
from l4strace.wording.measures import OF_ROUNDS, ONE_WAY
from l4strace.wording.quantities import marking_delay, quantity

LIMITS = {
    kind: f"{label[0].upper()}{label[1:]} at the bottleneck"
    for kind, label in BOTTLENECKS.items()
    if kind not in ("none", "unknown")
} | {"none": "No bottleneck on this path"}
"""Headline of each kind."""

NO_DATA = "no flow direction has enough data, seen near its sender"
"""Why nothing is known of any bottleneck."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose bottleneck can be determined."""
    judged = subjects.once(evidence, evidence.bottlenecks)
    known = judged.filter(pl.col("kind") != "unknown")
    found = _findings(evidence, known) if known.height else []
    results: list[Finding | Skipped] = [*found]
    unknown = judged.filter(pl.col("kind") == "unknown")
    if unknown.height:
        # As the frame does: what the flow with most bytes met comes first.
        carried = evidence.directions.select(*subjects.KEY, "payload_bytes")
        largest = (
            unknown.select(*subjects.KEY, "reason")
            .join(carried, on=subjects.KEY, how="left")
            .sort("payload_bytes", "flow", descending=[True, False], nulls_last=True)
        )
        why = largest["reason"][0] or ""
        which = "; the largest" if unknown.height > 1 else ""
        of = f"{unknown.height} of {judged.height} flow directions{which}"
        results.append(Skipped(f"{of}: {why}"))
    elif judged.is_empty():
        results += datagrams.lacking(datagrams.flows(evidence), NO_DATA)
    return clocks.measurable(evidence, results)


def _findings(evidence: Evidence, known: pl.DataFrame) -> list[Finding]:
    """One for each row of ``known``."""
    delays = one_way.end_to_end(evidence).select(*subjects.DIRECTION, "owd_median_us")
    for more, key in (
        (delays.unique(subjects.DIRECTION, keep="first"), subjects.DIRECTION),
        (_marked(evidence, known), subjects.DIRECTION),
        (paths.filled(evidence), subjects.KEY),
        (_changing(evidence), subjects.KEY),
    ):
        known = known.join(more, on=key, how="left", maintain_order="left")
    compared = evidence.signs.filter(pl.col("value").is_not_null() & (pl.col("unit") != ""))
    signs = compared.rows_by_key(subjects.KEY, named=True, include_key=True)
    return [
        _finding(row, signs[row["source"], row["flow"], row["forward"]])
        for row in known.iter_rows(named=True)
    ]


def _sign(sign: Row) -> Measure:
    value = sign["value"] if sign["words"] is None else sign["words"]
    expected = f"{sign['bound']} {quantity(sign['threshold'], sign['unit'])}"
    return Measure(sign["sign"], value, sign["unit"], expected)


def _marked(evidence: Evidence, known: pl.DataFrame) -> pl.DataFrame:
    """Share of CE by direction, where it was counted: classic feedback shows no number."""
    fed_back = pl.col("ce_fed_back_best").is_not_null()
    return (
        evidence.directions.filter(pl.col("flow").is_in(known["flow"].implode()))
        .group_by(subjects.DIRECTION)
        .agg(marked.share().max().alias("marked_share"), fed_back.any().alias("fed_back"))
        .filter(pl.col("fed_back") | (pl.col("marked_share") > 0))
        .select(*subjects.DIRECTION, "marked_share")
    )


def _changing(evidence: Evidence) -> pl.DataFrame:
    """Directions over a path whose capacity changed: none has one rate."""
    changed = evidence.phases.filter(pl.col("changed") == "capacity").unique(["source", "path"])
    on = neighbors.directions(evidence).join(changed, on=["source", "path"], how="semi")
    return on.select(*subjects.KEY, changing=pl.lit(value=True))


def _finding(row: Row, signs: list[Row]) -> Finding:
    headline = LIMITS[row["kind"]]
    return Finding(
        Severity.INFO,
        confidence(row["confidence"]),
        f"{headline}. {row['reason']}",
        **direction_of(row),
        headline=headline,
        variant=row["kind"],
        measures=(*map(_sign, signs), *_measures(row, [sign["value"] for sign in signs])),
    )


def _measures(row: Row, shown: list[float]) -> Iterator[Measure]:
    """What the signs do not state: queue delay, marks and the rate of the path."""
    one_way = row["owd_median_us"] is not None
    queue = row["owd_median_us"] if one_way else row["queue_delay_us"]
    # Less than the noise of the path is no queue that these packets show.
    if queue is not None and queue >= (row["noise_us"] or 0.0):
        yield Measure(ONE_WAY if one_way else OF_ROUNDS, queue, "us")
    if row["marking_delay_us"] is not None:
        if row["marking_delay_us"] not in shown:
            yield Measure("queue delay at which marking begins", marking_delay(row))
        if row["marked_share"] is not None:
            yield Measure("marked share", row["marked_share"], "share")
    if row["rate_bps"] and not row["changing"]:
        # A path that is never full shows its rate only by packet trains.
        most = ", at most" if row["filled"] is False else ""
        yield Measure(f"rate of the path, payload{most}", row["rate_bps"], "bit/s")


DOC = (__doc__ or "").format(kinds=kinds.listed())

RULE = Rule.of(__name__, DOC, check, *LIMITS.values())
