"""A flow took long to fill a path that was free.

What it checks
--------------
The time from the first data, or from a rise of the capacity, until the path first carried 80 % of
it, against 3 s and 20 round trips; and how many packets were in flight when the window stopped
doubling.

Why it matters
--------------
Slow start fills 100 Mbit/s and 100 ms in about ten round trips. A sender that leaves it after the
first marks, with ten packets in flight, grows by one packet a round trip instead: most transfers
are over before it has its rate.

Evidence
--------
`phases.ramp_ns`, `changed`, `capacity_bps`, `capacity_shown`, `base_rtt_us` and `start_ns`;
the end of slow start in `rounds` and what is in flight then, unless `flows.vantage` is the middle.

When it is wrong
----------------
If traffic outside the capture used the path at first, or the capacity grew slowly.

What to do
----------
Look at the first marks: bursts of the initial window mark at a 1 ms step (pace it), and reductions
in slow start end it.

References
----------
RFC 9406 (HyStart++); L4STeam/linux, Prague's exit from slow start at the first mark
"""

from itertools import pairwise

import polars as pl

from l4strace.derive import neighbors
from l4strace.derive.phases import FULL_SHARE, during
from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import clocks, paths, subjects
from l4strace.rules.support.paths import Phase
from l4strace.schema.keys import PATH
from l4strace.wording.quantities import count, share

LONG_NS = 3_000_000_000
"""Time to fill a path from which it is long: by eye, above ten round trips at 200 ms."""

LONG_ROUNDS = 20
"""Round trips: slow start needs ten for 10,000 packets (RFC 6928), and as many with a pause."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each phase in which the path took long to be full."""
    results: list[Finding | Skipped] = []
    for phases in paths.phases(evidence):
        rises = [b for a, b in pairwise(phases) if b["capacity_bps"] > a["capacity_bps"]]
        grown = [phases[0], *(p for p in rises if p["changed"] == "capacity")]
        results += [_finding(evidence, phase) for phase in grown if _long(phase)]
    return clocks.measurable(evidence, results)


def _long(phase: Phase) -> bool:
    least = max(LONG_NS, LONG_ROUNDS * 1000 * (phase["base_rtt_us"] or 0.0))
    return bool(phase["capacity_shown"]) and (phase["ramp_ns"] or 0) >= least


def _finding(evidence: Evidence, phase: Phase) -> Finding:
    seconds, most = phase["ramp_ns"] / 1e9, f"below {LONG_NS / 1e9:.0f} s"
    ended = "" if phase["phase"] else _exit(evidence, phase)
    after = "the capacity rose" if phase["phase"] else "the first data"
    return Finding(
        Severity.NOTICE,
        Confidence.MEDIUM,
        f"It took {seconds:.1f} s after {after} until the path carried {share(FULL_SHARE)} of its "
        f"{paths.rate(phase['capacity_bps'])}.{ended}",
        "Look at the first marks and losses: they end slow start.",
        **direction_of(phase),
        span_ns=(phase["start_ns"], phase["start_ns"] + phase["ramp_ns"]),
        measures=(
            Measure(f"time to {share(FULL_SHARE)} of the capacity", seconds, "s", most),
            Measure("capacity", phase["capacity_bps"], "bit/s"),
        ),
    )


def _exit(evidence: Evidence, phase: Phase) -> str:
    """Packets in flight when slow start ended, of the flow that filled the path."""
    end = phase["start_ns"] + phase["ramp_ns"]
    known = neighbors.directions(evidence).filter(*(pl.col(key) == phase[key] for key in PATH))
    known = known.filter(pl.col("vantage") != "middle")
    found = during(evidence, known, phase["start_ns"], end)
    carried_most = pl.col("carried_bytes") == pl.col("carried_bytes").max()
    ended = found.filter(carried_most).drop_nulls("exit_ns").sort("exit_ns")
    if ended.is_empty():
        return ""
    row = ended.row(0, named=True)
    return (
        f" Slow start of flow {row['flow']} ended at {subjects.moment(evidence, row['exit_ns'])} "
        f"with {count(row['exit_packets'], 'packet')} in flight."
    )


RULE = Rule.of(__name__, __doc__, check, "A flow took long to fill the path")
