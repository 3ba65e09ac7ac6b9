"""The first CE caused no reduction.

What it checks
--------------
With a kernel log: whether alpha was near 0 at the first reduction at CE and the window hardly
changed. Without one: whether the data in flight of an ECT(1) sender went on growing as in slow
start for two rounds after the first mark. Over UDP: whether the window of a Prague sender, as its
log (qlog, UDP Prague's -v) or UDP Prague's data in flight shows it, fell by less than a tenth in
the two round trips after the first mark.

Why it matters
--------------
With alpha at 0 the reduction, alpha/2, is nothing. Slow start goes on past the first marks and the
queue fills. UDP Prague, whose alpha starts at 0, has no slow start: it grows on more slowly, and
this is a notice.

Evidence
--------
`cuts.alpha`, `fraction` and `cwnd_before` of the kernel's first row of cause CE;
`kernel.delivered_ce` (whether the log shows the first mark); the data in flight in the first of the
`rounds` with marks, two before and two later; `flows.handshake`; `directions.data_ect1` (which
sender requests L4S). Over UDP `rounds.limited_by` and `directions.from_start`; of logs
(`udp_kernel`) `kernel.delivered_ce`, `frac_cwnd` and `snd_cwnd` of senders with `alpha`, or with
Prague as `cc`.

When it is wrong
----------------
Builds that start at 0 and halve the window at the first mark are correct and not reported; they too
lose the halving when the first ACK with a mark also acknowledges unmarked packets: slow start then
overwrites it (prague_update_cwnd). Logs and captures that start in the middle are left out. From
packets alone other causes of a late response look the same, hence medium confidence. Media over
RTP is not judged: not its window but the rate of the media may set what is in flight, and SCReAM's
log does not show which of the two a mark changed.

What to do
----------
Use a build that starts alpha at its maximum, or that halves the window at the first mark
(prague_alpha_mode=1 where it exists).

References
----------
tsvwg L4S issue 17; tcp_prague.c, prague_init; prague_cc.cpp (UDP Prague); heistp/sce-l4s-bakeoff
README, update of 2019-11-11
"""

import polars as pl

from l4strace.derive import overall
from l4strace.derive.senders import logged
from l4strace.evidence import Evidence, Row, over_udp
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import datagrams, subjects

ACTION = "Use a build that starts alpha at its maximum or halves the window at the first mark."
NEAR_ZERO = 0.01
"""Alpha at the first mark is 0 or 1 in the published builds (prague_init); by eye, near 0."""

NO_CUT = 0.1
"""Reduction between alpha/2 of such an alpha (0.5 %) and a halving: by eye."""

NO_REDUCTION_GROWTH = 1.2
"""Growth of the data in flight over two rounds after the first mark that is no reduction: by eye; a
full reduction halves it, additive increase adds one packet per round."""

DOUBLING = 2.0
"""Growth over the two rounds before the first mark that shows slow start, which makes 4."""

MIN_WINDOW = 16
"""Packets in flight from which such growth is not that of single packets: by eye."""

KERNEL_WINDOW = 8
"""Smallest window where the kernel recorded it, in packets: half of it is four packets. By eye."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose first mark was followed by no reduction."""
    kernel = _from_kernel(evidence)
    shown = [(row["flow"], row["forward"]) for row in kernel]
    results: list[Finding | Skipped] = [
        _kernel_finding(evidence, row)
        for row in kernel
        if row["alpha"] is not None
        and row["alpha"] < NEAR_ZERO
        and row["fraction"] < NO_CUT
        and row["cwnd_before"] >= KERNEL_WINDOW
    ]
    by_log = _from_logs(evidence)
    shown += [(row["flow"], row["forward"]) for row in by_log]
    results += [_log_finding(row) for row in by_log if row["fraction_hi"] < NO_CUT]
    for rows, severity in (
        (_from_packets(evidence), Severity.WARNING),
        (_over_udp(evidence), Severity.NOTICE),
    ):
        for row in rows.iter_rows(named=True):
            if (row["flow"], row["forward"]) not in shown:
                results.append(_packet_finding(row, severity))
    hidden = datagrams.ect1(evidence).filter((pl.col("transport") == "quic") | ~pl.col("reported"))
    return [*results, *datagrams.media(evidence), *datagrams.unlogged(evidence, hidden)]


def _from_kernel(evidence: Evidence) -> list[Row]:
    cuts = evidence.cuts.filter((pl.col("origin") == "kernel") & (pl.col("cause") == "ce"))
    if cuts.is_empty():
        return []
    first = cuts.sort("ts_ns").unique(subjects.DIRECTION, keep="first", maintain_order=True)
    seen = evidence.kernel.group_by(subjects.DIRECTION).agg(pl.col("delivered_ce").min())
    late = seen.filter(pl.col("delivered_ce") > 1)
    whole = first.join(late, on=subjects.DIRECTION, how="anti", maintain_order="left")
    return list(whole.iter_rows(named=True))


def _from_logs(evidence: Evidence) -> list[Row]:
    """What each Prague sender in user space made of its first mark, where its log begins before."""
    if evidence.udp_kernel.is_empty():
        return []
    counted = logged.windows(evidence).group_by(subjects.KEY).agg(pl.col("ce").min())
    whole = counted.filter(pl.col("ce") == 0)
    marked = logged.responses(evidence, "ce").join(whole, on=subjects.KEY, how="semi")
    first = marked.sort("ts_ns").unique(subjects.DIRECTION, keep="first", maintain_order=True)
    return first.filter(pl.col("cwnd_before") >= KERNEL_WINDOW).to_dicts()


def _from_packets(evidence: Evidence) -> pl.DataFrame:
    """Directions of ECT(1) senders whose data in flight grew on past their first marks."""
    inflight = pl.col("mark_inflight")
    return _senders(evidence, subjects.begun(evidence)).filter(
        inflight >= MIN_WINDOW,
        inflight >= DOUBLING * pl.col("mark_before"),
        pl.col("mark_later") >= NO_REDUCTION_GROWTH * inflight,
    )


def _senders(evidence: Evidence, flows: pl.DataFrame) -> pl.DataFrame:
    """What the rounds of ECT(1) senders in ``flows`` show."""
    senders = subjects.scalable(evidence).join(flows, on=["source", "flow"], how="semi")
    return (
        overall.directions(evidence).join(senders, on=subjects.KEY, how="semi").sort(subjects.KEY)
    )


def _over_udp(evidence: Evidence) -> pl.DataFrame:
    """Directions of UDP Prague whose data in flight, their window, did not fall after their marks.

    It has no slow start: the window need not grow.
    """
    flows = over_udp(evidence).filter(transport="udp-prague").select("source", "flow")
    begun = evidence.directions.filter("from_start")
    inflight = pl.col("mark_inflight")
    return (
        _senders(evidence, flows)
        .join(begun, on=subjects.KEY, how="semi", maintain_order="left")
        .filter(
            "mark_windowed",
            inflight >= KERNEL_WINDOW,
            pl.col("mark_later") >= (1 - NO_CUT) * inflight,
        )
    )


def _kernel_finding(evidence: Evidence, row: Row) -> Finding:
    return Finding(
        Severity.WARNING,
        Confidence.HIGH,
        f"Alpha was {row['alpha']:.3f} at the first CE in the log, so the window of "
        f"{row['cwnd_before']:,.0f} packets {_shrank(row['fraction'])}.",
        ACTION,
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["ts_ns"], row["ts_ns"]),
        **subjects.at(evidence, row["flow"], row["forward"], row["ts_ns"]),
        measures=(
            Measure("alpha at the first CE", row["alpha"], "", "1, or a halved window"),
            Measure("first reduction", row["fraction"], "share", "50 %"),
        ),
    )


def _shrank(fraction: float) -> str:
    percent = f"{100 * fraction:.1f}"
    return "did not shrink" if percent == "0.0" else f"shrank by only {percent} %"


def _log_finding(row: Row) -> Finding:
    before, after = row["cwnd_before"], row["cwnd_after"]
    return Finding(
        Severity.NOTICE,
        Confidence.HIGH,
        f"The first CE caused no reduction: the sender's log has a window of {round(before, 1):g} "
        f"packets before it and at least {round(after, 1):g} in the two round trips after, as with "
        "an alpha that starts at 0.",
        ACTION,
        **direction_of(row),
        span_ns=(row["ts_ns"], row["ts_ns"]),
        measures=(
            Measure("window at the first CE", before, "packet"),
            Measure("least window after it", after, "packet", "about half"),
        ),
    )


def _packet_finding(row: Row, severity: Severity) -> Finding:
    return Finding(
        severity,
        Confidence.MEDIUM,
        f"The first CE caused no reduction: {row['mark_inflight']:,} packets were in flight in "
        f"its round and {row['mark_later']:,} two rounds later, as with an alpha that starts at 0.",
        ACTION,
        **direction_of(row),
        span_ns=(row["mark_start_ns"], row["mark_end_ns"]),
        frames=(row["mark_first_frame"], row["mark_last_frame"]),
        measures=(
            Measure("in flight at the first CE", row["mark_inflight"], "packet"),
            Measure("in flight two rounds later", row["mark_later"], "packet", "about half"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "The first CE caused no reduction")
