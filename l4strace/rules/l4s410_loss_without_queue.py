"""Packets are lost although no queue stands.

What it checks
--------------
Whether the queue delay around losses is as low as on an idle path: no more than 2 ms, two packet
times, or what jitter adds. A policer (L4S401) is named with its rate and its burst.

Why it matters
--------------
Loss of this kind comes from a radio link, a damaged cable or a policer, not from congestion. Every
congestion control that halves on loss loses throughput to it, and no AQM can help.

Evidence
--------
`bottlenecks.idle_loss`, `loss_delay_us` and `losses`; of a policer `kind`, `policed_bps` and
`policed_burst_bytes`; `noise.late_share` (reordering, L4S407) and
`hides_us` (2 ms of noise may be a queue), and `paths.lost` where both ends were captured.

When it is wrong
----------------
From the sender alone, packets that arrive late and are retransmitted needlessly look lost. A
policer that drops fewer than five times, or whose bucket is shorter than a round trip, shows no
rate.

What to do
----------
Capture at both ends. Look at the error counters of the links; look for a policer. In front of one,
shape to its rate.

References
----------
RFC 9331 section 4.3; RFC 8985 (RACK)
"""

import polars as pl

from l4strace.derive.neighbors import FRAME_BYTES
from l4strace.derive.noise import REORDERED
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import clocks, subjects
from l4strace.schema.keys import PATH
from l4strace.wording.quantities import count, quantity

BLUR_US = 2000.0
"""Noise that may be a queue itself: what counts as one. Lab runs s1201-070 and s1001-125: PIE held
4 to 6 ms behind jitter, and dropped. The right findings of 550 runs had 1.3 ms at most."""


RANDOM = "The path loses packets without congestion"
LOOK = "Look at the error counters of the links, and for a policer; capture at both ends."

POLICED = "A policer drops packets"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each idle path that loses packets, on the flow that lost most."""
    judged = subjects.once(evidence, evidence.bottlenecks)
    idle = judged.filter(pl.col("idle_loss") | (pl.col("kind") == "policed"))
    if idle.is_empty():
        return []
    late = subjects.noise(evidence).select(*subjects.KEY, "path", "late_share", "hides_us")
    idle = idle.join(late, on=subjects.KEY, how="left").join(
        subjects.lost_between(evidence), on=subjects.DIRECTION, how="left"
    )
    real = (pl.col("lost") > 0) | (
        pl.col("lost").is_null() & (pl.col("late_share").fill_null(0.0) < REORDERED)
    )
    clear = pl.col("hides_us").fill_null(0.0) < BLUR_US
    losing = idle.filter(real, clear).with_columns(
        most=pl.coalesce("lost", "losses"), flows=pl.col("flow").n_unique().over(PATH)
    )
    ranked = losing.sort("most", *subjects.DIRECTION, descending=[True, False, False])
    first = ranked.unique(PATH, keep="first", maintain_order=True)
    return clocks.measurable(evidence, [_finding(row) for row in first.iter_rows(named=True)])


def _finding(row: Row) -> Finding:
    known, policed = row["lost"] is not None, row["kind"] == "policed"
    lost = row["lost"] if known else row["losses"]
    more = row["flows"] - 1
    whose = f" of flow {row['flow']}" if more else ""
    alike = f", and so were packets of {count(more, 'more flow')}" if more else ""
    what = f"{count(lost, 'packet')}{whose} {'lost' if known else 'retransmitted'}"
    says, action = _policer(row) if policed else (RANDOM, LOOK)
    return Finding(
        Severity.NOTICE,
        Confidence.HIGH if known and not policed else Confidence.MEDIUM,
        f"{says}: {what} at a queue delay of {row['loss_delay_us'] / 1000:.1f} ms (median){alike}.",
        action,
        **direction_of(row),
        headline=POLICED if policed else "",
        measures=(
            Measure("lost packets", lost, "packet"),
            Measure("queue delay at loss, median", row["loss_delay_us"], "us"),
            *((Measure("rate of the policer", row["policed_bps"], "bit/s"),) if policed else ()),
        ),
    )


def _policer(row: Row) -> tuple[str, str]:
    """What it does, with its rate and its burst (payload), and what to do.

    A bucket that is not seen to hold a burst may run over, and what runs over passes nobody.
    """
    rate, burst = quantity(row["policed_bps"], "bit/s"), row["policed_burst_bytes"] or 0.0
    does = f"A policer drops what exceeds {rate} and bursts of at least {quantity(burst, 'byte')}"
    if burst < FRAME_BYTES:
        does = f"A policer of at least {rate} drops packets"
    return does, "Shape to its rate in front of the policer."


RULE = Rule.of(__name__, __doc__, check, "Packets are lost although no queue stands", POLICED)
