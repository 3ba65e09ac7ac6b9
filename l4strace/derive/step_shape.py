"""Whether marks come at a step, whatever noise or a smallest RTT makes of the delay it lies at.

A step marks every packet that waits longer, and ends a queue before it is much longer.
"""

from __future__ import annotations

from l4strace.derive.queue_features import L4S_MARK_US
from l4strace.derive.unmarked import Features

MANY, ALL = 100, 0.95
"""Packets beyond the border, and the part of them with marks, that show a step. Measured beyond
3 ms: 0.96 and more behind most steps, 0.43 at most behind CoDel, PIE and RED."""

OFTEN_STOPPED = 30
"""Marks from which a flow fills its path, as its window would grow without. Measured: of 130 flows
of ECT(1) packets with as many that never waited beyond the border and the noise, none met a classic
AQM."""

MIN_STEP_MARKS, EVERY = 10, 0.9
"""Marks, and marked part of the rounds that wait at least as long as where they set in, that show a
step whatever the smallest RTT. By eye."""

LATE_NOISE_US = 5000.0
"""Noise up to which a late capture shows how even the queue stays. Measured on 78 directions of
ECT(1) packets in captures that began late: the largest delay lies 13 ms and more above the smallest
for the 19 behind a classic AQM in one queue or in a queue each; 23 stayed within the border and
such noise, all behind steps."""

CODEL_INTERVAL_S = 0.1
"""CoDel's shortest usual interval (RFC 8289 section 4.3)."""


def moved_step(f: Features) -> bool:
    """Marks set in a little beyond the border, all at about one delay, and in every queue as long.

    A smallest RTT that is too small, as that of packets that skip a part of the path, moves all
    delays. Not as far as CoDel's 5 ms (RFC 8289): in lab run e a classic AQM marks like that there.
    """
    ect1 = f["marked_as"] == "ect1"
    beyond = f["marking_delay_us"] - f["mark_limit_us"]
    narrow = (f["marking_median_us"] or 0.0) - f["marking_delay_us"] <= L4S_MARK_US / 2
    every = f["marks"] >= MIN_STEP_MARKS and (f["stepped"] or 0.0) >= EVERY
    return bool(ect1 and beyond <= L4S_MARK_US / 2 and narrow and every)


def never_beyond(f: Features) -> bool:
    """No queue ever stood beyond the border, noise apart, in spite of marks.

    Slow start passes the target of every classic AQM: CoDel, PIE and RED wait before they mark. In
    a capture that began late the smallest RTT may hold queue, but no classic AQM keeps it so even.
    """
    often = f["marks"] >= OFTEN_STOPPED and (f["began"] or f["noise_us"] <= LATE_NOISE_US)
    most = f["queue_max_us"]
    return bool(often and most is not None and most <= f["mark_limit_us"] + f["noise_us"])


def all_beyond(f: Features) -> bool:
    """Every packet beyond the border was marked: an L4S AQM does that, and CoDel does not.

    CoDel marks the n-th packet an interval (100 ms or more) over the root of n after the one before
    (RFC 8289 section 5.3): until it marks every packet, it takes two squares of that interval over
    the time of a packet.
    """
    all_marked = f["high_marks"] >= ALL * f["high_acked"] >= ALL * MANY
    packet_s = (f["serialisation_us"] or 0.0) / 1e6
    early = f["seconds"] * packet_s < 2 * CODEL_INTERVAL_S**2
    return bool(all_marked and early) and not f["classic_feedback"]
