"""The `laws` table: how an ECT(1) sender's window responds to marks, over its whole trajectory.

The window after every usable mark is predicted under each hypothesis
(`native/src/measure/windows.rs`), and the likelihoods of the hypotheses are compared.
"""

from __future__ import annotations

import polars as pl
import polars.selectors as cs

from l4strace.core import _native
from l4strace.derive import behind, neighbors
from l4strace.derive.measured import measured
from l4strace.derive.senders.cuts import HALF
from l4strace.evidence import Capture
from l4strace.prague.constants import CUT_FLOOR
from l4strace.schema.evidence import LAWS
from l4strace.schema.keys import KEY, SENDER

ROUNDING: float = _native.ROUNDING
"""Smallest error of a predicted window: two counts of whole packets."""

MIN_LAW_ROUNDS, LEAD, LEAD_EACH = 5, 6.0, 0.1
"""Rounds, log-likelihood ahead of other laws (odds of 400 to 1), and that per round: a small
bias of the model adds up over thousands of rounds. By eye, from the runs of the lab, where a law
that is right leads by 0.6 to 6 per round."""

ENOUGH_WITH_HOST = 3
"""Rounds that a flow must have before its host's law counts for it. By eye."""

DEEP_WINDOW_PACKETS = 2 * ROUNDING / (HALF - CUT_FLOOR)
"""Packets of a window from which a reduction by half and one to the floor differ by twice what
counting whole packets hides."""

MISFIT = 1.5
"""Mean cost (nats) per round up to which the best law explains the window as assumed: a Gaussian
error costs 0.5. By eye."""

GAUSSIAN_COST, WORST_FIT = 0.5, 2.0
"""Cost that errors of the assumed size have, and the largest at which a law is still named: errors
that cost more are larger than assumed, and the leads shrink with their variance (quasi-likelihood;
Burnham and Anderson 2002, section 2.5: up to four times the variance)."""

ASKED_SHARE = 0.1
"""Share of usable rounds in which the replayed score asks for more than alpha/2, from which alpha/2
must explain the window better than that score to be named. By eye, as for the detector's steps."""

FLOORS = ("floor_fixed", "floor_buggy", "floor_always")
FAMILIES = ("half", "none", "half_alpha", *FLOORS)
"""Hypotheses on what a reduction gives up. Members differ by build: alpha may start at 1 or at 0,
and be updated each round or each 25 ms."""

MEMBERS = cs.matches("^.* [0-9]+$")
"""Log-likelihoods of these, by family and number."""


def table(capture: Capture) -> pl.DataFrame:
    """One row per direction of an ECT(1) sender with usable marks, seen nearest to the sender.

    Behind the queue that marks no more is in flight than it lets pass.
    """
    found = pl.DataFrame(measured(capture).laws()).sort(KEY)
    found = found.join(behind.directions(capture), on=KEY, how="anti", maintain_order="left")
    if found.is_empty():
        return LAWS.empty()
    senders = neighbors.directions(capture).select(*KEY, "sender")
    judged = found.join(senders, on=KEY, how="left", maintain_order="left")
    own, hosts = _decided(_by_family(judged)), _of_hosts(judged)
    if hosts.is_empty():
        return LAWS.conform(own.with_columns(by_host=pl.lit(False)))
    return LAWS.conform(_with_hosts(own, _decided(_by_family(hosts))))


def _of_hosts(judged: pl.DataFrame) -> pl.DataFrame:
    """All rounds of each host that sends several flows, as if they were of one."""
    count = pl.col("samples")
    means = ("window_packets", "half_alpha", "asked")
    return (
        judged.drop_nulls("sender")
        .group_by(SENDER)
        .agg(
            *(_mean(name, count) for name in means),
            MEMBERS.sum(),
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
    due = (pl.col("asked") >= ASKED_SHARE) | (pl.col("host_references") == "wrong")
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
    """Whether the windows of a row of `laws` tell reductions by alpha/2 from those to the floor.

    They differ by twice what counting whole packets hides.
    """
    deeper = (CUT_FLOOR - pl.col("half_alpha")) * pl.col("window_packets")
    return (deeper >= 2 * ROUNDING).fill_null(False)


def _by_family(judged: pl.DataFrame) -> pl.DataFrame:
    """The likelihood of each family is that of its best member."""
    best = [pl.max_horizontal(f"^{family} .*$").alias(f"ll_{family}") for family in FAMILIES]
    return judged.with_columns(best).drop(MEMBERS)


def _decided(judged: pl.DataFrame) -> pl.DataFrame:
    """Adds `law`, `lead`, `misfit`, and `references`: which score the floor follows."""
    floors = pl.max_horizontal(f"ll_{name}" for name in FLOORS)
    judged = judged.with_columns(floors.alias("ll_floor"))
    half_alpha, floor, half, none, always = (
        pl.col(f"ll_{name}") for name in ("half_alpha", "floor", "half", "none", "floor_always")
    )
    # A floor that waits for a score which never comes is alpha/2: it must gain something.
    deep = pl.col("window_packets") >= DEEP_WINDOW_PACKETS
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
    fixed, open_ = pl.col("ll_floor_fixed"), pl.col("asked") >= ASKED_SHARE
    # A single reduction shows the floor plainly: it is nearer to the floor than to alpha/2.
    plain = pl.col("fraction").fill_null(CUT_FLOOR) >= (pl.col("half_alpha") + CUT_FLOOR) / 2
    # At an alpha near 0 the reduction hides in the noise: no reduction then explains as much.
    # Nor is alpha/2 what single reductions near the floor follow, where none explains the rest.
    deeper = plain & (pl.col("isolated") >= MIN_LAW_ROUNDS) & (half_alpha - none < needed)
    hidden = {
        "alpha/2": (none - half_alpha < needed) & ~(open_ & (half_alpha - fixed < LEAD)) & ~deeper,
        "floor": plain | (pl.col("isolated") < MIN_LAW_ROUNDS),
    }
    enough = (pl.col("samples") >= MIN_LAW_ROUNDS) & (misfit <= WORST_FIT)
    certain = pl.when(misfit > MISFIT).then(GAUSSIAN_COST / misfit).otherwise(1.0)
    named = [
        pl.when(enough & (certain * pl.col(law) >= needed) & hidden.get(law, True)).then(
            pl.lit(law)
        )
        for law in over
    ]
    # The floor or one half, whichever: both are far from what alpha/2 asks for.
    deep_lead = pl.max_horizontal(floor, half) - pl.max_horizontal(half_alpha, none)
    shown = enough & plain & (pl.col("isolated") >= MIN_LAW_ROUNDS)
    named.append(pl.when(shown & (certain * deep_lead >= needed)).then(pl.lit("deep")))
    judged = judged.with_columns(law=pl.coalesce(named))
    law = pl.col("law")
    leads = [pl.when(law == name).then(name) for name in over]
    lead = pl.coalesce(*leads, pl.when(law == "deep").then(deep_lead))
    behind = pl.max_horizontal("ll_floor_buggy", "ll_floor_always") - pl.col("ll_floor_fixed")
    references = (
        pl.when(behind >= needed).then(pl.lit("wrong")).when(behind < LEAD).then(pl.lit("correct"))
    )
    followed = pl.when(law == "floor").then(references)
    return judged.with_columns(lead=lead, references=followed).drop(*over)
