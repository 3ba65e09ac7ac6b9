"""Two flows of one path had clearly unequal rates.

What it checks
--------------
Jain's index of two flow directions that sent at the same time over the same path for at least 5 s,
where neither starved (that is L4S501) and nothing but the path limited the slower one. What sets
the rate of a flow over QUIC, RTP or plain UDP is not known: its share is not called unfair.

Why it matters
--------------
A share of a quarter instead of a half is not a failure, but it is measurable and differs between
builds.

Evidence
--------
`coexistence.jain`, `share`, `rate_bps`, `other_rate_bps` and `held_back`.

When it is wrong
----------------
Different RTTs, start times and applications explain it as well as congestion control does.

What to do
----------
Compare base RTTs and bottlenecks of the two flows.

References
----------
R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness", 1984
"""

import polars as pl

from l4strace.derive.coexistence import HELD_BACK
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import clocks, datagrams, subjects
from l4strace.wording.quantities import quantity

UNFAIR_JAIN = 0.82
"""Two flows at 27 and 73 percent. Published healthy DualPI2 runs stay above it: Prague 34.1 beside
CUBIC 13.0 Mbit/s at 10 ms is 0.83 (heistp/l4s-tests)."""

MIN_OVERLAP_S = 5.0
"""Shorter than that, slow start decides the rates. By eye."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each pair that shared its path unequally."""
    pairs = subjects.once(evidence, evidence.coexistence)
    if pairs.is_empty():
        return [Skipped("no two long flows sent over the same path at the same time")]
    starving = pairs.filter(pl.col("starved_since_ns").is_not_null())
    known = {frozenset(pair) for pair in starving.select("flow", "other_flow").rows()}
    long = (pl.col("end_ns") - pl.col("start_ns")) / 1e9 >= MIN_OVERLAP_S
    asks_for_more = pl.col("held_back").fill_null(0.0) < HELD_BACK
    unequal = pairs.filter(
        (pl.col("jain") < UNFAIR_JAIN) & (pl.col("share") < 0.5) & long & asks_for_more
    )
    found = [
        _finding(evidence, row)
        for row in unequal.iter_rows(named=True)
        if frozenset((row["flow"], row["other_flow"])) not in known
        and not any(datagrams.may_be_fixed(evidence, row[of]) for of in ("flow", "other_flow"))
    ]
    return clocks.measurable(evidence, found)


def _finding(evidence: Evidence, row: Row) -> Finding:
    return Finding(
        Severity.NOTICE,
        Confidence.MEDIUM,
        f"{subjects.titled(evidence, row['flow'])} had {quantity(row['rate_bps'], 'bit/s')} "
        f"beside {quantity(row['other_rate_bps'], 'bit/s')} of "
        f"{subjects.named(evidence, row['other_flow'])}.",
        "Compare base RTTs and bottlenecks of the two flows.",
        **direction_of(row),
        span_ns=(row["start_ns"], row["end_ns"]),
        measures=(
            Measure("share", row["share"], "share", "half"),
            Measure("Jain's index", row["jain"], "", "1"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "Flows of one path have unequal rates")
