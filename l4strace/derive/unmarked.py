"""What limits a flow direction that gets no marks: losses, delay, and marks of its neighbours."""

from __future__ import annotations

from typing import Any

from l4strace.derive import sharing
from l4strace.derive.noise import HIDES, NOTED_US, REORDERED
from l4strace.wording.quantities import count, quantity

Features = dict[str, Any]
Verdict = tuple[str, float, str]

TWO_QUEUES = 0.95
"""Confidence: marks at an L4S threshold while classic flows wait in a queue of their own."""
SEEN_BY_OTHERS = 0.9
"""Confidence: another flow of the path, or a loss, shows the same queue."""
NOTHING_THERE = 0.8
"""Confidence: no marks, no losses and no queue delay."""
OWN_MARKS = 0.7
"""Confidence: the flow's own packets fit one kind, and no other flow contradicts it."""
PARTLY = 0.6
"""Confidence: what the other flows of the path saw fits only partly."""
ALONE = 0.5
"""Confidence: one flow that other kinds of queue would explain as well."""
NO_VERDICT = 0.0
"""Measured, from packets of the sender alone, on 398 runs of the kernel lab (seeds 701 to 1101),
which were looked at while tuning. Right: 352 of 352 from 0.8 on, 343 of 344 at 0.6 and 0.7, 52 of
53 at 0.5; a kind for 497 of 532 flows with marks. Rules that accuse a sender ask for 0.8
(`rules.support.subjects.ISOLATED_CONFIDENCE`)."""

QUEUE_US = 2000.0
"""Queue delay from which a queue stands, where nothing is marked: Prague's reference for a classic
queue (D0, 2000 us)."""

DEEP_QUEUE = 5
"""Multiple of QUEUE_US that stands for a queue without a mark or a loss. By eye."""

UNANSWERED_US = 20_000.0
"""Queue delay of a tenth of the rounds from which an AQM with ECN would have marked: PIE holds the
average at 15 ms (RFC 8033), the longest target in use. Slow start passes every AQM once."""

SELF_LIMITED = 0.5
"""Share of rounds limited by application or receive window from which the path is not the limit:
most of them."""

SELDOM = 0.002
"""Part of the path's packets marked or lost up to which its queue is next to none: by eye. Slow
start meets a queue once; in simulated run s9401-031 a short buffer dropped four times as many."""

MIN_LOST_ROUNDS = 3
"""Rounds with losses from which their delays are compared. By eye."""

MOST_AT_ONCE = 10
"""Packets lost per round with losses up to which they may be lost at random: a buffer that
overflows in slow start loses a large part of a flight, after which the RTT may be short. By eye."""

CONGESTED = 0.5
"""Part of the packets with marks, or of the path's losses with a queue, from which an AQM or a full
buffer is the cause of losses: DualPI2 drops when a rival overloads it that ignores marks
(drop_overload of sch_dualpi2.c). By eye."""

SAME_HEIGHT = 0.8
"""Lower tenth of the delays at loss, as part of the upper tenth, from which losses come at one
height. Measured behind a FIFO: 0.95; behind PIE and RED without a mark: 0.4 to 0.6."""

CEILING = 0.8
"""Upper tenth of the delays at loss, as part of the largest delay of the path, that is the full
buffer. Measured: from 0.83 behind a FIFO of one rate, up to 0.3 behind CoDel, which lets slow start
through before it drops at an even height."""

MIN_FULL = 5
"""Rounds with losses at one height that are more than one overflow: it is looked for in a round and
the two before it, so one gives three or four."""

SEVERAL = 1.2
"""Packets lost per round with losses, from which a buffer overflowed. Measured on 430 directions
without a mark: 1.25 and more behind a FIFO that drops at one height, 1.0 to 1.03 behind CoDel whose
drops come at one height, too (flows that grow alike reach the same delay in its interval)."""

MIN_BELOW = 8
"""Rounds with losses below the largest delay that show an AQM: by eye; a FIFO whose rate changes
drops at a few different delays."""

BELOW = 0.6
"""The same, under which an AQM dropped before the buffer was full: half-way to the smallest."""

OVERLOADED = 0.175
"""Part of the packets lost, above which a lack of marks does not show an AQM without ECN: PIE marks
up to a drop probability of a tenth (RFC 8033 section 5.1; sch_pie.c), and far above it on average
hardly a moment lies below. Measured behind PIE that has ECN from 0.20, without it 0.15."""

MIN_MARKS = 3
"""As in bottlenecks."""


def jitter(f: Features) -> str:
    """That of the path, as L4S405 states it; where no queue is without it, that of the flow."""
    shared = f.get("common_us") or 0.0
    return quantity(shared if shared >= NOTED_US else f["noise_us"] / HIDES, "us")


def not_ect(f: Features, classic: bool, scalable: bool) -> Verdict:
    """Packets that no AQM may mark: what their neighbours' marks show, else the losses.

    ``classic`` and ``scalable``: whether there are such neighbours to compare with.
    """
    for mate, compared in (("classic", classic), ("scalable", scalable)):
        if (
            compared
            and f[f"{mate}_marks"] >= MIN_MARKS
            and sharing.one_queue(f, mate)
            and (f[f"{mate}_mark_delay_us"] or 0.0) > f["mark_limit_us"] + f["noise_us"]
            # In a queue that never falls below the border, a step marks as late.
            and f[f"{mate}_high_unmarked"] >= MIN_LOST_ROUNDS
        ):
            reason = "Not-ECT packets cannot be marked, but other traffic of the same delay is."
            return "classic", OWN_MARKS, reason
    if f["lost"] == 0 and (f["queue_max_us"] or 0.0) < _standing(f):
        return "none", OWN_MARKS, "No loss and a flat RTT: nothing queues here."
    reason = "Not-ECT packets cannot be marked, so the queue cannot be identified."
    return "unknown", NO_VERDICT, reason


def verdict(f: Features) -> Verdict:
    """ECN-capable packets without a mark, or with too few to judge."""
    if f["all_marks"]:
        marks = count(f["all_marks"], "mark")
        return (
            "unknown",
            NO_VERDICT,
            f"{marks} in {f['seconds']:.0f} s: too few to identify an AQM.",
        )
    if f["lost"] and f["lost_us"] is not None:
        return _lossy(f)
    return _lossless(f)


def erased(f: Features) -> Verdict:
    """Packets whose ECN codepoint the path erases: a queue without marks, whatever its AQM."""
    kind, confidence, reason = verdict(f)
    why = "The path erases ECN codepoints, so no queue behind it could mark."
    if kind in ("unmarked", "dropping"):
        return "unmarked", min(confidence, OWN_MARKS), f"{reason} {why}"
    return "unknown", NO_VERDICT, why


def _standing(f: Features) -> float:
    """Delay from which a queue stands: not noise, and not packets under way on a slow link."""
    packets = 2.0 * (f["serialisation_us"] or 0.0)
    return max(QUEUE_US + (f["serialisation_us"] or 0.0), packets) + float(f["noise_us"])


def idle_loss(f: Features) -> bool:
    """Losses in several rounds, few at once, most of them without a queue.

    Noise may blur a queue of some milliseconds, not one of many. Where every second packet is
    marked, the path is congested however short its queue is, and an overloaded AQM drops; so does a
    full buffer that other flows of the path filled, whatever queue this flow waits in.
    """
    if f["lost_us"] is None or f["marks"] > CONGESTED * f["acked"]:
        return False
    if (f["path_queued_losses"] or 0.0) > CONGESTED:
        return False
    # What loses at random loses the packets of all flows alike.
    if (f["path_lost_us"] or 0.0) >= _standing(f):
        return False
    shallow = f["lost_us"] < min(_standing(f), DEEP_QUEUE * QUEUE_US)
    few = f["losses"] <= MOST_AT_ONCE * f["lost_rounds"]
    return bool(f["lost_rounds"] >= MIN_LOST_ROUNDS and few and shallow)


def _lossy(f: Features) -> Verdict:
    lost, at = f["lost_us"], quantity(f["lost_us"], "us")
    losses = f"{count(f['losses'], 'packet')} retransmitted"
    overloaded = f["lost"] > OVERLOADED * (f["acked"] + f["lost"])
    disordered = (f["late_share"] or 0.0) >= REORDERED
    late = f"{100 * (f['late_share'] or 0.0):.1f} % of the packets arrive late"
    if lost < _standing(f):
        if (f["queue_high_us"] or 0.0) < DEEP_QUEUE * QUEUE_US:
            why = f"{late}, so some may not be lost" if disordered else "the path loses at random"
            return "none", PARTLY, f"{losses} at {at} of queue delay: {why}."
        if overloaded:
            return _overloaded(f)
        return "unmarked", ALONE, f"{losses} at {at} of queue delay, and a queue that never marks."
    barely = (f["queue_high_us"] or 0.0) < _standing(f) and lost < DEEP_QUEUE * QUEUE_US
    few = f["losses"] <= MOST_AT_ONCE * f["lost_rounds"]
    if barely and few and f["lost_low_us"] < _standing(f):
        reason = f"{losses} at {at} of queue delay and less: the path may lose at random."
        return "unknown", NO_VERDICT, reason
    if disordered:
        short = (f["queue_high_us"] or 0.0) < UNANSWERED_US
        if f["lost_rounds"] < MIN_LOST_ROUNDS and short:
            return "unknown", NO_VERDICT, f"{losses}, and {late}: perhaps none is lost."
        reason = (
            f"{losses} at {at} of queue delay, without a mark; {late}, so some may not be lost."
        )
        return "unmarked", PARTLY, reason
    if _always_full(f):
        reason = f"{losses}, always at the full queue ({at}), without a mark."
        return "fifo", SEEN_BY_OTHERS, reason
    if f["lost_rounds"] >= MIN_BELOW and lost <= BELOW * f["top_us"]:
        if overloaded:
            return _overloaded(f)
        if _never_full(f):
            reason = (
                f"{losses} at {at} of queue delay, below the largest of "
                f"{quantity(f['path_max_us'], 'us')}, without a mark."
            )
            return "dropping", OWN_MARKS, reason
    # A queue that stands only while it overflows may mark at other times.
    sure = SEEN_BY_OTHERS if (f["queue_delay_us"] or 0.0) >= _standing(f) else PARTLY
    return "unmarked", sure, f"{losses} at {at} of queue delay, without a mark."


def _always_full(f: Features) -> bool:
    """Every loss of the path came at its largest delay: a buffer drops what does not fit.

    It stays full until the senders notice, a round trip later, and drops several packets by then;
    CoDel drops one and waits (RFC 8289 section 3.3).
    """
    # Few losses of its own: those of all flows of the path.
    of = "" if f["lost_rounds"] >= MIN_FULL else "path_"
    same = all(
        f[f"{whose}lost_low_us"] >= SAME_HEIGHT * f[f"{whose}lost_high_us"]
        for whose in (of, "path_")
        if f[f"{whose}lost_rounds"] >= MIN_FULL
    )
    several = f["path_lost"] >= SEVERAL * f["path_lost_rounds"]
    enough = f[f"{of}lost_rounds"] >= MIN_FULL
    return bool(
        enough and same and several and f[f"{of}lost_high_us"] >= CEILING * f["path_max_us"]
    )


def _never_full(f: Features) -> bool:
    """Nearly every loss came with a queue, and far below the largest delay: an AQM drops early.

    Losses without a queue are random, and a buffer drops at its largest delay, unless the rate of
    the path changes.
    """
    below = f["path_lost_high_us"] <= BELOW * f["path_max_us"]
    queued = min(f["lost_low_us"], f["path_lost_low_us"]) >= _standing(f)
    return bool(below and queued and f["phases"] == 1)


def _overloaded(f: Features) -> Verdict:
    share = 100 * f["lost"] / (f["acked"] + f["lost"])
    reason = (
        f"Cannot be determined: {share:.0f} % of the packets are lost below the full queue; an AQM "
        "with ECN may drop instead of marking as well where it drops more than a tenth."
    )
    return "unknown", NO_VERDICT, reason


def _lossless(f: Features) -> Verdict:
    if f["queue_max_us"] is None:
        return "unknown", NO_VERDICT, "No RTT sample shows the queue."
    highest, high = f["queue_max_us"], f["queue_high_us"] or 0.0
    if highest < _standing(f) and f["noise_us"] > QUEUE_US:
        reason = f"Cannot be determined: {jitter(f)} of jitter hides the queue."
        return "unknown", NO_VERDICT, reason
    if highest < _standing(f):
        return _flat(f)
    if f["self_limited"] >= SELF_LIMITED and highest < DEEP_QUEUE * QUEUE_US:
        return "none", PARTLY, "The application or the receive window holds the sender back."
    if high >= UNANSWERED_US:
        highest = max(highest, high)
        reason = f"Up to {quantity(highest, 'us')} of queue delay without a mark or a loss."
        return "unmarked", ALONE, reason
    return "unknown", NO_VERDICT, "Neither marks nor a standing queue."


def _flat(f: Features) -> Verdict:
    """A flow that waits for nothing, beside what its path or another capture of it shows.

    A capture that began late has missed the start, in which a short buffer drops and an AQM marks;
    and where other flows lose packets, this one may be too slow to fill the queue.
    """
    marks = max(f["path_marks"] or 0, f["seen_marks"])
    losses = max(f["path_losses"] or 0, f["seen_losses"])
    if not marks and not losses:
        return "none", NOTHING_THERE, "No marks, no loss and a flat RTT: nothing queues here."
    of = (count(marks, "packet") + " marked", count(losses, "packet") + " retransmitted")
    beside = " and ".join(text for text, many in zip(of, (marks, losses), strict=True) if many)
    packets = max(f["path_acked"] or 0, f["acked"])
    if marks + losses <= SELDOM * packets:
        reason = f"A flat RTT, and of the path's {packets:,} packets only {beside}"
        return "none", PARTLY, f"{reason}: hardly anything queues here."
    if not marks and f["path_lost_us"] is not None and f["path_lost_us"] < _standing(f):
        return "none", PARTLY, f"A flat RTT, and {beside} without a queue: lost at random."
    reason = f"a flat RTT and no mark in the round trips seen, yet {beside} on the same path"
    return "unknown", NO_VERDICT, f"Cannot be determined: {reason}."
