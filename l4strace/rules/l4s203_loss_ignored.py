"""A sender does not slow down after loss.

What it checks
--------------
Whether the data in flight falls by at least a tenth in the two rounds after retransmissions; of UDP
Prague in those after losses that its receiver reports. Where the log of a Prague sender over UDP
(qlog, UDP Prague's -v) shows window and losses, these count.

Why it matters
--------------
Loss is the one congestion signal that every path can give. A sender that ignores it can collapse a
FIFO.

Evidence
--------
`cuts.fraction`, `fraction_hi`, `cwnd_before` and `round` of cause `loss`, as packets show them;
`bottlenecks.idle_loss`, `noise.late_share` and, with both ends, `paths.lost`: packets that arrive
late are retransmitted too, and the sender that notices undoes its reduction. Only SACK shows late
packets, so `directions.options_cut` of the ACKs counts. `directions.cc` names a sender whose law
explains it. Of logs over UDP `kernel.lost_packets`, `frac_cwnd` and `snd_cwnd`.

When it is wrong
----------------
Losses at the end of a transfer, after which there is nothing to send. Directions whose
retransmissions may be needless (reordering, losses without a queue, which one capture cannot
distinguish from it, or a snaplen that cuts SACK off) are left out. Rounds with fewer than 8 packets
in flight are left out. BBR sends at the rate that it measured and reduces only after heavy loss:
where a log or a host file names it, this is a notice. Media over RTP is not judged: not its window
but the rate of the media may set what is in flight, and SCReAM's log counts no losses.

What to do
----------
Check the sender's congestion control.

References
----------
RFC 9331 section 4.3 (response to loss); RFC 5681 section 3.1; heistp/sce-l4s-ect1 README;
draft-ietf-ccwg-bbr (response to loss)
"""

import polars as pl

from l4strace.derive.noise import REORDERED
from l4strace.derive.senders import logged
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.l4s201_ece_ignored import MAJORITY, MIN_WINDOW
from l4strace.rules.support import clocks, datagrams, subjects
from l4strace.wording.quantities import count

MIN_EPISODES = 3
"""Episodes of loss from which the sender is judged: by eye."""

NO_CUT = 0.1
"""A third of the smallest loss response in use: CUBIC gives up three tenths (RFC 9438 section 4.6),
Reno and Prague a half (RFC 5681 section 3.1, prague_enter_loss)."""

REALLY_LOST = 0.5
"""Packets that never arrived, as part of those retransmitted, below which most were needless."""

BBR = "bbr"
"""How the names of all its versions begin: `bbr`, `bbr2`, `bbr3`."""

RECOVERY_ROUNDS = 4
"""Rounds with retransmissions that are this close are one episode: by eye; without SACK a recovery
repairs one loss per round trip (RFC 6582)."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose data in flight does not fall after most losses."""
    cuts = subjects.once(evidence, evidence.cuts).filter(
        (pl.col("cause") == "loss")
        & (pl.col("origin") == "packets")
        & (pl.col("cwnd_before") >= MIN_WINDOW)
    )
    by_log = logged.responses(evidence, "lost").filter(pl.col("cwnd_before") >= MIN_WINDOW)
    cuts = _with_logged(cuts, by_log)
    gap = (pl.col("round") - pl.col("round").shift()).over(subjects.KEY)
    episode = (gap > RECOVERY_ROUNDS).fill_null(True).cast(pl.Int64).cum_sum().over(subjects.KEY)
    episodes = (
        cuts.sort(*subjects.KEY, "round")
        .with_columns(episode.alias("episode"))
        .group_by(*subjects.KEY, "episode", maintain_order=True)
        .agg(pl.col("fraction_hi").max(), pl.col("ts_ns").min(), pl.col("fraction").max())
    )
    ignored = (
        episodes.group_by(subjects.KEY, maintain_order=True)
        .agg(
            pl.len().alias("episodes"),
            (pl.col("fraction_hi") < NO_CUT).mean().alias("ignored"),
            pl.col("fraction").median(),
            pl.col("ts_ns").min().alias("first_ns"),
            pl.col("ts_ns").max().alias("last_ns"),
        )
        .filter((pl.col("episodes") >= MIN_EPISODES) & (pl.col("ignored") >= MAJORITY))
    )
    senders = datagrams.flows(evidence).join(by_log, on=subjects.DIRECTION, how="anti")
    unknown = [*datagrams.media(evidence), *datagrams.unread(senders)]
    if ignored.is_empty():
        return [*unknown]
    # What its own log counts as lost the sender took for lost, whatever the path did.
    needless = pl.concat(
        [_late(evidence), _needless(evidence).join(by_log, on=subjects.DIRECTION, how="anti")]
    )
    unsure = ignored.join(needless, on=subjects.DIRECTION, how="semi")
    results: list[Finding | Skipped] = [
        _finding(row, subjects.control(evidence, row["flow"], row["forward"]))
        for row in ignored.join(needless, on=subjects.DIRECTION, how="anti").iter_rows(named=True)
    ]
    if unsure.height:
        reason = f"{count(unsure.height, 'flow direction')}: reordering may explain the losses"
        results.append(Skipped(reason))
    return clocks.measurable(evidence, [*results, *unknown])


def _with_logged(cuts: pl.DataFrame, by_log: pl.DataFrame) -> pl.DataFrame:
    """Episodes as packets show them, and in their place as the sender's own log does."""
    if by_log.is_empty():
        return cuts
    names = (*subjects.KEY, "round", "ts_ns", "fraction", "fraction_hi")
    others = cuts.join(by_log, on=subjects.DIRECTION, how="anti").select(names)
    own = by_log.select(names).cast({name: others.schema[name] for name in names})
    return pl.concat([others, own])


def _late(evidence: Evidence) -> pl.DataFrame:
    """Directions that are reordered."""
    late = subjects.noise(evidence).filter(pl.col("late_share") >= REORDERED)
    return late.select(subjects.DIRECTION)


def _needless(evidence: Evidence) -> pl.DataFrame:
    """Directions whose retransmissions need not mean loss for other reasons."""
    near = subjects.once(evidence, evidence.bottlenecks)
    idle = near.filter(pl.col("idle_loss"))
    lost = near.join(subjects.lost_between(evidence), on=subjects.DIRECTION, how="inner")
    found = lost.filter(pl.col("lost") < REALLY_LOST * pl.col("losses"))
    # Options of the flow's other direction: that is where the ACKs travel.
    cut = evidence.directions.filter(pl.col("options_cut") > 0).with_columns(~pl.col("forward"))
    blind = cut.join(near, on=subjects.KEY, how="semi")
    kinds = (idle, found, blind)
    return pl.concat([rows.select(subjects.DIRECTION) for rows in kinds]).unique()


def _finding(row: Row, control: str) -> Finding:
    bbr = control.startswith(BBR)
    who = f"The sender ({control})" if control else "The sender"
    so = f": {control} keeps to the rate that it measured, by design" if bbr else ""
    action = "Check the sender's congestion control."
    return Finding(
        Severity.NOTICE if bbr else Severity.WARNING,
        Confidence.MEDIUM,
        f"{who} did not slow down after loss: its data in flight fell by less than "
        f"{100 * NO_CUT:.0f} % in {round(row['ignored'] * row['episodes']):,} of "
        f"{count(row['episodes'], 'episode')} of loss{so}.",
        f"Beside other flows at a small buffer, prefer another than {control}." if bbr else action,
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(Measure("median reduction after loss", row["fraction"], "share", "30 to 50 %"),),
    )


RULE = Rule.of(__name__, __doc__, check, "The sender does not slow down after loss")
