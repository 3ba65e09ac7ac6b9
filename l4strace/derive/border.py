"""How the delays of a direction lie to the border between L4S and classic AQMs.

Below the border (`mark_limit_us`) an L4S AQM marks every ECT(1) packet; a classic one lets a queue
stand beyond it.
"""

from __future__ import annotations

from l4strace.derive import sharing
from l4strace.derive.noise import HIDES
from l4strace.derive.unmarked import NO_VERDICT, PARTLY, Features, Verdict
from l4strace.wording.quantities import at_delay, delay_bound, marking_delay, quantity, queue_delay

ISOLATED_RATIO, ISOLATED_US = 3.0, 1000.0
"""A classic queue three times longer plus 1 ms is not the queue that the L4S flow waits in.
By eye, between DualPI2's targets of 15 ms and 1 ms (RFC 9332 appendix A.1). Delays that differ by
less than a packet do so in one queue, too."""

MIN_HIGH, MIN_PACKETS = 3, 20
HARDLY, HALF = 0.2, 0.5
"""Rounds whose packets all waited beyond the border, and parts of them (of their packets, where
feedback counts) without a mark: a step below the border marks them all, CoDel, PIE and RED a packet
now and then. By eye."""


MANY, MANY_MARKED = 100, 0.6
"""Packets of such rounds, and the part of them with marks, that show that no step marks them.
Measured on 320 runs: up to 0.51 behind CoDel, PIE and RED, 0.73 and more behind steps."""

UNMOVED = 0.5
"""How far nine of ten rounds stay within the usual delay, in parts of the jitter, where no queue
moves them. Measured: 0.23 behind DualPI2 with 8 ms of jitter, 1.7 and more behind classic AQMs."""

OVERTAKEN = 0.5
"""Share of late packets from which most ACKs wait for packets that were overtaken: most."""

UNCOUPLED, MIN_ECT0_MARKS = 0.35, 10
"""Marked share of ECT(0) packets over that of ECT(1) packets, and marks of ECT(0) packets, that no
coupled dual queue gives: it marks p^2 of the ones and at least 2p of the others (RFC 9332 section
2.4), a quarter at most. Measured: up to 0.26 behind DualPI2, from 0.54 behind steps that all share,
0.4 where a capture holds a third of the ACKs. Ten marks, as single ones may fall while the flow
starts."""


MOST = 0.5
"""Marked share of the packets of one ECT(0) flow that no coupled dual queue gives: it marks at most
a quarter (p_Cmax = 1/k^2, RFC 9332 appendix A.1), and ECE may stand for two round trips."""


SPARED_US = 8000.0
"""Wait of other flows beyond the border that a flow would have noticed in the same queue: as
`marked.APART_US`."""

AS_OFTEN, MIN_MARKED_SLOTS = 0.8, 3
"""Slots with marks of ECT(0) packets over those with marks of ECT(1) packets, from which the marks
show no second queue. Unlike packets, slots are counted alike for both kinds of feedback. Measured
where the delays show no second queue either: 0.98 and more on 32 directions behind steps that all
share; up to 0.67 on 42 of 44 behind DualPI2."""


FEW_ECT0_MARKS = 3
"""As `low_marks.MIN_MARKS`: less is chance."""

MIN_ECT0_PARTS = 3
"""Tenths of the time with marks of ECT(0) packets, from which marks counted one by one tell how
often they are marked: slow start may send most of a flow's packets, and PI2 mark a quarter of them,
while ECT(1) packets go on for the rest of the run. By eye."""


def uncoupled(f: Features) -> bool:
    """ECT(0) packets are marked far more often than a coupled dual queue marks them."""
    often = (f["ect0_ratio"] or 0.0) >= UNCOUPLED and f["ect0_marks"] >= MIN_ECT0_MARKS
    return bool(often and not _at_once(f)) or _most(f)


def _at_once(f: Features) -> bool:
    """Marks of ECT(0) packets that two captures count fell in one or two moments."""
    if not f["ect0_counted"] or f["cleared"] or f["ect0_parts"] is None:
        return False
    return bool(f["ect0_parts"] < MIN_ECT0_PARTS)


def _most(f: Features) -> bool:
    return (f["ect0_most"] or 0.0) >= MOST


def spared(f: Features) -> Verdict | None:
    """ECT(1) packets are marked and never wait, not even while others of the path wait for long.

    Those have another queue; and in a queue of its own, what never waits is not marked.
    """
    if f["marked_as"] != "ect1" or not f["met_peak"] or f["queue_max_us"] is None:
        return None
    if not (f["began"] or f["flat"]):
        return None  # the smallest RTT may hide a queue
    limit, first = f["mark_limit_us"], f["first_marking_us"]
    low = first is not None and max(first, f["queue_max_us"]) <= limit
    if not low or f["path_max_us"] - f["noise_us"] <= limit + SPARED_US or uncoupled(f):
        return None
    waited = (
        f"never waits more than {delay_bound(queue_delay(f['queue_max_us']))}, and others up to"
    )
    reason = f"Marked although it {waited} {quantity(f['path_max_us'], 'us')}: two queues."
    return "l4s", PARTLY, reason


def no_fewer(f: Features) -> bool:
    """A few marks of ECT(0) packets are no fewer than those of ECT(1) packets, for their number.

    Those of an overshoot behind DualPI2 may come to half as many.
    """
    return bool(f["ect0_marks"] >= FEW_ECT0_MARKS and (f["ect0_ratio"] or 0.0) >= 1.0)


def alike(f: Features) -> str:
    """How often ECT(0) packets are marked: classic feedback shows at most one mark a round trip."""
    if _most(f):
        return f"{100 * f['ect0_most']:.0f} % of an ECT(0) flow's packets are marked"
    least = "" if f["ect0_counted"] else "at least "
    ratio = f"{f['ect0_ratio']:.1f}"
    return f"ECT(0) packets are marked {least}{ratio} times as often as ECT(1) packets"


def as_often(f: Features) -> bool:
    """ECT(0) packets are marked as often in time as ECT(1) packets, as one step marks both."""
    ect1 = f["marked_as"] == "ect1"
    mates = "classic" if ect1 else "scalable"
    if f["marked_as"] == "not_ect" or not sharing.compared(f, mates) or sharing.left_behind(f):
        return False
    if ect1 and not f["classic_ect0"]:
        return False
    # ECT(0) packets that often wait beyond the border without a mark pass no step.
    high, unmarked = (
        ("classic_high", "classic_high_unmarked") if ect1 else ("high_rounds", "high_unmarked")
    )
    if f[unmarked] >= max(MIN_HIGH, HARDLY * f[high]):
        return False
    slots = f[f"{mates}_own_marked"], f[f"{mates}_marked_slots"]
    of_ect1, of_ect0 = slots if ect1 else slots[::-1]
    return bool(of_ect0 >= max(MIN_MARKED_SLOTS, AS_OFTEN * of_ect1))


def unknown(reason: str) -> Verdict:
    return "unknown", NO_VERDICT, reason


def at(f: Features) -> str:
    seen = f
    if f["marking_delay_us"] is None:  # all marks fell while the flow started
        seen = f | {"marking_delay_us": f["first_marking_us"]}
    if seen["marking_delay_us"] is None:
        return "Packets are marked"
    return f"Marks begin {at_delay(marking_delay(seen))} of queue delay"


def lower(text: str) -> str:
    return text[0].lower() + text[1:]


def tolerated(f: Features) -> bool:
    """Queues beyond the border stood without marks, or with few: no step lies below it."""
    if f["crossed"] >= MIN_HIGH or f["far_unmarked"] >= MIN_HIGH:
        return True
    mates = ("scalable", "classic")
    shared = any(sharing.compared(f, m) and sharing.sure(f, m) for m in mates)
    if shared and f["path_far_unmarked"] >= MIN_HIGH:
        return True
    if f["classic_feedback"]:
        return bool(f["high_unmarked"] >= max(MIN_HIGH, HARDLY * f["high_rounds"]))
    acked = f["high_acked"]
    most = MANY_MARKED if acked >= MANY else HALF
    return bool(acked >= MIN_PACKETS and f["high_marks"] <= most * acked)


def in_one_queue(f: Features, mates: str) -> bool:
    """Others wait as long as this flow at the same time, far longer than an L4S AQM lets it."""
    return sharing.compared(f, mates) and sharing.sure(f, mates) and beyond(f, mates)


def beyond(f: Features, mates: str) -> bool:
    """Both wait longer than an L4S AQM lets its queue grow, noise apart."""
    least = min(f[f"{mates}_queue_us"], f[f"{mates}_own_queue_us"])
    return bool(least > f["mark_limit_us"] + f["noise_us"])


def isolated(f: Features, short: str, long: str) -> bool:
    """Queue delay `long` is far above queue delay `short`, noise and a packet apart."""
    least = min(f["noise_us"], f[short])
    far = f[long] - least > ISOLATED_RATIO * (f[short] - least) + ISOLATED_US + least
    return bool(far and f[long] - f[short] > (f["serialisation_us"] or 0.0))


def unmoved(f: Features) -> bool:
    """The delay of most rounds differs by far less than that of the packets in one of them.

    Queues move. Jitter that keeps the order of many packets delays nearly all of them by its most.
    """
    moves = (f["queue_high_us"] or 0.0) - (f["queue_delay_us"] or 0.0)
    return bool(not f["flat"] and moves < UNMOVED * f["noise_us"] / HIDES)


def overtaken(f: Features) -> bool:
    """Marks come at what most packets wait for, which where most are overtaken need be no queue.

    An ACK then shows the slowest of several packets: all RTTs lie at the far end of what the path
    adds, near to each other, and their spread understates the noise.
    """
    usual = f["marking_delay_us"] - f["queue_delay_us"] <= f["mark_limit_us"]
    return bool((f["late_share"] or 0.0) >= OVERTAKEN and usual)
