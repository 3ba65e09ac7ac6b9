"""The `laws` table: how an ECT(1) sender's window responds to marks, over its whole trajectory.

The window after every usable mark (`windows`) is predicted under each hypothesis, and the
likelihoods of the hypotheses are compared.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from l4strace.derive import company, windows
from l4strace.derive.cuts import HALF
from l4strace.derive.windows import ROUNDING
from l4strace.evidence import Capture
from l4strace.prague.constants import CUT_FLOOR, SCALABLE_THRESHOLD
from l4strace.schema.evidence import LAWS
from l4strace.schema.keys import KEY, SENDER

SETTLED = 8
"""Rounds after the first mark that are left out: slow start ends there, and builds halve the
window at the first mark by rules of their own. By eye: three round trips and the ramp of the
reduction."""

ENOUGH, LEAD, LEAD_EACH = 5, 6.0, 0.1
"""Rounds, log-likelihood ahead of other laws (odds of 400 to 1), and that per round: a small
bias of the model adds up over thousands of rounds. By eye, from the runs of the lab, where a law
that is right leads by 0.6 to 6 per round."""

ENOUGH_WITH_HOST = 3
"""Rounds that a flow must have before its host's law counts for it. By eye."""

DEEP = 2 * ROUNDING / (HALF - CUT_FLOOR)
"""Packets of a window from which a reduction by half and one to the floor differ by twice what
counting whole packets hides."""

MISFIT = 1.5
"""Mean cost (nats) per round up to which the best law explains the window as assumed: a Gaussian
error costs 0.5. By eye."""

GAUSSIAN_COST, WORST_FIT = 0.5, 2.0
"""Cost that errors of the assumed size have, and the largest at which a law is still named: errors
that cost more are larger than assumed, and the leads shrink with their variance (quasi-likelihood;
Burnham and Anderson 2002, section 2.5: up to four times the variance)."""

OFTEN = 0.1
"""Share of usable rounds in which the replayed score asks for more than alpha/2, from which alpha/2
must explain the window better than that score to be named. By eye, as for the detector's steps."""

ALPHAS = {
    "alpha": (False, False),
    "alpha from 0": (False, True),
    "alpha_25ms": (True, False),
    "alpha_25ms from 0": (True, True),
}
"""Whether the build keeps to 25 ms from its fourth round on, and whether it starts at 0."""
FLOORS = ("fixed", "buggy", "always")


class Law(NamedTuple):
    """One hypothesis: the share of the window that a reduction gives up."""

    name: str
    family: str
    fraction: pl.Expr


def table(capture: Capture) -> pl.DataFrame:
    """One row per direction of an ECT(1) sender with usable marks, seen nearest to the sender."""
    usable = windows.usable(capture).filter(pl.col("alpha_updates") > SETTLED)
    if usable.is_empty():
        return LAWS.empty()
    laws = _laws()
    judged = usable.group_by(KEY, maintain_order=True).agg(
        pl.len().alias("samples"),
        pl.col("isolated").sum(),
        pl.col("before").median().alias("window_packets"),
        windows.given().filter("isolated").median().alias("fraction"),
        (pl.col("alpha") / 2).median().alias("half_alpha"),
        pl.col("start_ns").min().alias("first_ns"),
        pl.col("end_ns").max().alias("last_ns"),
        _asks_for_more().mean().alias("asked"),
    )
    likelihoods = windows.log_likelihoods(usable, KEY, {law.name: law.fraction for law in laws})
    senders = company.directions(capture).select(*KEY, "sender")
    for known in (likelihoods, senders):
        judged = judged.join(known, on=KEY, how="left", maintain_order="left")
    own, hosts = _decided(_by_family(judged, laws)), _of_hosts(judged, laws)
    if hosts.is_empty():
        return LAWS.conform(own.with_columns(by_host=pl.lit(False)))
    return LAWS.conform(_with_hosts(own, _decided(_by_family(hosts, laws))))


def _of_hosts(judged: pl.DataFrame, laws: list[Law]) -> pl.DataFrame:
    """All rounds of each host that sends several flows, as if they were of one."""
    count = pl.col("samples")
    means = ("window_packets", "half_alpha", "asked")
    return (
        judged.drop_nulls("sender")
        .group_by(SENDER)
        .agg(
            *(_mean(name, count) for name in means),
            *(pl.col(law.name).sum() for law in laws),
            count.sum(),
            pl.col("isolated").sum(),
            _mean("fraction", pl.col("isolated")),
            pl.len().alias("flows"),
        )
        .filter(pl.col("flows") > 1)
    )


def _mean(name: str, count: pl.Expr) -> pl.Expr:
    """Mean of what the flows of a host show, each as often as it has rounds that show it."""
    known = count.filter(pl.col(name).is_not_null())
    return ((pl.col(name) * count).sum() / known.sum()).fill_nan(None).alias(name)


def _with_hosts(own: pl.DataFrame, hosts: pl.DataFrame) -> pl.DataFrame:
    """One kernel makes all flows of a host: what they show together counts where one shows little.

    A flow may be too short to show the floor, or seem to follow alpha/2 by a narrow lead, although
    its score asks for the floor that its host's reductions have.
    """
    known = hosts.filter(pl.col("law") == "floor").select(
        *SENDER, host_lead="lead", host_references="references"
    )
    rows = own.join(known, on=SENDER, how="left", maintain_order="left")
    due = (pl.col("asked") >= OFTEN) | (pl.col("host_references") == "wrong")
    due = (pl.col("host_lead").is_not_null() & due).fill_null(False)
    open_ = (pl.col("ll_half_alpha") - pl.col("ll_floor") < LEAD) & (pl.col("misfit") <= MISFIT)
    joins = due & pl.col("law").is_null() & open_ & (pl.col("samples") >= ENOUGH_WITH_HOST)
    narrow = due & (pl.col("law") == "alpha/2") & (pl.col("lead") < pl.col("host_lead"))
    return rows.with_columns(
        by_host=joins,
        law=pl.when(joins).then(pl.lit("floor")).when(~narrow.fill_null(False)).then("law"),
        lead=pl.when(joins).then("host_lead").when(~narrow.fill_null(False)).then("lead"),
        references=pl.when(joins).then("host_references").otherwise("references"),
    )


def apart() -> pl.Expr:
    """Of rows of `laws`: reductions by alpha/2 and to the floor can be told apart in these windows.

    They differ by twice what counting whole packets hides.
    """
    deeper = (CUT_FLOOR - pl.col("half_alpha")) * pl.col("window_packets")
    return (deeper >= 2 * ROUNDING).fill_null(False)


def _laws() -> list[Law]:
    """Every hypothesis. Alpha may start at 1 or at 0, and be updated each round or each 25 ms."""
    alphas = {name: windows.alpha(paced, from_zero) for name, (paced, from_zero) in ALPHAS.items()}
    floors = {
        "fixed": _floor("classic_ecn"),
        "buggy": _floor("classic_ecn_buggy"),
        "always": pl.lit(CUT_FLOOR),
    }
    laws = [Law("half", "half", pl.lit(0.5)), Law("none", "none", pl.lit(0.0))]
    for kind, alpha in alphas.items():
        laws.append(Law(f"half {kind}", "half_alpha", alpha / 2))
        for name, floor in floors.items():
            deeper = pl.max_horizontal(alpha / 2, floor)
            laws.append(Law(f"{name} {kind}", f"floor_{name}", deeper))
    return laws


def _asks_for_more() -> pl.Expr:
    """Whether the score with correct references makes the floor deeper than alpha/2."""
    return _floor("classic_ecn") > pl.col("alpha") / 2


def _floor(score: str) -> pl.Expr:
    return CUT_FLOOR * (pl.col(score) - SCALABLE_THRESHOLD).clip(0, 1)


def _by_family(judged: pl.DataFrame, laws: list[Law]) -> pl.DataFrame:
    """The likelihood of each family is that of its best member."""
    families = {law.family: [m.name for m in laws if m.family == law.family] for law in laws}
    best = [pl.max_horizontal(names).alias(f"ll_{family}") for family, names in families.items()]
    return judged.with_columns(best).drop(law.name for law in laws)


def _decided(judged: pl.DataFrame) -> pl.DataFrame:
    """Adds `law`, `lead`, `misfit`, and `references`: which score the floor follows."""
    floors = [f"ll_floor_{name}" for name in FLOORS]
    judged = judged.with_columns(pl.max_horizontal(floors).alias("ll_floor"))
    half_alpha, floor, half, none, always = (
        pl.col(f"ll_{name}") for name in ("half_alpha", "floor", "half", "none", "floor_always")
    )
    # A floor that waits for a score which never comes is alpha/2: it must gain something.
    deep = pl.col("window_packets") >= DEEP
    # Where the score asks for the floor, alpha/2 must be told apart from it.
    asked_for = half_alpha - pl.col("ll_floor_fixed") >= LEAD
    over = {
        "floor": pl.when(deep)
        .then(floor - pl.max_horizontal(half_alpha, half, none))
        .otherwise(pl.max_horizontal(floor, half) - pl.max_horizontal(half_alpha, none)),
        "half": pl.when(deep).then(half - pl.max_horizontal(half_alpha, floor, none)),
        "none": none - pl.max_horizontal(half_alpha, floor, half),
        "alpha/2": pl.when((floor - half_alpha < LEAD) & (apart() | ~asked_for)).then(
            half_alpha - pl.max_horizontal(always, half)
        ),
    }
    needed, misfit = pl.col("needed"), pl.col("misfit")
    judged = judged.with_columns(
        needed=pl.max_horizontal(pl.lit(LEAD), LEAD_EACH * pl.col("samples")),
        misfit=-pl.max_horizontal(floor, half, none, half_alpha) / pl.col("samples"),
        **over,
    )
    fixed, open_ = pl.col("ll_floor_fixed"), pl.col("asked") >= OFTEN
    # A single reduction shows the floor plainly: it is nearer to the floor than to alpha/2.
    plain = pl.col("fraction").fill_null(CUT_FLOOR) >= (pl.col("half_alpha") + CUT_FLOOR) / 2
    # At an alpha near 0 the reduction hides in the noise: no reduction then explains as much.
    # Nor is alpha/2 what single reductions near the floor follow, where none explains the rest.
    deeper = plain & (pl.col("isolated") >= ENOUGH) & (half_alpha - none < needed)
    hidden = {
        "alpha/2": (none - half_alpha < needed) & ~(open_ & (half_alpha - fixed < LEAD)) & ~deeper,
        "floor": plain | (pl.col("isolated") < ENOUGH),
    }
    enough = (pl.col("samples") >= ENOUGH) & (misfit <= WORST_FIT)
    certain = pl.when(misfit > MISFIT).then(GAUSSIAN_COST / misfit).otherwise(1.0)
    named = [
        pl.when(enough & (certain * pl.col(law) >= needed) & hidden.get(law, True)).then(
            pl.lit(law)
        )
        for law in over
    ]
    judged = judged.with_columns(law=pl.coalesce(named))
    law = pl.col("law")
    lead = pl.coalesce(pl.when(law == name).then(name) for name in over)
    behind = pl.max_horizontal("ll_floor_buggy", "ll_floor_always") - pl.col("ll_floor_fixed")
    references = (
        pl.when(behind >= needed).then(pl.lit("wrong")).when(behind < LEAD).then(pl.lit("correct"))
    )
    followed = pl.when(law == "floor").then(references)
    return judged.with_columns(lead=lead, references=followed).drop(*over)
