"""Paths as rules judge them: each once, as the capture nearest to its senders shows it."""

import polars as pl

from l4strace.derive import neighbors, vantage
from l4strace.derive import phases as derived
from l4strace.evidence import Evidence, Row, kept, over_udp
from l4strace.schema.keys import KEY, PATH
from l4strace.wording.quantities import quantity

BURST = 1 / 8
"""Part by which a token bucket makes trains of eight packets (track/sending/train.rs) too fast,
where nothing but trains shows the capacity: while the link is not full, it lets one packet pass at
once. Lab runs below capacity: 0.12 to 0.14; s1501-063 and s1501-032: 46.3 of 39.9 and 55.8 of 48.8
Mbit/s."""

Phase = Row


def largest(evidence: Evidence) -> pl.DataFrame:
    """The direction that carried most data of each path, seen nearest to its sender."""
    known = neighbors.directions(evidence).select(*KEY, "path", "data_packets")
    near = vantage.once(evidence, known)
    ranked = near.sort("data_packets", descending=True, nulls_last=True, maintain_order=True)
    return ranked.unique("path", keep="first", maintain_order=True).select(*KEY, "path")


@kept
def phases(evidence: Evidence) -> list[list[Phase]]:
    """The phases of each path in order of time, with the `flow` and `forward` that stand for it.

    Each has what flows over UDP leave unsure: `beside_bps` and `sure` of `derive.phases.beside`.
    One answer for all callers: to be read only.
    """
    rows = (
        evidence.phases.join(largest(evidence), on=PATH, how="inner")
        .join(derived.beside(evidence), on=[*PATH, "phase"], how="left", maintain_order="left")
        .with_columns(pl.col("beside_bps").fill_null(0.0), pl.col("sure").fill_null(True))
    )
    groups = rows.sort("path", "phase").partition_by(PATH, maintain_order=True)
    return [group.to_dicts() for group in groups]


@kept
def queued(evidence: Evidence) -> list[list[Phase]]:
    """The phases of each path whose limit is a link: what a policer drops shows no capacity."""
    limits = evidence.bottlenecks.filter(pl.col("kind") == "policed")
    known = neighbors.directions(evidence).select(*KEY, "path").join(limits, on=KEY, how="semi")
    policed = set(known.select(PATH).iter_rows())
    return [of for of in phases(evidence) if (of[0]["source"], of[0]["path"]) not in policed]


@kept
def filled(evidence: Evidence) -> pl.DataFrame:
    """One row a direction, with `filled`: whether its path was ever full."""
    shown = evidence.phases.group_by(PATH).agg(filled=pl.col("capacity_shown").any())
    known = neighbors.directions(evidence).select(*KEY, "path")
    return known.join(shown, on=PATH).drop("path")


def capacity_bps(phase: Phase) -> float:
    """The capacity, or what is sure to be less."""
    return float(phase["capacity_bps"]) * (1.0 if phase["capacity_shown"] else 1 - BURST)


def capacity(phase: Phase) -> str:
    """`47.8 Mbit/s`, `at least 3.43 Mbit/s`."""
    return f"{'' if phase['capacity_shown'] else 'at least '}{rate(capacity_bps(phase))}"


def fallen(phase: Phase) -> str:
    """`4.83 Mbit/s`, `about 2.55 Mbit/s`: a bound from below would show no fall."""
    return f"{'' if phase['capacity_shown'] else 'about '}{rate(phase['capacity_bps'])}"


def rate(bps: float) -> str:
    """`47.8 Mbit/s`."""
    return quantity(bps, "bit/s")


def rates(least: float, most: float) -> str:
    """`28.2 to 32.2 Mbit/s`; the unit is named once."""
    low, high = rate(least), rate(most)
    return f"{low.removesuffix(high.split()[-1]).rstrip()} to {high}"


def changed(evidence: Evidence, packets: pl.Expr) -> pl.Expr:
    """Whether the path changed so many packets.

    A packet of TCP may be paired with the retransmission of the one that was lost, which a classic
    sender sends as Not-ECT (RFC 3168 section 6.1.5) and with other flags: as many as were lost
    prove nothing. Over UDP no packet is sent again.
    """
    datagrams = pl.col("flow").is_in(over_udp(evidence)["flow"].implode())
    return packets > pl.when(datagrams).then(0).otherwise(pl.col("lost").fill_null(0))
