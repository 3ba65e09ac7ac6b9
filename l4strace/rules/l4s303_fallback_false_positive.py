"""Prague's detector took an L4S AQM for a classic one because of the path, not of the kernel.

What it checks
--------------
Whether the recorded score was above 8 behind a bottleneck that the packets show to be L4S, while a
replay with the correct thresholds exceeds 8 as well, or (in a build without the scaling bug) the
detector's inputs reached at least 90 % of a threshold (750 us of RTT deviation, 2000 us of queue
delay). Also where jitter hides the bottleneck and is as large as that threshold itself. Without a
log: whether the score replayed from packets is certainly above 8 for 30 % of the time and the
reductions leave open what acts, behind an L4S AQM or such jitter.

Why it matters
--------------
The detector cannot distinguish queue delay from jitter, nor from the time that one packet takes on
a slow link. A packet that overtakes others lowers the smallest RTT for minutes, and the detector
takes all above it for queue. With the fallback on, Prague then reduces its window by at least 31 %
where alpha/2 would do. This is a known limit of the algorithm.

Evidence
--------
`detector.score`, `mdev_us`, `depth_us` and `score_fixed` (the replay with the correct thresholds);
`bottlenecks.kind`, `confidence`, `rate_bps` and `serialisation_us`; `phases.capacity_shown`,
`capacity_bps` and `busy_share` (whether the path was full, so that its rate is sure);
`noise.jitter_us`; `cuts.law` (whether reductions use the score); `laws.law` and the likelihoods,
`directions.data_ect1` and `kernel.alpha` (which flows have no log) and `delivered_ce` (whether
marks came at all).

When it is wrong
----------------
If the bottleneck changed during the run: `bottlenecks` has one kind for the whole run. Where no
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

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import path_causes, subjects
from l4strace.rules.support.fallback_states import (
    BUG_ADDS,
    BUGGY,
    DEPTH_US,
    MDEV_US,
    MIN_SHARE,
    MISSED,
    NEAR,
    PATH_CAUSES,
    SLOW_PACKET_US,
    explained,
    floorless,
    marks_since,
    outweighed,
    part_of_time,
    replayed,
    replayed_percent,
    samples,
    shaken,
    slow_link,
    steps,
    unused,
    without_score,
)
from l4strace.rules.support.reductions import few_at_the_floor, show_the_fallback
from l4strace.wording.quantities import share

CODE = "L4S303"
UNUSED = " No reduction used the score."

WAITS = 0.1
"""Least RTT deviation, in packet times, of packets that wait for one another. By eye: full links of
1 to 8 Mbit/s show 0.2 to 1.3, a flow that its application paces at 0.6 Mbit/s 0.04."""

ALIKE = 1.25
"""Ratio of the times of a packet that are not called a change: as in derive/phases."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose inputs are high although the AQM is L4S."""
    recorded = steps(evidence)
    if recorded.is_empty():
        return _from_packets(evidence) or [Skipped(CODE, without_score(evidence))]
    judged = (
        recorded.filter(
            (pl.col("classic_share") >= MIN_SHARE) & (pl.col("classic_time") >= MIN_SHARE)
        )
        .join(subjects.bottlenecks(evidence), on=subjects.DIRECTION, how="left")
        .join(floorless(evidence), on="log", how="left")
        .join(marks_since(evidence), on=subjects.DIRECTION, how="left")
        .join(path_causes.noises(evidence), on=subjects.DIRECTION, how="left")
    )
    results: list[Finding | Skipped] = []
    for row in judged.iter_rows(named=True):
        if row["kind"] == "l4s" and explained(row):
            results.append(_finding(row))
        elif (
            row["kind"] in (None, "unknown")
            and path_causes.whatever_the_aqm(row)
            and explained(row)
        ):
            results.append(_hidden(row))
    hidden = judged.filter(pl.col("kind").is_null())["flow"].unique().sort().to_list()
    if hidden:
        results.append(Skipped(CODE, _without_capture(hidden, subjects.bottlenecks(evidence))))
    return results


def _without_capture(flows: list[int], shown: pl.DataFrame) -> str:
    """Of which flows no bottleneck is known, where it is of others."""
    if shown.filter(pl.col("kind") != "unknown").is_empty():
        return "no capture shows what the bottleneck is"
    which = f"flow {flows[0]}" if len(flows) == 1 else f"{len(flows):,} flows"
    return f"no capture shows what the bottleneck of {which} is"


def _from_packets(evidence: Evidence) -> list[Finding | Skipped]:
    """Without a log: paths that correct thresholds take for classic, where no law leads."""
    missed = replayed(evidence).filter(pl.col("replayed_share") >= MISSED)
    if missed.is_empty():
        return []
    open_ones = (
        missed.join(subjects.scalable(evidence), on=subjects.DIRECTION)
        .join(subjects.bottlenecks(evidence), on=subjects.DIRECTION, how="left")
        .join(path_causes.noises(evidence), on=subjects.DIRECTION, how="left")
        .join(
            evidence.laws.filter(show_the_fallback() | few_at_the_floor()),
            on=subjects.DIRECTION,
            how="anti",
        )
        .join(samples(evidence), on=subjects.DIRECTION, how="anti")
        .sort(subjects.DIRECTION)
    )
    unknown = pl.col("kind").fill_null("unknown").eq("unknown") & (
        pl.col("replayed_mdev_us") >= NEAR * MDEV_US
    )
    rows = open_ones.filter(unknown).to_dicts()
    return [
        *(_replayed(row) for row in open_ones.filter(pl.col("kind") == "l4s").to_dicts()),
        *(_replayed_hidden(row) for row in rows if path_causes.whatever_the_aqm(row)),
    ]


def _of_packets(row: dict[str, Any], mdev: str) -> bool:
    """Packets that wait for one another make the deviation, of at most the time of one.

    A rate alone does not show a slow link: an application may pace its flow, jitter may thin it.
    """
    deviation, packet = row[mdev] or 0.0, row["serialisation_us"] or 0.0
    return slow_link(row) and WAITS * packet <= deviation <= packet


def _hiding(row: dict[str, Any], mdev: str) -> tuple[str, Measure]:
    """What explains the score where the bottleneck is hidden."""
    packet, added = path_causes.packet_us(row), row["jitter_us"] or 0.0
    if path_causes.by_packet(row, mdev):
        most = "up to " if packet > ALIKE * (row["serialisation_us"] or packet) else ""
        where = f"on a link where one packet takes {most}{packet / 1000:.1f} ms"
        return where, _packet(packet)
    return f"on a path with {added / 1000:.1f} ms of jitter", _jitter(added)


def _jitter(added_us: float) -> Measure:
    return Measure("jitter", added_us, "us", "below 0.75 ms")


def _packet(packet_us: float) -> Measure:
    expected = f"below {SLOW_PACKET_US / 1000:.1f} ms"
    return Measure("time of one packet", packet_us, "us", expected)


def _confidence(row: dict[str, Any], proven: bool, slow: bool) -> Confidence:
    """ECT(1) flows alone do not show whether a queue marks all flows early, or is an L4S AQM.

    The time of a packet explains a score on a slow link whatever the AQM is.
    """
    if not proven:
        return Confidence.MEDIUM if slow else Confidence.LOW
    return Confidence.HIGH if slow and (row["fixed_share"] or 0) > 0 else Confidence.MEDIUM


def _hidden(row: dict[str, Any]) -> Finding:
    """What hides the bottleneck from us keeps the detector's score up, too."""
    mdev = row["classic_mdev_us"] / 1000
    where, why = _hiding(row, "classic_mdev_us")
    slow = path_causes.by_packet(row, "classic_mdev_us")
    cause = "The time of a packet" if slow else "Jitter"
    idle = UNUSED if unused(row) else ""
    return Finding(
        CODE,
        Severity.NOTICE,
        Confidence.LOW,
        f"{cause} keeps the score of Prague's detector above 8{part_of_time(row)}, whatever the "
        f"AQM: RTT deviation was {mdev:.2f} ms (threshold 0.75 ms) {where}. "
        f"Whether the AQM is classic cannot be determined.{idle}",
        "On links this slow set prague_ecn_fallback=0, unless the AQM is classic."
        if slow
        else "Find the hop that adds the jitter, or set prague_ecn_fallback=0 on this path.",
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["classic_since_ns"], row["last_ns"]),
        measures=(
            Measure("steps with a score above 8", row["classic_share"], "share"),
            Measure("the same steps, correct thresholds", row["fixed_share"] or 0.0, "share"),
            Measure("RTT deviation", row["classic_mdev_us"], "us", "below 0.75 ms"),
            why,
        ),
    )


def _replayed_hidden(row: dict[str, Any]) -> Finding:
    mdev = row["replayed_mdev_us"] / 1000
    where, why = _hiding(row, "replayed_mdev_us")
    return _of_replay(
        row,
        f"takes this path for classic, whatever the AQM: RTT deviation was {mdev:.2f} ms "
        f"(threshold 0.75 ms) {where}, and",
        why,
    )


def _replayed(row: dict[str, Any]) -> Finding:
    packet_us = row["serialisation_us"] or 0.0
    cause, why = shaken(row) or f"because of {PATH_CAUSES}", _packet(packet_us)
    if path_causes.slow(row) or _of_packets(row, "replayed_mdev_us"):
        cause = f"because the link is slow (one packet takes {packet_us / 1000:.1f} ms)"
    elif _long_queue(row):
        cause = f"because its queue is long ({row['queue_delay_us'] / 1000:.1f} ms, threshold 2 ms)"
        why = Measure("queue delay", row["queue_delay_us"], "us", "below 2 ms")
    elif shaken(row):
        why = _jitter(row["jitter_us"])
    return _of_replay(
        row,
        f"takes {subjects.l4s_aqm(row)} for a classic one {cause}:",
        why,
    )


def _long_queue(row: dict[str, Any]) -> bool:
    """Half of the time the queue itself, without the noise of the path, is above the threshold."""
    return bool((row["queue_delay_us"] or 0.0) >= DEPTH_US + (row["noise_us"] or 0.0))


def _of_replay(row: dict[str, Any], what: str, why: Measure) -> Finding:
    return Finding(
        CODE,
        Severity.NOTICE,
        Confidence.LOW,
        f"Prague's detector, if this kernel has one and runs it, {what} "
        f"its score, replayed from packets with correct thresholds, exceeds 8 for "
        f"{replayed_percent(row)} of the time. The reductions do not show whether the "
        "fallback acts.",
        "Record kernel state with `l4strace capture` to be certain.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        measures=(
            Measure("time above 8, correct thresholds", row["replayed_share"], "share"),
            why,
        ),
    )


def _finding(row: dict[str, Any]) -> Finding:
    packet_us = row["serialisation_us"] or 0.0
    slow = path_causes.slow(row) or _of_packets(row, "classic_mdev_us")
    rate = (row["rate_bps"] or 0.0) / 1e6
    mdev, depth = row["classic_mdev_us"] / 1000, row["classic_depth_us"] / 1000
    cause = f", as {PATH_CAUSES} can cause"
    if slow:
        took = f"one packet takes {packet_us / 1000:.1f} ms at {rate:.1f} Mbit/s"
        cause = f" because the link is slow: {took}"
    elif _long_queue(row):
        cause = " because its queue is long"
    elif shaken(row):
        cause = f" {shaken(row)}"
    replay = (
        f" A replay with the correct thresholds exceeds 8 too{_part(row)}."
        if (row["fixed_share"] or 0) > 0
        else ""
    )
    idle = UNUSED if unused(row) else outweighed(row)
    proven = subjects.proven_l4s(row)
    message = (
        f"Prague's detector took {subjects.l4s_aqm(row)} for a classic one"
        f"{part_of_time(row)}{cause}. RTT deviation was {mdev:.2f} ms (threshold 0.75 ms), "
        f"queue delay {depth:.1f} ms (threshold 2 ms).{replay}{idle}"
    )
    return Finding(
        CODE,
        Severity.NOTICE if slow or idle or not proven else Severity.WARNING,
        _confidence(row, proven, slow),
        message,
        _action(row, slow),
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["classic_since_ns"], row["last_ns"]),
        measures=(
            Measure("steps with a score above 8", row["classic_share"], "share", "0 on an L4S AQM"),
            Measure("the same steps, correct thresholds", row["fixed_share"] or 0.0, "share"),
            Measure("RTT deviation", row["classic_mdev_us"], "us", "below 0.75 ms"),
            Measure("queue delay", row["classic_depth_us"], "us", "below 2 ms"),
            _jitter(row["jitter_us"]) if shaken(row) and not slow else _packet(packet_us),
        ),
    )


def _part(row: dict[str, Any]) -> str:
    """Where the build has the scaling bug, how much of the score it does not explain."""
    fixed, recorded = row["fixed_share"], row["classic_share"]
    if row["build"] != BUGGY or recorded - fixed < BUG_ADDS:
        return ", so the scaling bug is not the cause"
    return f" in {share(fixed)} of the steps; the scaling bug makes that {share(recorded)}"


def _action(row: dict[str, Any], slow: bool) -> str:
    if slow:
        return "Set prague_ecn_fallback=0 on links this slow."
    if _long_queue(row):
        return "Find what keeps the queue long (L4S404): the fallback is right about its delay."
    if shaken(row):
        return "Find the hop that adds the jitter, or set prague_ecn_fallback=0 on this path."
    return (
        "Find what moves the RTT (L4S204, L4S405, L4S407 and L4S408 name what is shown), or set "
        "prague_ecn_fallback=0 on this path."
    )


RULE = Rule(
    CODE,
    "fallback-false-positive",
    "L4S AQM taken for classic because of the path.",
    check,
    __doc__,
)
