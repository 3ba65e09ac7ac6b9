"""What kernel logs record of Prague's classic-ECN fallback, one row per flow direction."""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.derive.vantage import once
from l4strace.evidence import Evidence, kept
from l4strace.prague.constants import (
    CLASSIC_THRESHOLD,
    CUT_FLOOR,
    DCTCP,
    DEPTH_REFERENCE_US,
    MDEV_REFERENCE_US,
    MIN_CWND,
    SCALABLE_THRESHOLD,
)
from l4strace.rules.support import subjects

MDEV_US, DEPTH_US = MDEV_REFERENCE_US, DEPTH_REFERENCE_US
"""The detector's references: RTT mean deviation and queue delay (srtt - min_rtt)."""

MIN_SHARE = 0.1
"""Share of the detector's steps from which a state counts. By eye, from the reductions that
Greenscreen23/prague-fallback-experiments traced on the corrected kernel: at most 0.01 of them are
classic behind DualPI2 at 8 Mbit/s and more."""

MISSED = 0.3
"""Share of steps above 8 up to which an AQM is missed: by eye; a score that flaps spends half of
its time there, a detector that works nearly all."""

MIN_STEPS = 20
"""Steps that the detector needs to exceed 8. At a queue delay of 6 ms and a deviation of 2.5 ms it
needs 5 (0.5 * log2(input / threshold) per input and step, prague_classic_ecn_detection); nearer to
the thresholds it needs more: four times as many by eye."""

SLOW_PACKET_US = 1500.0
"""Time of one packet from which the link itself makes the RTT deviation: 8 Mbit/s. On the corrected
kernel of Greenscreen23/prague-fallback-experiments, DualPI2 is taken for classic in every cell of
4 Mbit/s and in none of 8 Mbit/s."""

SHAKEN_US = 2 * MDEV_US
"""Jitter from which it alone makes the RTT deviation: `noise` gives half of its range, and a
uniform distribution deviates by a quarter of that."""

PATH_CAUSES = "jitter, reordering, a slow link, an overshoot or a change of the bottleneck"
"""What raises a correct score behind an L4S AQM: an overshoot for seconds, as it falls slowly."""

OWN_FUNCTIONS = ("ack", "alpha", "cwr")
"""Events of Prague's own functions: they show classic_ecn wherever the build has it."""

BY = ("flow", "forward")


@kept
def steps(evidence: Evidence) -> pl.DataFrame:
    """Detector steps that the kernel recorded, summarized per direction.

    `classic_share` is the share of steps with a score above 8, `classic_time` that of the time and
    `crossings` how often the score passed 8; `classic_since_ns` is the time of the first such step
    and `classic_time_since` the share of the time from then on.
    `mdev_us` and `depth_us` are medians over all steps, `classic_mdev_us` and `classic_depth_us`
    over those above 8. `fixed_share` and `buggy_share` are the same share in the replays with the
    correct and with the 20-bit thresholds. `build` is the build that most identified steps show,
    `residues` how many show it.
    """
    recorded = evidence.detector.filter(
        (pl.col("origin") == "kernel")
        & pl.col("score").is_not_null()
        & pl.col("flow").is_not_null()
    )
    score, above = pl.col("score"), pl.col("above")
    build = pl.col("build").drop_nulls().mode().sort().first()
    steps = _in_time(recorded, above=score > SCALABLE_THRESHOLD)
    # From one step to the next is all of the time, so from the first one above 8 to the last, too.
    since = pl.col("_above_ns") / (pl.col("last_ns") - pl.col("classic_since_ns"))
    summary = steps.group_by(BY, maintain_order=True).agg(
        pl.col("source").first().alias("log"),
        pl.len().alias("steps"),
        above.mean().alias("classic_share"),
        _time_share("above").alias("classic_time"),
        pl.when("above").then("lasted").sum().alias("_above_ns"),
        pl.col("crossed").sum().alias("crossings"),
        (score >= CLASSIC_THRESHOLD).mean().alias("full_share"),
        pl.col("ts_ns").filter(above).min().alias("classic_since_ns"),
        pl.col("ts_ns").max().alias("last_ns"),
        score.min().alias("score_min"),
        score.max().alias("score_max"),
        pl.col("mdev_us").median().alias("mdev_us"),
        pl.col("depth_us").median().alias("depth_us"),
        pl.col("mdev_us").filter(above).median().alias("classic_mdev_us"),
        pl.col("depth_us").filter(above).median().alias("classic_depth_us"),
        (pl.col("score_fixed") > SCALABLE_THRESHOLD).mean().alias("fixed_share"),
        (pl.col("score_buggy") > SCALABLE_THRESHOLD).mean().alias("buggy_share"),
        (pl.col("score_buggy") - score).abs().median().alias("buggy_error"),
        build.alias("build"),
        (pl.col("build") == build).sum().alias("residues"),
    )
    since = since.fill_nan(None).fill_null(pl.col("classic_time"))
    return summary.with_columns(classic_time_since=since).drop("_above_ns")


def _in_time(steps: pl.DataFrame, **states: pl.Expr) -> pl.DataFrame:
    """Steps with their ``states`` (`above` and others), each as a column.

    And with `lasted`, the time to the direction's next step, and `crossed`: `above` has changed.
    The table `detector` has them in the order of direction and time, so neighbors are what a
    shift of the whole column shows: many short flows are many groups.
    """
    ordered = steps.with_columns(**states)
    same = pl.all_horizontal(pl.col(key) == pl.col(key).shift() for key in BY)
    ahead = pl.col("ts_ns").shift(-1) - pl.col("ts_ns")
    return ordered.with_columns(
        lasted=pl.when(same.shift(-1)).then(ahead),
        crossed=same & (pl.col("above") != pl.col("above").shift()),
    )


def _time_share(state: str) -> pl.Expr:
    """Share of the time between steps; that of the steps where there is only one."""
    lasted = pl.col("lasted")
    share = pl.when(state).then(lasted).sum() / lasted.sum()
    return share.fill_nan(None).fill_null(pl.col(state).mean())


@kept
def replayed(evidence: Evidence) -> pl.DataFrame:
    """Detector steps replayed from packets with correct references, summarized per direction.

    `replayed_share` is the share of the time with a score that is above 8 for certain, and
    `replayed_most` that with one that may be: the packets bound the score, and leave the clock of
    the detector open (each round trip, or each 25 ms). `replayed_crossings` is how often it passed
    8, `replayed_since_ns` the first time; `replayed_min` and `replayed_max` are the range of the
    likeliest score. `replayed_mdev_us` and `replayed_depth_us` are medians over all rounds.
    """
    packets = once(evidence, evidence.detector.filter(pl.col("origin") == "packets"))
    score = pl.col("score_fixed")
    above, may_be = (
        pl.coalesce(f"score_fixed_{end}", score) > SCALABLE_THRESHOLD for end in ("lo", "hi")
    )
    steps = _in_time(packets, above=above, may_be=may_be, ts_above=pl.when(above).then("ts_ns"))
    return steps.group_by(BY, maintain_order=True).agg(
        _time_share("above").alias("replayed_share"),
        _time_share("may_be").alias("replayed_most"),
        pl.col("crossed").sum().alias("replayed_crossings"),
        score.min().alias("replayed_min"),
        score.max().alias("replayed_max"),
        pl.col("ts_above").min().alias("replayed_since_ns"),
        pl.col("mdev_us").median().alias("replayed_mdev_us"),
        pl.col("depth_us").median().alias("replayed_depth_us"),
    )


def replayed_percent(row: dict[str, Any]) -> str:
    """`40 %` of the time above 8, or `40 to 70 %` where the packets leave that open."""
    least, most = (f"{100 * row[name]:.0f}" for name in ("replayed_share", "replayed_most"))
    return f"{least} %" if least == most else f"{least} to {most} %"


@kept
def samples(evidence: Evidence) -> pl.DataFrame:
    """Prague's own samples per direction: whether a score is there, and whether it moved.

    Only samples with an alpha count. Where the log shows `init` (prague_init), earlier samples are
    left out: they show the private area of the socket before it was filled.
    """
    if evidence.kernel.is_empty():
        return alphas(evidence)
    return _summarized(_with_alpha(evidence).filter((pl.col("cc") != DCTCP).fill_null(True)))


@kept
def alphas(evidence: Evidence) -> pl.DataFrame:
    """The same for every congestion control with an alpha: Prague and DCTCP."""
    return _summarized(_with_alpha(evidence))


def _with_alpha(evidence: Evidence) -> pl.DataFrame:
    """Samples that show an alpha; of the widest table only what is asked for is copied."""
    known = evidence.kernel["flow"].is_not_null() & evidence.kernel["alpha"].is_not_null()
    needed = ("source", *BY, "ts_ns", "event", "cc", "classic_ecn", "alpha", "saw_ce")
    return evidence.kernel.select(*needed, "delivered_ce").filter(known)


def _summarized(prague: pl.DataFrame) -> pl.DataFrame:
    begun = pl.col("ts_ns").filter(pl.col("event") == "init").min().over(BY)
    prague = prague.filter(pl.col("ts_ns") >= pl.coalesce(begun, pl.col("ts_ns"))).sort("ts_ns")
    return prague.group_by(BY, maintain_order=True).agg(
        pl.col("source").first().alias("log"),
        pl.len().alias("samples"),
        pl.col("event").is_in(OWN_FUNCTIONS).any().alias("probed"),
        pl.col("classic_ecn").max().alias("score_max"),
        pl.col("alpha").last().alias("alpha_last"),
        pl.col("alpha").max().alias("alpha_max"),
        pl.col("alpha").n_unique().alias("alphas"),
        pl.col("saw_ce").max().alias("saw_ce"),
        pl.col("delivered_ce").max().alias("delivered_ce"),
        pl.col("delivered_ce").min().alias("delivered_ce_first"),
    )


@kept
def floorless(evidence: Evidence) -> pl.DataFrame:
    """CE reductions that the kernel made at a score of 9 or more, per log.

    `cuts` counts them; `at_half_alpha` is the share of them that stay at alpha/2 or below although
    the fallback would have reduced the window by 31 %: with prague_ecn_fallback=2 it only observes.
    That is a parameter of the module, so all flows of a host show it together. Cuts that do not
    show it are left out: at the smallest window nothing is reduced, and a large alpha asks for as
    much as the floor. `at_floor` is the share of those that are at that floor to the bit, which
    only a fallback that acts makes. `at_alpha` is the share of all CE reductions at such a score in
    which alpha/2 is at least that floor, so that the score changes nothing.
    """
    made = evidence.cuts.filter(
        (pl.col("origin") == "kernel")
        & (pl.col("cause") == "ce")
        & (pl.col("classic_ecn") >= CLASSIC_THRESHOLD)
    )
    room = pl.col("cwnd_before") * (1 - CUT_FLOOR) >= MIN_CWND
    cuts = made.filter(room.fill_null(True) & (pl.col("alpha") / 2 < CUT_FLOOR).fill_null(True))
    deep = (pl.col("alpha") / 2 >= CUT_FLOOR).fill_null(False)
    large = made.group_by(log="source").agg(pl.len().alias("made"), deep.mean().alias("at_alpha"))
    shown = cuts.group_by(log="source").agg(
        pl.len().alias("cuts"),
        # The law "none" alone is not that: no law fits some reductions of the fallback.
        ((pl.col("law") == "alpha/2") | (pl.col("fraction") <= pl.col("alpha") / 2))
        .fill_null(False)
        .mean()
        .alias("at_half_alpha"),
        (pl.col("law") == "floor").fill_null(False).mean().alias("at_floor"),
    )
    return large.join(shown, on="log", how="left")


@kept
def marks_since(evidence: Evidence) -> pl.DataFrame:
    """`marks_since`: CE that the kernel counted from the first step above 8 on, per direction.

    Without a mark there is no reduction, and nothing that the fallback could deepen. Directions
    whose log does not count CE have no row.
    """
    samples = evidence.kernel.select(*BY, "ts_ns", pl.col("delivered_ce").cast(pl.Int64))
    counted = samples.drop_nulls("delivered_ce")
    since = steps(evidence).select(*BY, "classic_since_ns")
    later = counted.join(since, on=BY).filter(pl.col("ts_ns") >= pl.col("classic_since_ns"))
    count = pl.col("delivered_ce")
    return later.group_by(BY).agg((count.max() - count.min()).alias("marks_since"))


def jitter(evidence: Evidence) -> pl.DataFrame:
    """`jitter_us` per direction, from the capture nearest to its sender."""
    return subjects.noise(evidence).select(*BY, "jitter_us")


def slow_link(row: dict[str, Any]) -> bool:
    """Whether the time of a packet makes the RTT deviation, and no jitter that is longer.

    For a row of `bottlenecks` joined with `jitter`.
    """
    packet = row["serialisation_us"] or 0.0
    return bool(packet >= SLOW_PACKET_US and packet >= (row["jitter_us"] or 0.0))


def shaken(row: dict[str, Any]) -> str:
    """`because of 2.8 ms of jitter`, where that alone explains the score; else what may."""
    added = row["jitter_us"] or 0.0
    return f"because of {added / 1000:.1f} ms of jitter" if added >= SHAKEN_US else ""


FLAPS = 4
"""Times that the score must pass 8 to flap: up and down twice."""

THROUGHOUT = 0.9
"""Share of the time from which a state is not qualified by its share: by eye."""

MIN_CUTS = 10
"""Reductions from which their law is judged: by eye; the share is then known to about 0.3."""

MAJORITY = 0.5

BUG_ADDS = 0.05
"""Share of the steps above 8 that correct thresholds do not give, from which the scaling bug is
named. By eye."""

BY_CHANCE = 0.1
"""Share of reductions that may lie at the floor although none used it: by eye."""


def only_observes(row: dict[str, Any]) -> bool:
    """Whether most reductions of a row joined with `floorless` ignore the score."""
    cuts, share = row["cuts"], row["at_half_alpha"]
    enough = isinstance(cuts, int) and cuts >= MIN_CUTS
    acts = (row["at_floor"] or 0.0) >= BY_CHANCE
    return enough and not acts and isinstance(share, float) and share > MAJORITY


def outweighed(row: dict[str, Any]) -> str:
    """A sentence, if alpha/2 alone cut the window as deep as the fallback does; else nothing."""
    made, share = row["made"] or 0, row["at_alpha"] or 0.0
    if made < MIN_CUTS or share < THROUGHOUT:
        return ""
    return (
        f" The score made hardly any reduction deeper: in {100 * share:.0f} % of them alpha/2 is "
        f"at least the fallback's {100 * CUT_FLOOR:.0f} %."
    )


def unused(row: dict[str, Any]) -> bool:
    """Whether no reduction used the score: it is only observed, or no mark came since it rose.

    For a row joined with `floorless` and `marks_since`.
    """
    return row["marks_since"] == 0 or only_observes(row)


@kept
def unused_by(evidence: Evidence) -> frozenset[tuple[int, bool]]:
    """Directions (`flow`, `forward`) in which no reduction that the log shows used the score."""
    if steps(evidence).is_empty():
        return frozenset()
    rows = steps(evidence).join(floorless(evidence), on="log", how="left")
    rows = rows.join(marks_since(evidence), on=BY, how="left")
    return frozenset(
        (row["flow"], row["forward"]) for row in rows.iter_rows(named=True) if unused(row)
    )


def part_of_time(row: dict[str, Any]) -> str:
    """` for 37 % of the time`, with the range of a score that flaps; nothing above 90 %."""
    return _part(row["classic_time"], row, "crossings", "score")


def part_of_time_since(row: dict[str, Any]) -> str:
    """The same of the time since the score first was above 8, for a sentence that names that."""
    return _part(row["classic_time_since"], row, "crossings", "score")


def replayed_part_of_time(row: dict[str, Any]) -> str:
    """The same of all of a flow, of a row joined with `replayed`."""
    return _part(row["replayed_share"], row, "replayed_crossings", "replayed", "the flow's time")


def _part(
    part: float, row: dict[str, Any], crossings: str, score: str, whole: str = "the time"
) -> str:
    if part >= THROUGHOUT:
        return ""
    text = f" for {100 * part:.0f} % of {whole}"
    if row[crossings] < FLAPS:
        return text
    return (
        f"{text} (the score flaps between {row[f'{score}_min']:.1f} and {row[f'{score}_max']:.1f})"
    )


def path_explains(row: dict[str, Any]) -> bool:
    """Whether correct references on the same inputs exceed 8 in half as many steps or more."""
    return bool((row["fixed_share"] or 0.0) >= max(MIN_SHARE, MAJORITY * row["classic_share"]))


BUGGY = "24-bit buggy"
"""The build with the scaling bug, as the table `detector` names it."""

NEAR = 0.9
"""Share of a threshold from which an input counts as high. By eye: an input near its threshold is
above it in some steps, and the score climbs in those."""


def inputs_are_high(row: dict[str, Any]) -> bool:
    """Whether queue delay or RTT deviation of the steps above 8 reach their thresholds, nearly."""
    mdev, depth = row["classic_mdev_us"], row["classic_depth_us"]
    return (mdev or 0.0) >= NEAR * MDEV_US or (depth or 0.0) >= NEAR * DEPTH_US


def explained(row: dict[str, Any]) -> bool:
    """Whether the score is high because of what the detector measured, not because of its build.

    Of the buggy build only a replay shows it: one high input may be outweighed by the other.
    """
    return path_explains(row) or (inputs_are_high(row) and row["build"] != BUGGY)


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
