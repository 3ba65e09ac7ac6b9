"""The flows of a path left much of its capacity unused.

What it checks
--------------
The share of the time, after the path was first full (or, where it never was, after ten round trips,
in which slow start fills a path), in which all its flows together delivered less than 60 % of its
capacity, with an empty queue, while neither applications nor receive windows
limited them. Capacity and share are those of one phase of the path.

Why it matters
--------------
Reductions that are too deep, or growth that is too slow, waste the link: an L4S sender that is
marked in bursts on a jittery link, or one with the fallback's 31 %.

Evidence
--------
`phases.capacity_bps`, `capacity_shown`, `ramp_ns`, `rate_bps`, `low_ns`, `low_share`, `start_ns`
and `end_ns`; `directions.clock_steps` and `clock_ahead_ns`.

When it is wrong
----------------
If traffic outside the capture took the rate for a while. A capacity that no busy slot shows comes
from packet trains, which aggregation can make too fast: the confidence is then low.

What to do
----------
Check the reductions (L4S308) and the step threshold of the AQM (1 ms is low for bursty links).

References
----------
heistp/l4s-tests: on a bursty link Prague gets 14.3 of 20 Mbit/s at a 1 ms step
"""

from __future__ import annotations

from typing import Any

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import clocks, paths
from l4strace.wording.moments import span

CODE = "L4S504"
LOW_PERCENT = 60
"""As `phases.low_share`."""

MIN_LOW_NS = 2_500_000_000
"""Wasted time from which it counts: by eye, longer than single reductions at 200 ms of RTT."""

MIN_SHARE = 0.3
"""Share of the time that must be wasted: by eye; less is slow start and single reductions."""

MIN_RATE_BPS = 1e6
"""Rate below which one packet takes 12 ms and slots are too coarse: by eye."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each phase of a path that flows did not fill."""
    judged = [phase for phases in paths.phases(evidence) for phase in phases]
    if not judged:
        return [Skipped(CODE, "no path carried enough data")]
    wasted = [phase for phase in judged if _wasted(phase)]
    spoiled = clocks.spoiled(evidence)
    return [
        Skipped(CODE, clocks.REASON, phase["flow"])
        if phase["source"] in spoiled
        else _finding(evidence, phase)
        for phase in wasted
    ]


def _wasted(phase: dict[str, Any]) -> bool:
    return (
        phase["capacity_bps"] >= MIN_RATE_BPS
        and (phase["low_share"] or 0.0) >= MIN_SHARE
        and phase["low_ns"] >= MIN_LOW_NS
    )


def _finding(evidence: Evidence, phase: dict[str, Any]) -> Finding:
    return Finding(
        CODE,
        Severity.NOTICE,
        Confidence.MEDIUM if phase["capacity_shown"] else Confidence.LOW,
        f"The path was not full: for {100 * phase['low_share']:.0f} % of the time it carried less "
        f"than {LOW_PERCENT} % of its capacity although the queue was empty. From "
        f"{span(evidence, phase['start_ns'], phase['end_ns'])} it carried "
        f"{paths.rate(phase['rate_bps'])} of {_capacity(phase)}.",
        "Check how slow start ended, the depth of the reductions, and the AQM's threshold.",
        source=phase["source"],
        flow=phase["flow"],
        forward=phase["forward"],
        span_ns=(phase["start_ns"], phase["end_ns"]),
        measures=(
            Measure("mean rate", phase["rate_bps"], "bit/s"),
            Measure(_measured(phase), phase["capacity_bps"], "bit/s"),
        ),
    )


def _grew(phase: dict[str, Any]) -> bool:
    """The wasted time is the way up: only the rate that the flows reach bounds the capacity."""
    return not phase["capacity_shown"] and (phase["ramp_ns"] or 0) >= phase["low_ns"]


def _measured(phase: dict[str, Any]) -> str:
    if phase["capacity_shown"]:
        return "capacity"
    return "capacity, at least" if _grew(phase) else "capacity, at most"


def _capacity(phase: dict[str, Any]) -> str:
    most = phase["capacity_bps"]
    if phase["capacity_shown"]:
        return paths.rate(most)
    if _grew(phase):
        return f"at least {paths.rate(most)}, which they reached without filling the path"
    return f"about {paths.rates(paths.capacity_bps(phase), most)}, as packet trains show"


RULE = Rule(CODE, "under-utilisation", "Flows left capacity unused.", check, __doc__)
