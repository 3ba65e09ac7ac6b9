"""Words for the rows of the table `fallback`, which its rules and the verdict's frame share."""

from l4strace.evidence import Evidence
from l4strace.fallback import cases
from l4strace.fallback.causes import PATH_CAUSES
from l4strace.fallback.place import Place
from l4strace.fallback.recorded import Recorded
from l4strace.fallback.replayed import Replayed
from l4strace.fallback.response import Response
from l4strace.fallback.row import Row
from l4strace.model import Measure
from l4strace.prague.constants import (
    CUT_FLOOR,
    DEPTH_REFERENCE_US,
    MDEV_REFERENCE_US,
    SCALABLE_THRESHOLD,
)
from l4strace.rules.support import subjects
from l4strace.schema.words import CLASSIC_OR_PER_FLOW
from l4strace.wording.quantities import quantity

SHARED = {
    "classic": "a classic AQM",
    "shallow": "an AQM that marks classic flows too",
}
SUITED = SHARED | {
    "per-flow": "a classic AQM with a queue per flow",
    CLASSIC_OR_PER_FLOW: "a classic AQM, on one queue or with a queue per flow",
}
"""Bottlenecks behind which the fallback is meant to act."""

DEPTH, MDEV = (f"{us / 1000:g} ms" for us in (DEPTH_REFERENCE_US, MDEV_REFERENCE_US))
"""The thresholds of queue delay and RTT deviation: `2 ms`, `0.75 ms`."""

SCORE_LIMIT = f"{SCALABLE_THRESHOLD:g}"
"""`8`: the score above which Prague takes the path for classic."""

ABOVE, BELOW = f"above {SCORE_LIMIT}", f"below {SCORE_LIMIT}"
STEPS = f"steps with a score {ABOVE}"
"""Name of the measure that every rule on the recorded score gives."""

FLOOR = f"{100 * CUT_FLOOR:.0f} %"
"""`31 %`: what a reduction in classic mode gives up at least."""

PRAGUE = "prague"
"""How the names of all its versions begin, and user space's contain it."""

FLAPS = 4
"""Times that the score must pass 8 to flap: up and down twice."""


def depth(us: float | None) -> str:
    """`396 us (threshold 2 ms)`, rounded as in the measures of the finding."""
    return f"{quantity(us or 0.0, 'us')} (threshold {DEPTH})"


def deviation(us: float | None) -> str:
    """`118 us (threshold 0.75 ms)`."""
    return f"{quantity(us or 0.0, 'us')} (threshold {MDEV})"


def inputs(depth_us: float | None, mdev_us: float | None) -> str:
    """`queue delay (396 us, threshold 2 ms) and RTT deviation (118 us, threshold 0.75 ms)`."""
    delay, mdev = quantity(depth_us or 0.0, "us"), quantity(mdev_us or 0.0, "us")
    return f"queue delay ({delay}, threshold {DEPTH}) and RTT deviation ({mdev}, threshold {MDEV})"


def part_of_time(score: Recorded) -> str:
    """` for 37 % of the time`, with the range of a score that flaps; nothing of 100 %."""
    return _part(score.time, score)


def part_of_time_since(score: Recorded) -> str:
    """As `part_of_time`, from the moment at which the score first was above 8."""
    return _part(score.time_since, score)


def _part(part: float, score: Recorded | Replayed, whole: str = "the time") -> str:
    percent = f"{100 * part:.0f} %"
    flaps = f" (the score flaps between {score.least:.1f} and {score.most:.1f})"
    flaps = flaps if score.crossings >= FLAPS else ""
    return f" for {percent} of {whole}{flaps}" if percent != "100 %" else ""


def percent(score: Replayed) -> str:
    """`40 %` of the time above 8, or `40 to 70 %` where the packets leave that open."""
    least, most = (f"{100 * part:.0f}" for part in (score.time, score.time_most))
    return f"{least} %" if least == most else f"{least} to {most} %"


def steps_above(score: Recorded, expected: str = "") -> Measure:
    return Measure(STEPS, score.share, "share", expected)


def high_depth(score: Recorded, expected: str) -> Measure:
    name = f"queue delay at a score {ABOVE}, median"
    return Measure(name, score.high_depth_us or 0.0, "us", expected)


def high_deviation(score: Recorded, expected: str) -> Measure:
    return Measure(
        f"RTT deviation at a score {ABOVE}, median", score.high_mdev_us or 0.0, "us", expected
    )


def correct_steps(score: Recorded) -> Measure:
    return Measure(f"{STEPS}, correct thresholds", score.fixed_share, "share")


def marks_from(place: Place) -> str:
    """`marks from 6.0 ms of queue delay`."""
    return f"marks from {(place.marking_delay_us or 0.0) / 1000:.1f} ms of queue delay"


def jitter(place: Place) -> Measure:
    return Measure("jitter", place.jitter_us, "us", f"below {MDEV}")


def cause(row: Row) -> str:
    """` because of 2.8 ms of jitter`, ` because of the path, as ... can cause`; else nothing."""
    if row.justified_by == "jitter":
        return f" because of {row.place.jitter_us / 1000:.1f} ms of jitter"
    if row.justified_by == "overshoot":
        return " because a slow start overshot"
    if row.justified_by == "path":
        return f" because of the path, as {PATH_CAUSES} can cause"
    return ""


def fact(evidence: Evidence, row: Row) -> str:
    """What the reductions on the wire show, in one clause."""
    response = row.response
    if response is None:
        return ""
    if row.state == "idle":
        return _scalable(row, response)
    if cases.deep(row):
        given = "" if response.fraction is None else f"{100 * response.fraction:.0f} against "
        return (
            "Reductions under ECT(1) are far deeper than alpha/2 "
            f"({given}{100 * response.half_alpha:.1f} %): the fallback, or a classic sender"
        )
    if row.justified_by == "nothing":
        return _misfire(evidence, row)
    if row.justified_by == "slow link":
        times = "" if response.at_the_floor else "at times "
        packet = f"one packet takes {row.place.serialisation_us / 1000:.1f} ms"
        return _acting(evidence, row, f" {times}on a slow L4S link, where {packet}")
    return _acting(evidence, row, f"{_behind(evidence, row)}{_when(evidence, row, response)}")


def _acting(evidence: Evidence, row: Row, how: str) -> str:
    """CUBIC gives up 30 %, as the fallback does: only Prague's name shows which it is."""
    if runs_prague(evidence, row):
        return f"The classic-ECN fallback acts{how}"
    if control := subjects.control(evidence, row.flow, row.forward):
        return f"The sender ({control}) reduces as a classic one{how}"
    return f"The classic-ECN fallback acts{how}, or the sender is not Prague (CUBIC reduces so)"


def runs_prague(evidence: Evidence, row: Row) -> bool:
    """A log or a host file names Prague."""
    return PRAGUE in subjects.control(evidence, row.flow, row.forward)


def _misfire(evidence: Evidence, row: Row) -> str:
    """As `_acting`, where nothing justifies it."""
    where = " behind an L4S AQM" if row.place.proven_l4s else ""
    if runs_prague(evidence, row):
        return f"The classic-ECN fallback misfired{where}, as the packets show"
    if control := subjects.control(evidence, row.flow, row.forward):
        return f"The sender ({control}) reduces as a classic one{where}, although it sends ECT(1)"
    return (
        f"A classic reduction under ECT(1){where}: Prague's fallback misfired, or the sender is "
        "not Prague (CUBIC reduces so)"
    )


def _scalable(row: Row, response: Response) -> str:
    if not_falling_back(row):
        queue = subjects.hedged(row.place.confidence, SHARED[row.place.kind or ""])
        return f"An ECT(1) sender does not fall back behind {queue}"
    return (
        "The sender's reductions follow alpha/2 (median "
        f"{100 * response.half_alpha:.1f} %): a classic-ECN fallback does not act"
    )


def not_falling_back(row: Row) -> bool:
    """Reductions by alpha/2 behind a queue that marks all flows."""
    return row.state == "idle" and row.shown_by == "packets" and row.place.shared


def _behind(evidence: Evidence, row: Row) -> str:
    kind = row.place.kind
    if row.justified_by == "changed path":
        return f" since the path changed at {subjects.moment(evidence, row.then.changed_ns or 0)}"
    if kind in SUITED:
        return f" behind {SUITED[kind]}, as intended"
    return f" behind {subjects.l4s_aqm(row.place)}{cause(row)}" if kind == "l4s" else ""


def before_change(evidence: Evidence, row: Row) -> str:
    """What shows an L4S AQM is from before the change of the path."""
    when = subjects.moment(evidence, row.then.changed_ns or 0)
    since = "whether it meets one since then is not shown"
    if not row.then.marks:
        since = f"no packet was marked while the score was {ABOVE}"
    return f"What shows an L4S AQM is from before {when}, when the path changed; {since}."


def _when(evidence: Evidence, row: Row, response: Response) -> str:
    """When first and how much of the time, where the replayed score explains the reductions."""
    score = row.replayed
    if response.references != "correct" or score is None or score.since_ns is None:
        return ""
    # It acts at marks: a score that is high before the first one that counts changes nothing yet.
    since = subjects.moment(evidence, max(score.since_ns, response.first_ns))
    part = _part(score.time, score, "the flow's time")
    return f", first at {since}{' and' if part else ''}{part}"


def without_score(evidence: Evidence) -> str:
    """Why the rules on the recorded score cannot judge."""
    if evidence.kernel.is_empty() and evidence.aggregates:
        return "the kernel log holds only counters"
    if evidence.kernel.is_empty():
        return "no kernel log"
    if evidence.kernel["flow"].is_null().all():
        return "the kernel log does not belong to a flow of the capture"
    if evidence.kernel["classic_ecn"].is_null().all():
        return "the kernel log has no classic_ecn"
    return "the kernel log shows no step of the fallback's detector"
