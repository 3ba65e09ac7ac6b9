"""Classic-ECN fallback behind an L4S AQM.

What it checks
--------------
Whether the kernel's score `classic_ecn` was above 8 in at least a tenth of the detector's steps
(and of the time) although nothing it measured explains that: the medians of its two inputs, queue
delay and RTT mean deviation, were below their thresholds (2000 us and 750 us), or the build has the
scaling bug behind an L4S AQM, and a replay with correct thresholds stays below 8 (else L4S303). The
packets must not show a classic AQM. A score that no reduction used is a notice:
prague_ecn_fallback=2, which all flows of a host show together, or no mark since the score rose (of
flows with at least 20 steps). A log that holds only counters (bpftrace maps) is judged by the
shares that they give.

Why it matters
--------------
From a score of 9 every reduction at CE is at least 31 % (from 8 to 9 the floor grows to it), where
alpha/2 is one or two percent. An L4S AQM marks many packets per second, so the flow starves: in the
published study it gets 8 Mbit/s beside 52 Mbit/s of one CUBIC flow (64 Mbit/s, 32 ms).

Evidence
--------
`fallback.state` and `justified_by`, which rest on: `detector.score`, `mdev_us`, `depth_us`,
`score_fixed` and `build` of the steps that the kernel recorded; `bottlenecks.kind` and
`confidence`, which follow from packets alone; `cuts.law`, which shows whether the kernel acts on
the score; `kernel.delivered_ce` (whether marks came at all); the counters of bpftrace scripts.
`rounds` gives the frames.

When it is wrong
----------------
Where no classic flow shows how the AQM treats others, or no capture shows the AQM, it may be one
queue that marks all flows early: the finding then has medium confidence. If the score rose on a
classic path and the path then changed: the score falls slowly. The finding gives queue delay and
deviation of the steps above 8: compare them with the path.

What to do
----------
Use a kernel with the correct thresholds, or set prague_ecn_fallback=0 on paths that are known to be
L4S. L4STeam kernels from 6.1 on have no detector.

References
----------
L4STeam/linux issue 38; Greenscreen23/prague-fallback-experiments; tcp_prague.c of L4STeam kernels
up to 5.15, prague_classic_ecn_detection
"""

from l4strace.evidence import Evidence
from l4strace.fallback import cases
from l4strace.fallback.counters import Inputs, Zones
from l4strace.fallback.recorded import MIN_SHARE, Recorded
from l4strace.fallback.row import Row
from l4strace.fallback.table import rows
from l4strace.model import Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import fallback_words as words
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_words import ABOVE, BELOW, DEPTH, FLOOR, MDEV
from l4strace.wording.quantities import share

ACTION = (
    "Run `echo 0 > /sys/module/tcp_prague/parameters/prague_ecn_fallback` on this host, or a "
    "kernel with the correct thresholds."
)
HIGH_INPUTS = (
    "queue delay or RTT deviation is above its threshold, and the bottleneck is not shown to be L4S"
)
MISFIRED = "Prague's fallback misfired"
BUG = f"{MISFIRED}: scaling bug"
UNUSED = "Prague's detector misfired, without effect"
UNKNOWN_AQM = "Prague's fallback acts; the AQM is unknown"
NONE = "0 on an L4S AQM"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction with a classic score and inputs below the thresholds."""
    results: list[Finding | Skipped] = []
    for row in rows(evidence):
        if row.zones:
            results += _counted(row, row.zones)
        elif cases.perhaps_classic(row):
            results.append(Skipped(HIGH_INPUTS))
        elif row.recorded and cases.misfired(row):
            results.append(_finding(evidence, row, row.recorded))
    if results or any(row.recorded for row in rows(evidence)):
        return results
    if evidence.aggregates and evidence.fallback.is_empty():
        return [Skipped("the counters show the detector's inputs, not its score")]
    return [Skipped(words.without_score(evidence))]


def _finding(evidence: Evidence, row: Row, score: Recorded) -> Finding:
    # Without a classic flow, an AQM that marks all flows early looks the same.
    where = " behind an L4S AQM" if row.place.proven_l4s else ""
    since = subjects.moment(evidence, score.since_ns)
    bug = " Its arithmetic matches the 24-bit build with the scaling bug." if score.buggy else ""
    return Finding(
        Severity.NOTICE if _harmless(row) else Severity.ERROR,
        row.confidence,
        f"Prague's classic-ECN fallback misfired{where}: from {since} {_effect(row, score)} "
        f"although {_inputs(score)}.{bug}",
        ACTION,
        flow=row.flow,
        forward=row.forward,
        span_ns=subjects.span(score.since_ns, score.last_ns),
        **subjects.at(evidence, row.flow, row.forward, score.since_ns),
        measures=(
            words.steps_above(score, NONE),
            Measure(f"time with a score {ABOVE}", score.time, "share", NONE),
            words.high_depth(score, f"at least {DEPTH} when classic"),
            words.high_deviation(score, f"at least {MDEV} when classic"),
            words.correct_steps(score),
        ),
        headline=UNUSED if _harmless(row) else BUG if score.buggy else MISFIRED,
        variant="unused" if _harmless(row) else "misfire",
    )


def _harmless(row: Row) -> bool:
    """No reduction used the score, or alpha/2 alone cut as deep."""
    return row.state == "observes" or (row.use.outweighed and not row.use.acts)


def _effect(row: Row, score: Recorded) -> str:
    """What the score did: nothing is reduced by prague_ecn_fallback=2, nor where no mark comes."""
    part = words.part_of_time_since(score)
    if row.use.unmarked:
        return f"its score was {ABOVE}{part}, with no mark to respond to,"
    if row.state == "observes":
        return f"its score was {ABOVE}{part}, which no reduction used,"
    if _harmless(row):
        return f"its score was {ABOVE}{part}, where alpha/2 alone is at least its {FLOOR},"
    return f"it backed off like a classic flow{part}"


def _inputs(score: Recorded) -> str:
    """Why the score should have stayed low."""
    shown = words.inputs(score.high_depth_us, score.high_mdev_us)
    if not score.inputs_are_high:
        return f"{shown} stayed low"
    if score.fixed_share < MIN_SHARE:
        return f"correct thresholds keep the score {BELOW} at this {shown}"
    part = share(score.fixed_share)
    return f"correct thresholds put it there in {part} of its steps only, at this {shown}"


def _counted(row: Row, cuts: Zones) -> list[Finding]:
    """Verdict on counters without time."""
    if row.state != "acts":
        return []
    made = Measure("classic reductions", cuts.classic_share, "share", NONE)
    if row.inputs is None:
        return [_half_known(row, cuts, made)]
    return [_misfire_counted(row, cuts, row.inputs, made)] if row.justified_by == "nothing" else []


def _misfire_counted(row: Row, cuts: Zones, means: Inputs, made: Measure) -> Finding:
    return Finding(
        Severity.ERROR,
        row.confidence,
        f"Prague's classic-ECN fallback misfired: it made {cuts.text} although {means.text}.",
        ACTION,
        measures=(
            made,
            Measure("mean queue delay", means.depth_us, "us", f"at least {DEPTH} when classic"),
            Measure("mean RTT deviation", means.mdev_us, "us", f"at least {MDEV}"),
        ),
        variant="misfire",
    )


def _half_known(row: Row, cuts: Zones, made: Measure) -> Finding:
    return Finding(
        Severity.NOTICE,
        row.confidence,
        f"Prague's classic-ECN fallback made {cuts.text}. Behind an L4S AQM this is a "
        "misfire, but the counters do not show the AQM.",
        "Record the packets or the detector's inputs of the same run.",
        measures=(made,),
        headline=UNKNOWN_AQM,
        variant="unknown-aqm",
    )


RULE = Rule.of(__name__, __doc__, check, MISFIRED, BUG, UNUSED, UNKNOWN_AQM)
