"""L4S AQM taken for classic because of the path.

What it checks
--------------
Whether the recorded score was above 8 behind a bottleneck that the packets show to be L4S, while a
replay with the correct thresholds exceeds 8 as well, or (in a build without the scaling bug) the
detector's inputs reached a threshold (750 us of RTT deviation, 2000 us of queue delay). Also where
jitter hides the bottleneck and is as large as that threshold itself. Without a log: whether the
score replayed from packets is certainly above 8 for 30 % of the time and the reductions leave open
what acts, behind an L4S AQM or such jitter.

Why it matters
--------------
The detector cannot distinguish queue delay from jitter, nor from the time that one packet takes on
a slow link. A packet that overtakes others lowers the smallest RTT for minutes, and the detector
takes all above it for queue. With the fallback on, Prague then reduces its window by at least 31 %
where alpha/2 would do. This is a known limit of the algorithm.

Evidence
--------
`fallback.state` and `justified_by`, which rest on: `detector.score`, `mdev_us`, `depth_us` and
`score_fixed` (the replay with the correct thresholds); `bottlenecks.kind`, `confidence`, `rate_bps`
and `serialisation_us`; `phases.capacity_shown`, `capacity_bps` and `busy_share` (whether the path
was full, so that its rate is sure), `start_ns`, `end_ns` and `marks` (whether the score rose when
the path changed); `spikes.cause` and `hit` (overshoots); `noise.jitter_us`; `cuts.law` (whether
reductions use the score); `laws.law` and the likelihoods, `directions.data_ect1` and `kernel.alpha`
(which flows have no log) and `delivered_ce` (whether marks came at all).

When it is wrong
----------------
If the bottleneck changed during the run so that no phase of the path shows it: `bottlenecks` has
one kind for the whole run. Where no
classic flow shows how the AQM treats others it may be one queue that marks all packets early, and
the fallback right: the finding then has low confidence, and medium on a slow link.

What to do
----------
On links of a few Mbit/s set prague_ecn_fallback=0, or accept the lower rate. With jitter, find the
hop that adds it.

References
----------
arXiv 1911.00710v3, abstract ("not at low link rates and large RTTs"); heistp/sce-l4s-ect1 README,
key findings; Greenscreen23/prague-fallback-experiments, results at 4 Mbit/s
"""

from collections.abc import Sequence

from l4strace.derive.neighbors import FRAME_BYTES
from l4strace.evidence import Evidence
from l4strace.fallback import cases
from l4strace.fallback.causes import PATH_CAUSES, SLOW_PACKET_US, slow_link
from l4strace.fallback.place import HIDDEN
from l4strace.fallback.recorded import Recorded
from l4strace.fallback.replayed import Replayed
from l4strace.fallback.row import Row
from l4strace.fallback.table import rows
from l4strace.model import Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import fallback_words as words
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_words import ABOVE, DEPTH, FLOOR, MDEV, SCORE_LIMIT
from l4strace.wording.measures import OF_ROUNDS
from l4strace.wording.quantities import milliseconds, share

TAKEN = "Prague's detector took an L4S AQM for classic"
ANY_AQM = "Prague's detector takes any AQM here for classic"
WOULD = "Prague's detector would take this path for classic"
SHORT_QUEUE = f"below {DEPTH}"
UNUSED = " No reduction used the score."

ALIKE = 1.25
"""Ratio of the times of a packet that are not called a change: as in derive/phases."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose inputs are high although the AQM is L4S, or hidden."""
    results: list[Finding | Skipped] = []
    for row in filter(cases.of_path, rows(evidence)):
        if row.recorded:
            results.append(_logged(row, row.recorded))
        elif row.replayed:
            results.append(_of_packets(row, row.replayed))
    recorded = [row for row in rows(evidence) if row.recorded]
    if not recorded:
        return results or [Skipped(words.without_score(evidence))]
    hidden = {row.flow for row in recorded if row.high and row.place.kind is None}
    if hidden:
        results.append(Skipped(_without_capture(evidence, sorted(hidden, key=str))))
    return results


def _without_capture(evidence: Evidence, flows: Sequence[int | None]) -> str:
    """States of which flows no bottleneck is known, where it is of others."""
    if set(evidence.fallback["kind"]) <= set(HIDDEN):
        return "no capture shows what the bottleneck is"
    which = f"flow {flows[0]}" if len(flows) == 1 else f"{len(flows):,} flows"
    return f"no capture shows what the bottleneck of {which} is"


def _logged(row: Row, score: Recorded) -> Finding:
    hidden = row.place.kind != "l4s"
    weighty = not (hidden or _excused(row)) and row.place.proven_l4s
    return Finding(
        Severity.WARNING if weighty else Severity.NOTICE,
        row.confidence,
        _whatever(row, score) if hidden else _taken_for_classic(row, score),
        _action(row),
        flow=row.flow,
        forward=row.forward,
        span_ns=subjects.span(score.since_ns, score.last_ns),
        measures=(
            words.steps_above(score, "" if hidden else "0 on an L4S AQM"),
            words.correct_steps(score),
            words.high_deviation(score, f"below {MDEV}"),
            *([] if hidden else [words.high_depth(score, SHORT_QUEUE)]),
            *([] if row.justified_by == "long queue" else [_why(row)]),
        ),
        headline=ANY_AQM if hidden else TAKEN,
        variant=variant(row),
    )


def _excused(row: Row) -> bool:
    """A slow link is a known limit of the detector; an unused score harms nobody."""
    return row.justified_by == "slow link" or row.state == "observes" or row.use.outweighed


def variant(row: Row) -> str:
    """`slow-link`; `any-aqm-slow-link` where the bottleneck is hidden."""
    cause = (row.justified_by or "").replace(" ", "-")
    return cause if row.place.kind == "l4s" else f"any-aqm-{cause}"


def _whatever(row: Row, score: Recorded) -> str:
    """What hides the bottleneck from us keeps the detector's score up, too."""
    cause = "The time of a packet" if row.justified_by == "slow link" else "Jitter"
    return (
        f"{cause} keeps the score of Prague's detector {ABOVE}{words.part_of_time(score)}, "
        f"whatever the AQM: RTT deviation was {words.deviation(score.high_mdev_us)} {_where(row)}. "
        f"Whether the AQM is classic cannot be determined.{UNUSED * (row.state == 'observes')}"
    )


def _where(row: Row) -> str:
    """What explains the score where the bottleneck is hidden."""
    place = row.place
    if row.justified_by == "jitter":
        return f"on a path with {place.jitter_us / 1000:.1f} ms of jitter"
    most = "up to " if place.packet_us > ALIKE * (place.serialisation_us or place.packet_us) else ""
    return f"on a link where one packet takes {most}{place.packet_us / 1000:.1f} ms"


def _taken_for_classic(row: Row, score: Recorded) -> str:
    return (
        f"Prague's detector took {subjects.l4s_aqm(row.place)} for a classic one"
        f"{words.part_of_time(score)}{_cause(row)}. RTT deviation was "
        f"{words.deviation(score.high_mdev_us)}, queue delay {words.depth(score.high_depth_us)}."
        f"{_replay(score)}{_effect(row)}"
    )


def _packet_us(row: Row) -> float:
    """Time of a packet behind an L4S AQM: where the path changed, of the time of the score."""
    return row.place.serialisation_us if slow_link(row.place) else row.then.packet_us


def _cause(row: Row) -> str:
    if row.justified_by == "slow link":
        packet_us = _packet_us(row)
        rate = f"{8 * FRAME_BYTES / packet_us:.1f} Mbit/s"
        return f" because the link is slow: one packet takes {packet_us / 1000:.1f} ms at {rate}"
    if row.justified_by == "long queue":
        return " because its queue is long"
    if row.justified_by == "path":
        return f", as {PATH_CAUSES} can cause"
    return words.cause(row)


def _effect(row: Row) -> str:
    if row.state == "observes":
        return UNUSED
    if not row.use.outweighed:
        return ""
    return (
        " The score made hardly any reduction deeper: in "
        f"{100 * row.use.at_alpha:.0f} % of them alpha/2 is at least the fallback's {FLOOR}."
    )


def _replay(score: Recorded) -> str:
    """Where the build has the scaling bug, how much of the score it does not explain."""
    fixed, recorded = score.fixed_share, score.share
    if not fixed:
        return ""
    part = f" in {share(fixed)} of the steps; the scaling bug makes that {share(recorded)}"
    if not score.buggy or share(fixed) == share(recorded):
        part = ", so the scaling bug is not the cause"
    return f" A replay with the correct thresholds exceeds {SCORE_LIMIT} too{part}."


def _action(row: Row) -> str:
    if row.justified_by == "slow link":
        if row.place.kind == "l4s":
            return "Set prague_ecn_fallback=0 on links this slow."
        return "On links this slow set prague_ecn_fallback=0, unless the AQM is classic."
    if row.justified_by == "long queue":
        return "Find what keeps the queue long (L4S404): the fallback is right about its delay."
    if row.justified_by == "jitter":
        return "Find the hop that adds the jitter, or set prague_ecn_fallback=0 on this path."
    if row.justified_by == "overshoot":
        return "Pace slow start and leave it earlier (L4S204)."
    return (
        "Find what moves the RTT (L4S204, L4S405, L4S407 and L4S408 name what is shown), or set "
        "prague_ecn_fallback=0 on this path."
    )


def _why(row: Row) -> Measure:
    """The number of the path that explains the score, or that does not."""
    if row.justified_by == "jitter":
        return words.jitter(row.place)
    packet = row.place.packet_us
    if row.place.kind == "l4s":
        packet = _packet_us(row) or row.place.serialisation_us
    return Measure("time of one packet", packet, "us", f"below {SLOW_PACKET_US / 1000:.1f} ms")


def _of_packets(row: Row, score: Replayed) -> Finding:
    """Without a log: a path that correct thresholds take for classic, where no law leads."""
    long = row.justified_by == "long queue"
    return Finding(
        Severity.NOTICE,
        row.confidence,
        f"Prague's detector, if this kernel has one and runs it, {_would(row, score)} "
        f"its score, replayed from packets with correct thresholds, exceeds {SCORE_LIMIT} for "
        f"{words.percent(score)} of the time. The reductions do not show whether the fallback "
        "acts.",
        "Record kernel state with `l4strace capture` to be certain.",
        source=score.source,
        flow=row.flow,
        forward=row.forward,
        measures=(
            Measure(f"time {ABOVE}, correct thresholds", score.time, "share"),
            Measure(OF_ROUNDS, row.place.queue_delay_us, "us", SHORT_QUEUE) if long else _why(row),
        ),
        headline=WOULD,
        variant=variant(row),
    )


def _would(row: Row, score: Replayed) -> str:
    place = row.place
    if place.kind != "l4s":
        return (
            "takes this path for classic, whatever the AQM: RTT deviation was "
            f"{words.deviation(score.mdev_us)} {_where(row)}, and"
        )
    why = words.cause(row)
    if row.justified_by == "path":
        why = f" because of {PATH_CAUSES}"
    elif row.justified_by == "slow link":
        why = f" because the link is slow (one packet takes {_packet_us(row) / 1000:.1f} ms)"
    elif row.justified_by == "long queue":
        why = (
            f" because its queue is long ({milliseconds(place.queue_delay_us)}, threshold {DEPTH})"
        )
    return f"takes {subjects.l4s_aqm(place)} for a classic one{why}:"


RULE = Rule.of(__name__, __doc__, check, TAKEN, ANY_AQM, WOULD)
