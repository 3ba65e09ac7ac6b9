"""Fallback as the reductions on the wire show it.

What it checks
--------------
Which law explains how the window of an ECT(1) sender follows its marks over the whole trace:
alpha/2, the classic-ECN fallback's floor of 31 % under it, or one half (which windows of 7 packets
and fewer do not distinguish from the floor, nor marks on their way that make a second reduction). A
law counts where its log-likelihood leads that of the laws that it rules out by 6, and by 0.1 for
each marked round. Three or four rounds show the floor, with low confidence, where it explains them
far better. Then whether that law suits the bottleneck that the packets show and the score that
correct thresholds give, replayed from packets. Directions with a recorded score are left to the
other L4S3xx rules.

Of senders over UDP their own log shows the reductions (qlog, UDP Prague's `-v`): those that are
nearer to the floor than to alpha/2 are classic ones.

Why it matters
--------------
Most captures come without kernel state. A reduction of 31 % at an alpha of 0.02 shows in the
packets alone: it is thirty times what alpha/2 gives.

Evidence
--------
`fallback.state`, `justified_by` and `shown_by`, which rest on: `laws.law`, `misfit`,
`references`, `by_host`, `fraction`, `half_alpha` and the likelihoods; `detector.score_fixed`, its
bounds `score_fixed_lo` and `score_fixed_hi`, `mdev_us` and `depth_us`, replayed from packets;
`bottlenecks.kind`, `confidence`, `marking_delay_us` and `serialisation_us`; `noise.jitter_us`;
`phases.capacity_shown`; `directions.data_ect1` (which sender requests L4S); `coexistence`;
`kernel.classic_ecn` and `event` (which directions have a recorded score, or a build without one).
Of senders over UDP `udp_kernel.frac_cwnd` or `snd_cwnd`, `delivered_ce`, `delivered`,
`lost_packets` and the RTT. SCReAM's log is left out: it counts no losses, and SCReAM reduces by
queue delay as well.

When it is wrong
----------------
Other senders may use ECT(1) and reduce by about 30 % of their own accord, as CUBIC does: where
neither a log nor a host file names Prague (`directions.cc`), a misfire is a warning. In windows of
a few packets, or with alpha near 0.6, a reduction to the floor and one by alpha/2 differ by less
than counting whole packets hides: the rule then does not say that the fallback misfires, nor, where
the score asks for the floor, that it does not act.

What to do
----------
As for L4S301 (misfire), L4S303 (the path) or L4S305 (no fallback behind a classic AQM). Record
kernel state with `l4strace capture` to be certain. A classic sender over UDP needs ECT(0), or a
scalable congestion control.

References
----------
tcp_prague.c, prague_classic_ecn_fallback; RFC 9331 section 4.3
"""

from collections.abc import Iterator

from l4strace.derive.senders.laws import MIN_LAW_ROUNDS
from l4strace.evidence import Evidence
from l4strace.fallback import cases
from l4strace.fallback.judgment import MOSTLY
from l4strace.fallback.place import SUITED
from l4strace.fallback.response import Response
from l4strace.fallback.row import Row
from l4strace.fallback.table import rows
from l4strace.model import Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import datagrams, logged_reductions, subjects
from l4strace.rules.support import fallback_words as words
from l4strace.rules.support.fallback_words import ABOVE, BELOW, FLOOR, SCORE_LIMIT

ACTS = "Prague's fallback acts, as the packets show"
IDLE = "The classic-ECN fallback does not act"
NOT_FALLING_BACK = "An ECT(1) sender does not fall back"
TOO_DEEP = "Reductions under ECT(1) are deeper than alpha asks"
MISFIRED = "Prague's fallback misfired, as the packets show"
CLASSIC_SENDER = "An ECT(1) sender reduces like a classic one"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each ECT(1) direction whose reductions follow one law."""
    by_log = logged_reductions.findings(evidence, CLASSIC_SENDER)
    unlogged = datagrams.unlogged(evidence, datagrams.ect1(evidence))
    unknown = [*datagrams.media(evidence), *unlogged]
    return [*_by_packets(evidence), *by_log, *unknown]


def _by_packets(evidence: Evidence) -> list[Finding | Skipped]:
    asked = [
        (row, row.response) for row in rows(evidence) if _left_to_packets(row) and row.response
    ]
    found: list[Finding | Skipped] = [
        _finding(evidence, row, response)
        for row, response in asked
        if cases.shown_by_packets(row) or cases.deep(row)
    ]
    laws = {response.law for _, response in asked}
    if found or not asked or laws & {"half", "none"}:
        return found
    return [Skipped(_open([response for _, response in asked]))]


def _left_to_packets(row: Row) -> bool:
    """Directions without a recorded score; the other rules judge those that have one."""
    return row.sampled is None or not row.sampled.shows_the_score


def _open(responses: list[Response]) -> str:
    """Why the reductions show nothing."""
    laws = {response.law for response in responses}
    if "alpha/2" in laws:
        return f"no usable reduction of an ECT(1) sender came at a score {ABOVE}"
    if "floor" in laws:
        return "windows of a few packets hide how an ECT(1) sender reduces"
    few = all(response.samples < MIN_LAW_ROUNDS for response in responses)
    reason = "too few marked rounds show" if few else "no law explains clearly"
    return f"{reason} how an ECT(1) sender reduces"


def _finding(evidence: Evidence, row: Row, response: Response) -> Finding:
    severity, headline, variant = _verdict(evidence, row)
    return Finding(
        severity,
        row.confidence,
        f"{words.fact(evidence, row)}{_details(evidence, row, response)}",
        "Record kernel state with `l4strace capture` to be certain." if severity else "",
        source=response.source,
        flow=row.flow,
        forward=row.forward,
        span_ns=(response.first_ns, response.last_ns),
        measures=tuple(_measures(row, response)),
        headline=headline,
        variant=variant,
    )


def _verdict(evidence: Evidence, row: Row) -> tuple[Severity, str, str]:
    """Severity, headline and variant: of a fallback that acts, why it does."""
    if words.not_falling_back(row):
        return Severity.WARNING, NOT_FALLING_BACK, "not-falling-back"
    if row.state == "idle":
        return Severity.INFO, IDLE, "idle"
    l4s, prague = row.place.kind == "l4s", words.runs_prague(evidence, row)
    if cases.deep(row):
        return Severity.WARNING if l4s else Severity.INFO, TOO_DEEP, "deep"
    if row.justified_by == "nothing":
        known = (Severity.ERROR, MISFIRED) if prague else (Severity.WARNING, CLASSIC_SENDER)
        return *known, "misfire"
    noted = l4s and row.justified_by != "changed path"
    severity = Severity.NOTICE if noted else Severity.INFO
    why = (row.justified_by or "unknown").replace(" ", "-")
    return severity, ACTS if prague else CLASSIC_SENDER, why


def _details(evidence: Evidence, row: Row, response: Response) -> str:
    """The numbers behind the fact, and the score that correct thresholds give."""
    if words.not_falling_back(row):
        which = "its" if response.law == "alpha/2" else "most of its"
        return (
            f": {which} reductions follow alpha/2 in a queue that all flows share and that "
            f"{words.marks_from(row.place)}{subjects.starved_by(evidence, row.flow)}. "
            f"{_not_why(row)}"
        )
    if row.state == "idle":
        return "."
    score = f" {_score(row)}" if row.place.kind == "l4s" or row.justified_by == "nothing" else ""
    if cases.deep(row):
        return f", as {response.samples:,} marked rounds show.{score}"
    return f": {_numbers(response)}.{score}"


def _not_why(row: Row) -> str:
    if row.replayed and row.replayed.time >= MOSTLY:
        return f"{_score(row)} The fallback is off, absent or only observes."
    return "Packets do not show whether the fallback is off, absent or missed the AQM."


def _numbers(response: Response) -> str:
    """What the sender gave up, beside what alpha/2 asks for."""
    if response.by_host:
        rounds = f"{response.samples:,} marked rounds of this flow"
        return f"{rounds} alone do not show it, those of all flows of its host do"
    given = response.fraction
    shown = f"as by {FLOOR}" if given is None else f"by {100 * given:.0f} % (median)"
    return (
        f"after {response.samples:,} marked rounds the window shrank {shown} where alpha/2 is "
        f"{100 * response.half_alpha:.1f} %"
    )


def _score(row: Row) -> str:
    """What correct thresholds make of the packets."""
    score = row.replayed
    if score is None:
        return "The packets do not show the score."
    if row.justified_by == "nothing" and score.never_above:
        shown = words.inputs(score.depth_us, score.mdev_us)
        return f"Q{shown[1:]} gave no reason: with correct thresholds the score stays {BELOW}."
    time = words.percent(score)
    above = f"the score, replayed from packets, exceeds {SCORE_LIMIT} for {time} of the time."
    if row.justified_by == "nothing":
        return f"Correct thresholds explain little of that: with them {above}"
    return f"With correct thresholds {above}"


def _measures(row: Row, response: Response) -> Iterator[Measure]:
    """What is known of these: an unknown share is not 0."""
    low = "" if row.place.kind in SUITED else "0 on an L4S AQM"
    above = row.replayed.time if row.replayed else None
    for what, value, unit, expected in (
        ("marked rounds compared", response.samples, "", ""),
        ("median reduction", response.fraction, "share", ""),
        ("median alpha/2", response.half_alpha, "share", ""),
        (f"time {ABOVE}, correct thresholds", above, "share", low),
    ):
        if value is not None:
            yield Measure(what, value, unit, expected)


RULE = Rule.of(
    __name__, __doc__, check, ACTS, IDLE, NOT_FALLING_BACK, TOO_DEEP, MISFIRED, CLASSIC_SENDER
)
