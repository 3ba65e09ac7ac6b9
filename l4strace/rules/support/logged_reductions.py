"""Reductions in the logs of ECT(1) senders over UDP: by alpha/2, or as those of classic ones."""

import polars as pl

from l4strace.derive import neighbors, vantage
from l4strace.derive.senders import logged
from l4strace.derive.senders.laws import MIN_LAW_ROUNDS
from l4strace.evidence import Evidence, Row, kept, traffic
from l4strace.model import Confidence, Finding, Measure, Severity, direction_of
from l4strace.prague.constants import CUT_FLOOR
from l4strace.schema.keys import DIRECTION, KEY
from l4strace.wording.quantities import share

VARIANT = "classic-sender"


def findings(evidence: Evidence, headline: str) -> list[Finding]:
    """One for each logged direction whose reductions after CE are far deeper than alpha/2."""
    if evidence.udp_kernel.is_empty():
        return []
    # As for `deep` of table `laws`.
    deep = pl.col("least") >= (pl.col("half_alpha") + CUT_FLOOR) / 2
    rows = after_ce(evidence).filter(deep)
    return [_finding(headline, row) for row in rows.iter_rows(named=True)]


def by_half_alpha(evidence: Evidence) -> pl.DataFrame:
    """Rows of `after_ce` whose reductions are those of alpha/2, as far as whole packets show it."""
    # Nearer to alpha/2 than to no reduction; `half_alpha` is the most that it can be.
    most = pl.col("half_alpha")
    near = (pl.col("least") <= most) & (pl.col("fraction") >= most / 2)
    return after_ce(evidence).filter(near)


@kept
def after_ce(evidence: Evidence) -> pl.DataFrame:
    """Logged directions with ECT(1) and enough reductions after CE: KEY, `samples`, medians."""
    made = logged.reductions(evidence).filter(pl.col("cause") == "ce")
    return (
        made.join(_ect1(evidence), on=DIRECTION, how="semi")
        .group_by(KEY, maintain_order=True)
        .agg(
            pl.len().alias("samples"),
            pl.col("fraction", "least", "half_alpha").median(),
            pl.col("ts_ns").min().alias("first_ns"),
            pl.col("ts_ns").max().alias("last_ns"),
        )
        .filter(pl.col("samples") >= MIN_LAW_ROUNDS)
    )


def _ect1(evidence: Evidence) -> pl.DataFrame:
    """Directions of all transports that leave mostly as ECT(1)."""
    everything = traffic(evidence)
    near = vantage.once(everything, everything.directions)
    return near.filter(neighbors.carried() == "ect1").select(DIRECTION)


def _finding(headline: str, row: Row) -> Finding:
    given, most = share(row["fraction"]), share(row["half_alpha"])
    return Finding(
        Severity.WARNING,
        Confidence.MEDIUM,
        f"A sender with ECT(1) reduces like a classic one: its log shows {row['samples']:,} "
        f"reductions after CE, by {given} in the median; alpha/2 is at most {most}.",
        "Send ECT(0) with this congestion control, or use a scalable one.",
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("reductions after CE", row["samples"]),
            Measure("median reduction", row["fraction"], "share", f"at most {most}"),
        ),
        headline=headline,
        variant=VARIANT,
    )
