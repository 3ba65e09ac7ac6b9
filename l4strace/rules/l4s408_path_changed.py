"""The path's capacity or base RTT changed.

What it checks
--------------
Whether the capacity of a path fell or rose by a quarter or more for at least half a second, or its
smallest RTT moved by 2 ms and a tenth, and when.

Why it matters
--------------
An average over the whole run describes none of its parts. A queue, a spike or a low rate after a
change may be what the change left, and no fault of the sender.

Evidence
--------
`phases.capacity_bps`, `capacity_shown`, `base_rtt_us`, `start_ns` and `changed`; a policer
(`bottlenecks.kind`) shows no capacity. Capacities are payload rates: the rate that a link is
configured with is about 5 % higher.

When it is wrong
----------------
Traffic outside the capture that takes a share of the link looks like a lower capacity. So does a
wireless link that pauses. A path that is never full shows no capacity.

What to do
----------
Judge each part by itself; compare the link's own log.

References
----------
RFC 9330 section 6.3 (links of varying capacity); heistp/sce-l4s-bakeoff, scenario 4
"""

from itertools import pairwise

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import datagrams, paths, subjects
from l4strace.rules.support.paths import Phase
from l4strace.wording.quantities import count, listed

CLEAR_RATIO = 1.6
"""Ratio of capacities from which the change is beyond doubt: by eye, twice what one cut makes."""

MOST_NAMED = 3
"""Changes that a message names one by one."""

RTT = "The path's base RTT changed"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """At most one finding for the capacity and one for the base RTT of each path."""
    results: list[Finding | Skipped] = []
    for phases in paths.queued(evidence):
        steps = [pair for pair in pairwise(phases) if pair[1]["changed"] == "capacity"]
        if sure := [pair for pair in steps if pair[1]["sure"]]:
            results.append(_capacity(evidence, sure))
        if len(sure) < len(steps):
            results.append(Skipped(datagrams.shared(evidence, phases[0]), phases[0]["flow"]))
        steps = [pair for pair in pairwise(phases) if pair[1]["changed"] == "base RTT"]
        results += [_base_rtt(evidence, *pair) for pair in steps]
    return results


def _capacity(evidence: Evidence, steps: list[tuple[Phase, Phase]]) -> Finding:
    ratios = [_ratio(before["capacity_bps"], after["capacity_bps"]) for before, after in steps]
    clear = min(ratios) >= CLEAR_RATIO
    phases = [steps[0][0], *(after for _, after in steps)]
    return Finding(
        Severity.NOTICE,
        Confidence.HIGH if clear else Confidence.MEDIUM,
        _text(evidence, steps),
        "Judge each part of the run by itself; compare the log of the link.",
        source=phases[0]["source"],
        flow=phases[0]["flow"],
        forward=phases[0]["forward"],
        span_ns=(phases[1]["start_ns"], phases[-1]["start_ns"]),
        measures=(
            *(
                Measure(
                    f"capacity, phase {phase['phase'] + 1}{_least(phase)}",
                    paths.capacity_bps(phase),
                    "bit/s",
                )
                for phase in phases[:4]
            ),
            Measure("changes", len(steps)),
        ),
    )


def _text(evidence: Evidence, steps: list[tuple[Phase, Phase]]) -> str:
    last = steps[0][0]
    if len(steps) > MOST_NAMED:
        rates = sorted(paths.capacity_bps(phase) for phase in (last, *(a for _, a in steps)))
        return (
            f"The capacity of the path for payload changed {count(len(steps), 'time')} "
            f"between {paths.rate(rates[0])} and {paths.rate(rates[-1])}, first at "
            f"{subjects.moment(evidence, steps[0][1]['start_ns'])}."
        )
    parts = [paths.capacity(last)]
    for before, after in steps:
        # Between two changes may lie one that is not sure, and is not told.
        start = "" if before is last else f"from {paths.capacity(before)} "
        when = subjects.moment(evidence, after["start_ns"])
        parts.append(f"{_became(before, after, start)} at {when}")
        last = after
    return f"The capacity of the path for payload was {listed(parts)}."


def _became(before: Phase, after: Phase, start: str) -> str:
    if after["capacity_bps"] < before["capacity_bps"]:
        return f"fell {start}to {paths.fallen(after)}"
    return f"rose {start}to {paths.capacity(after)}"


def _least(phase: Phase) -> str:
    return "" if phase["capacity_shown"] else ", at least"


def _ratio(one: float, other: float) -> float:
    return max(one, other) / max(min(one, other), 1.0)


def _base_rtt(evidence: Evidence, before: Phase, after: Phase) -> Finding:
    old, new = before["base_rtt_us"] / 1000, after["base_rtt_us"] / 1000
    verb = "rose" if new > old else "fell"
    return Finding(
        Severity.NOTICE,
        Confidence.MEDIUM,
        f"The base RTT of the path {verb} from {old:.1f} to {new:.1f} ms at "
        f"{subjects.moment(evidence, after['start_ns'])}: the route changed.",
        "Compare routes before and after; queue delays above the smaller RTT include the change.",
        **direction_of(after),
        headline=RTT,
        span_ns=(after["start_ns"], after["end_ns"]),
        measures=(
            Measure("base RTT before", before["base_rtt_us"], "us"),
            Measure("base RTT after", after["base_rtt_us"], "us"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "The path's capacity changed", RTT)
