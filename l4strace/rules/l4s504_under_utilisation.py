"""The flows of a path left much of its capacity unused.

What it checks
--------------
The share of the time, after the path was first full (or, where it never was, after ten round trips,
in which slow start fills a path), in which all its flows together delivered less than 60 % of its
capacity, with an empty queue, while neither applications nor receive windows
limited them. An application limits, too, where nothing is in flight, or where a flow is over within
ten round trips. Capacity and share are those of one phase of the path.

Why it matters
--------------
Reductions that are too deep, or growth that is too slow, waste the link: an L4S sender that is
marked in bursts on a jittery link, or one with the fallback's 31 %.

Evidence
--------
`phases.capacity_bps`, `capacity_shown`, `ramp_ns`, `rate_bps`, `low_ns`, `low_share`, `start_ns`,
`end_ns`, `marks` and `losses`; `noise.jitter_us` and `release_us`, which make packets arrive faster
than the path carries them; the bytes of `rounds`, which show a steady rate;
`directions.clock_steps` and `clock_ahead_ns`; not behind a policer (`bottlenecks.kind`).

When it is wrong
----------------
If traffic outside the capture took the rate for a while. A capacity that no busy slot shows comes
from packet trains, which aggregation can make too fast: on a path with jitter or bursts the
confidence is low. An application that asks for no more leaves capacity unused, too: its rate is
steady.

What to do
----------
Check the reductions (L4S308) and the step threshold of the AQM (1 ms is low for bursty links);
at a steady rate, what the application asks for.

References
----------
heistp/l4s-tests: on a bursty link Prague gets 14.3 of 20 Mbit/s at a 1 ms step
"""

from l4strace.derive.neighbors import FRAME_BYTES
from l4strace.derive.phases import SLICE_NS, during
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import clocks, datagrams, paths, subjects
from l4strace.wording.moments import span

LOW_PERCENT = 60
"""Share of the capacity below which `phases.low_share` counts time."""

MIN_LOW_NS = 2_000_000_000
"""Wasted time from which it counts: by eye, ten round trips of 200 ms, which single reductions do
not last. Of 1,360 lab runs no other finding is wrong at 2 s than at 2.5 s."""

MIN_SHARE = 0.3
"""Share of the time that must be wasted: by eye; less is slow start and single reductions."""

FAST_US = 500.0
"""Jitter from which packets that it brings together make a path look faster. In simulated runs
70 times too fast at 0.63 ms (s8102-024), right at 0.25 ms (s8103-173)."""

SEVERE = 0.25
"""Part of the capacity up to which unused capacity is a warning. By eye: most of it is idle."""

STEADY, STEADY_UNMARKED = 0.1, 0.5
"""Spread of the rate (from the 10th to the 90th percentile, by its median) up to which something
but congestion control sets it: with and without marks or losses to respond to. Of 118 simulated
paths with unused capacity, paced flows and those with a set rate have at most 0.41, bulk flows
without a mark and without jitter at least 0.75."""

MIN_RATE_BPS = 40 * FRAME_BYTES * 8e9 / SLICE_NS
"""Rate (0.97 Mbit/s) below which the 40 packets that a slot holds at least (SLOT_PACKETS in
native/src/measure/slots.rs) take longer than the time over which a rate is taken."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each phase of a path that flows did not fill."""
    judged = [phase for phases in paths.queued(evidence) for phase in phases]
    if not judged:
        return datagrams.lacking(datagrams.flows(evidence), "no path carried enough data")
    wasted = [phase for phase in judged if _wasted(phase)]
    spoiled = clocks.spoiled(evidence)
    results: list[Finding | Skipped] = []
    for phase in wasted:
        why = clocks.REASON if phase["source"] in spoiled else ""
        why = why or ("" if _sure(phase) else datagrams.shared(evidence, phase))
        results.append(Skipped(why, phase["flow"]) if why else _finding(evidence, phase))
    return clocks.measurable(evidence, results)


def _wasted(phase: Row) -> bool:
    return (
        phase["capacity_bps"] >= MIN_RATE_BPS
        and (phase["low_share"] or 0.0) >= MIN_SHARE
        and phase["low_ns"] >= MIN_LOW_NS
    )


def _sure(phase: Row) -> bool:
    """The path was not full, however much of what went over UDP was lost, or took another link."""
    least = paths.capacity_bps(phase) - phase["beside_bps"]
    return not phase["beside_bps"] or phase["rate_bps"] < LOW_PERCENT / 100 * least


def _finding(evidence: Evidence, phase: Row) -> Finding:
    noisy = _noisy(evidence, phase) and not _grew(phase)
    steady = _steady(evidence, phase)
    part = phase["rate_bps"] / paths.capacity_bps(phase)
    idle = part <= SEVERE and not (noisy or steady or _grew(phase))
    bound, capacity = _capacity(phase, noisy)
    why = " Its rate is steady, as where an application or a pacing rate sets it." * steady
    return Finding(
        Severity.WARNING if idle else Severity.NOTICE,
        Confidence.LOW if noisy else Confidence.MEDIUM,
        f"The path was not full: from {span(evidence, phase['start_ns'], phase['end_ns'])} it "
        f"carried {paths.rate(phase['rate_bps'])} of {capacity}. For "
        f"{100 * phase['low_share']:.0f} % of the time the rate was below {LOW_PERCENT} % of that "
        f"although the queue was empty.{why}",
        "Check whether the application or a pacing rate limits the sender."
        if steady
        else "Check how slow start ended, the depth of the reductions, and the AQM's threshold.",
        **direction_of(phase),
        span_ns=(phase["start_ns"], phase["end_ns"]),
        measures=(
            Measure("mean rate", phase["rate_bps"], "bit/s"),
            Measure(bound, phase["capacity_bps"], "bit/s"),
        ),
    )


def _noisy(evidence: Evidence, phase: Row) -> bool:
    """Jitter or bursts bring packets closer together than the path sends them."""
    of = subjects.noise(evidence).filter(source=phase["source"], path=phase["path"])
    found = of["release_us"].is_not_null() | (of["jitter_us"] >= FAST_US).fill_null(False)
    return bool(found.any())


def _steady(evidence: Evidence, phase: Row) -> bool:
    """The rate of the largest flow neither grows nor falls: congestion control does both."""
    largest = paths.largest(evidence).filter(source=phase["source"], path=phase["path"])
    found = during(evidence, largest, phase["start_ns"], phase["end_ns"])
    most = STEADY if phase["marks"] or phase["losses"] else STEADY_UNMARKED
    return bool((found["spread"] <= most).any())


def _grew(phase: Row) -> bool:
    """The wasted time is the way up: only the rate that the flows reach bounds the capacity."""
    return not phase["capacity_shown"] and (phase["ramp_ns"] or 0) >= phase["low_ns"]


def _capacity(phase: Row, noisy: bool) -> tuple[str, str]:
    """How the capacity is bounded, and the bound in words."""
    most = phase["capacity_bps"]
    if noisy:
        looks = "jitter and bursts make the path look faster"
        return "capacity, at most", f"at most {paths.rate(most)} ({looks})"
    if phase["capacity_shown"]:
        return "capacity", paths.rate(most)
    if _grew(phase):
        reached = "which the flows reached without filling the path"
        return "capacity, at least", f"at least {paths.rate(most)}, {reached}"
    shown = paths.rates(paths.capacity_bps(phase), most)
    return "capacity, at most", f"about {shown}, as packet trains show"


RULE = Rule.of(__name__, __doc__, check, "The path was not full")
