"""What limits a flow direction that gets marks: where they set in, and what its neighbors see.

What separates the AQMs: an L4S AQM marks every ECT(1) packet that waits longer than a step of a
millisecond or two; CoDel, PIE and RED let a queue of some milliseconds stand and mark a few of its
packets; a queue per flow delays each flow on its own.
"""

from __future__ import annotations

from l4strace.derive import sharing
from l4strace.derive.noise import HIDES
from l4strace.derive.queue_features import L4S_MARK_US
from l4strace.derive.unmarked import (
    ALONE,
    NO_VERDICT,
    OWN_MARKS,
    PARTLY,
    SEEN_BY_OTHERS,
    TWO_QUEUES,
    Features,
    Verdict,
)

MANY, SELDOM = 100, 0.1
"""Packets beyond the border, and the part of them with marks, that show such an AQM. By eye: an L4S
AQM marks all of them."""

STEPPED = 0.8
"""Part of the classic queues beyond the shortest marked one that have marks, which shows a step: by
eye, between one (every packet) and the few percent that PI2 marks."""

EVERY_PACKET = 0.95
"""Marked share from which marks carry no information (rule L4S403). By eye."""

MIN_MARKS = 3
"""Fewer marks have no typical delay. By eye."""

MOMENT_S = 5.0
"""Length of a direction from which marks in one tenth of its time only do not stand for the rest.
By eye: shorter ones are slow start and little more."""

MIN_ISOLATED = 3
"""Slots that show one queue far longer than another: no chance makes a ratio of three. By eye."""

NAMED_MS = 0.5
"""Jitter below which it is not what hides a queue: a quarter of the border."""

ALSO_MARKED = 2
"""Multiple of the L4S threshold up to which classic packets share the marking queue. By eye."""

OFTEN_MARKED = 0.2
"""Share of the slots in which classic packets are marked, from which a shallow queue marks them as
it does ECT(1). By eye: one overshoot is in one slot, a shared step marks in most."""

ISOLATED_RATIO, ISOLATED_US = 3.0, 1000.0
"""A classic queue three times longer plus 1 ms is not the queue that the L4S flow waits in.
By eye, between DualPI2's targets of 15 ms and 1 ms (RFC 9332 appendix A.1)."""

APART_US = 8000.0
"""Distance of two marking delays that no single AQM has: more than CoDel's 5 ms (RFC 8289) with
half of PIE's 15 ms (RFC 8033) to spare. It holds under noise, which delays both flows alike."""

MIN_HIGH, MIN_PACKETS = 3, 20
HARDLY, HALF = 0.2, 0.5
"""Rounds whose packets all waited beyond the border, and parts of them (of their packets, where
feedback counts) without a mark: a step below the border marks them all, CoDel, PIE and RED a packet
now and then. By eye."""


def verdict(f: Features) -> Verdict | None:
    """The kind that the marks show; None where there are too few."""
    if f["marks"] >= EVERY_PACKET * f["acked"] and f["queue_delay_us"] < L4S_MARK_US:
        return _all_marked(f)
    if f["marks"] >= MIN_MARKS:
        return _from_marks(f)
    if f["marks"] and (_far_above(f) or _hardly_marked(f)):
        return _less_sure(_deep_marks(f))
    if f["all_marks"] >= MIN_MARKS:
        return _marked_early(f)
    if f["all_marks"] and _hardly_marked(f):
        return _less_sure(_deep_marks(f | {"marking_delay_us": f["first_marking_us"]}))
    return None


def _less_sure(verdict: Verdict) -> Verdict:
    """A mark or two may have come from elsewhere."""
    kind, confidence, reason = verdict
    return kind, min(ALONE, confidence), reason


def _all_marked(f: Features) -> Verdict:
    """Marks without a threshold: what the neighbors see decides."""
    isolated = _compared(f, "classic") and _isolated(f, "classic_own_queue_us", "classic_queue_us")
    if f["marked_as"] == "ect1" and isolated:
        return (
            "l4s",
            OWN_MARKS,
            f"Nearly every packet is CE at {f['queue_delay_us'] / 1000:.2f} ms of queue delay, "
            f"while classic flows wait {f['classic_queue_us'] / 1000:.1f} ms in their own.",
        )
    return _unknown("Every packet is CE, so the marks show nothing about a queue.")


def _marked_early(f: Features) -> Verdict:
    """Marks in the start only, whose queue grows from none: the first one came at the step."""
    first = f["first_marking_us"]
    if (
        f["marked_as"] == "ect1"
        and f["began"]
        and first is not None
        and first <= f["mark_limit_us"]
    ):
        reason = f"Marks began at {first / 1000:.2f} ms of queue delay when the flow started."
        return "l4s", PARTLY, reason
    return beside_l4s(f) or _unknown(
        "Cannot be determined: nearly all marks fell while the flow started."
    )


def _hardly_marked(f: Features) -> bool:
    """A mark or two while many packets waited beyond the border: an AQM that tolerates it."""
    late = (f["first_marking_us"] or 0.0) > f["mark_limit_us"] + f["noise_us"]
    many = f["high_acked"] >= MANY and f["high_marks"] <= SELDOM * f["high_acked"]
    return bool(late and many and not f["classic_feedback"])


def _far_above(f: Features) -> bool:
    """Even one mark shows a classic AQM when it comes this late."""
    least = f["mark_limit_us"] + f["noise_us"] + APART_US
    return f["marking_delay_us"] is not None and bool(f["marking_delay_us"] > least)


def _from_marks(f: Features) -> Verdict:
    """Low marks, deep marks, or noise between the two."""
    delay, limit = f["marking_delay_us"], f["mark_limit_us"]
    if delay is None:
        return beside_l4s(f) or _unknown(
            "Cannot be determined: no RTT sample belongs to a marked packet."
        )
    apart = _thresholds_apart(f) or _own_queue(f)
    if apart is not None:
        return apart
    if delay <= limit:
        return _shallow_marks(f)
    if delay - f["noise_us"] > limit:
        return _deep_marks(f)
    if _compared(f, "classic") and _same_queue(f, "classic") and f["queue_delay_us"] > 2 * limit:
        # Noise moves each flow on its own; a queue that both wait in moves them together.
        return "classic", PARTLY, f"{_at(f)}, and the other flows wait as long at the same time."
    return _unknown(_hidden(f, f"the queue (marks come at {delay / 1000:.1f} ms)"))


def _hidden(f: Features, what: str) -> str:
    jitter = f["noise_us"] / HIDES / 1000
    if jitter < NAMED_MS:
        return (
            "Cannot be determined: marks come at "
            f"{f['marking_delay_us'] / 1000:.1f} ms, near the border of "
            f"{f['mark_limit_us'] / 1000:.1f} ms between L4S and classic AQMs."
        )
    return f"Cannot be determined: {jitter:.1f} ms of jitter hide {what}."


def _unknown(reason: str) -> Verdict:
    return "unknown", NO_VERDICT, reason


def _at(f: Features) -> str:
    return f"Marks begin at {f['marking_delay_us'] / 1000:.2f} ms of queue delay"


_compared = sharing.compared
_same_queue = sharing.one_queue


def _tolerated(f: Features) -> bool:
    """Queues beyond the border stood without marks, or with few: no step lies below it."""
    if f["crossed"] >= MIN_HIGH:
        return True
    if f["classic_feedback"]:
        return bool(f["high_unmarked"] >= max(MIN_HIGH, HARDLY * f["high_rounds"]))
    return bool(f["high_acked"] >= MIN_PACKETS and f["high_marks"] <= HALF * f["high_acked"])


def _isolated(f: Features, short: str, long: str) -> bool:
    """Queue delay `long` is far above queue delay `short`, noise apart."""
    least = min(f["noise_us"], f[short])
    return bool(f[long] - least > ISOLATED_RATIO * (f[short] - least) + ISOLATED_US + least)


def _thresholds_apart(f: Features) -> Verdict | None:
    """ECT(1) packets are marked at a far shorter delay than others: two thresholds, two queues."""
    mate = "classic" if f["marked_as"] == "ect1" else "scalable"
    if not _compared(f, mate) or f[f"{mate}_marked_slots"] < MIN_MARKS:
        return None
    other = f[f"{mate}_mark_delay_us"]
    if other is None or f["marking_delay_us"] is None:
        return None
    delays = (f["marking_delay_us"], other)
    low, high = delays if mate == "classic" else delays[::-1]
    if high - low < max(APART_US, f["noise_us"]) or _same_queue(f, mate):
        return None
    # Noise of some milliseconds moves the marks of an L4S AQM; more of it hides which AQM it is.
    if low > f["mark_limit_us"] + min(f["noise_us"], f["mark_limit_us"]):
        return None
    reason = (
        f"ECT(1) packets are marked from {low / 1000:.2f} ms of queue delay, others from "
        f"{high / 1000:.1f} ms: two queues."
    )
    return "l4s", TWO_QUEUES if low <= f["mark_limit_us"] else PARTLY, reason


def _shallow_marks(f: Features) -> Verdict:
    limit = f["mark_limit_us"]
    # A queue that hides in the smallest RTT is no longer than that RTT.
    hidden = 0.0 if f["began"] or f["flat"] else f["floor_us"]
    if f["marking_delay_us"] + hidden > limit:
        return _unknown(
            "Cannot be determined: the capture began late, and the smallest RTT that it holds may "
            "already contain queue."
        )
    if f["marked_as"] != "ect1" and (verdict := _not_ect1_shallow(f)):
        return verdict
    if f["marked_as"] != "ect1":
        if f["marking_median_us"] <= ALSO_MARKED * limit + f["noise_us"]:
            return "shallow", OWN_MARKS, f"{_at(f)} for packets that are not ECT(1)."
        return "classic", PARTLY, f"{_at(f)}, mostly at {f['marking_median_us'] / 1000:.1f} ms."
    if f["marked_parts"] <= 1 and f["seconds"] >= MOMENT_S:
        return _unknown(
            f"Cannot be determined: all marks fell within a tenth of {f['seconds']:.0f} s."
        )
    if not _compared(f, "classic"):
        return "l4s", OWN_MARKS, f"{_at(f)}; no classic flow shows how the AQM treats others."
    return _beside_classic(f)


def _not_ect1_shallow(f: Features) -> Verdict | None:
    """Low marks without a step: PIE and PI2 go on marking when the queue has drained."""
    low = (f["scalable_mark_delay_us"] or f["mark_limit_us"] + 1) <= f["mark_limit_us"]
    if _compared(f, "scalable") and f["scalable_marks"] >= MIN_MARKS and low:
        alike = sharing.words(f, "scalable")
        if f["marked_rounds"] < OFTEN_MARKED * f["rounds"]:
            return "l4s", PARTLY, f"{_at(f)}, but far less often than those of ECT(1) flows."
        if not _same_queue(f, "scalable"):
            return _apart(f["stepped"], f"{_at(f)}, as those of ECT(1) flows do; delays {alike}")
    if _tolerated(f):
        return "classic", PARTLY, f"{_at(f)}, yet longer queues often get none."
    return None


def _beside_classic(f: Features) -> Verdict:
    """Marks at an L4S delay, and classic flows on the path."""
    other = f["classic_queue_us"] / 1000
    if _isolated(f, "classic_own_queue_us", "classic_queue_us"):
        reason = f"{_at(f)}, while classic flows wait {other:.1f} ms in a queue of their own."
        return "l4s", TWO_QUEUES, reason
    delay = f["classic_mark_delay_us"]
    also = (
        delay is not None
        and f["classic_marks"] >= MIN_MARKS
        and f["classic_marked_slots"] >= max(MIN_MARKS, OFTEN_MARKED * f["classic_slots"])
        and delay <= ALSO_MARKED * f["mark_limit_us"]
    )
    if not also:
        return "l4s", PARTLY, f"{_at(f)}; classic flows wait {other:.1f} ms and are hardly marked."
    shared = f"{_at(f)} and classic flows are marked at {delay / 1000:.2f} ms too"
    if f["classic_high_unmarked"] >= max(MIN_HIGH, HARDLY * f["classic_high"]):
        return "l4s", PARTLY, f"{_at(f)}; classic flows often wait longer without a mark."
    alike = sharing.words(f, "classic")
    if _same_queue(f, "classic"):
        confidence = SEEN_BY_OTHERS if sharing.sure(f, "classic") else PARTLY
        return "shallow", confidence, f"{shared}: one queue (delays {alike})."
    if sharing.own_queues(f, "classic") and f["noise_us"] <= f["mark_limit_us"]:
        return _apart(f["classic_stepped"], f"{shared}, but the delays differ ({alike})")
    return _unknown(f"Cannot be determined: {_lower(shared)}, the delays are {alike}.")


def _apart(stepped: float | None, shown: str) -> Verdict:
    """Low marks in two queues: a step in each, or a dual queue whose PI2 marks after it drained."""
    if (stepped or 0.0) >= STEPPED:
        return "per-flow", PARTLY, f"{shown}. Every longer classic queue is marked."
    return "l4s", PARTLY, f"{shown}. Longer classic queues are often not marked."


def beside_l4s(f: Features) -> Verdict | None:
    """An unmarked flow beside ECT(1) flows that the same path marks at an L4S delay."""
    if f["marked_as"] == "ect1" or not _compared(f, "scalable"):
        return None
    delay = f["scalable_mark_delay_us"]
    if delay is None or f["scalable_marked_slots"] < MIN_MARKS or delay > f["mark_limit_us"]:
        return None
    reason = f"ECT(1) flows of the path are marked at {delay / 1000:.2f} ms, this flow is not."
    return "l4s", PARTLY, reason


def _own_queue(f: Features) -> Verdict | None:
    """Other flows wait far less at the same time: this flow has a queue of its own."""
    for mate in ("scalable", "classic"):
        few = (f[f"{mate}_slots"] or 0) >= MIN_ISOLATED
        if not few or not _isolated(f, f"{mate}_queue_us", f"{mate}_own_queue_us"):
            continue
        other = f[f"{mate}_queue_us"] / 1000
        at = (f[f"{mate}_marks"] or 0) >= MIN_MARKS and f[f"{mate}_mark_delay_us"]
        if mate == "scalable" and f["marked_as"] != "ect1" and at and at <= f["mark_limit_us"]:
            reason = f"{_at(f)}, while ECT(1) flows are marked at {at / 1000:.2f} ms: two queues."
            return "l4s", SEEN_BY_OTHERS, reason
        if f["marking_delay_us"] - f["noise_us"] > f["mark_limit_us"]:
            reason = f"{_at(f)}, while other flows wait only {other:.2f} ms: separate queues."
            return "per-flow", OWN_MARKS, reason
    return None


def _deep_marks(f: Features) -> Verdict:
    if f["marks"] >= MIN_MARKS and not _tolerated(f):
        return _unknown(
            f"Cannot be determined: {_lower(_at(f))}, but no queue beyond the border of "
            f"{f['mark_limit_us'] / 1000:.1f} ms went unmarked: the threshold may lie below it."
        )
    mates = [c for c in ("scalable", "classic") if _compared(f, c)]
    if not mates:
        return (
            "classic",
            ALONE,
            f"{_at(f)}; a lone flow cannot show whether others share the queue.",
        )
    mate = mates[0]
    alike = sharing.words(f, mate)
    noisy = f["noise_us"] > f["mark_limit_us"]
    if _same_queue(f, mate) and (not noisy or sharing.sure(f, mate)):
        reason = f"{_at(f)} and the other flows wait as long at the same time (delays {alike})."
        return "classic", SEEN_BY_OTHERS if sharing.sure(f, mate) else OWN_MARKS, reason
    own = sharing.own_queues(f, mate)
    if own and noisy and f["queue_high_us"] > 2 * f["noise_us"]:
        return "per-flow", PARTLY, f"{_at(f)} and the other flows' delay differs ({alike})."
    if noisy:
        return _unknown(_hidden(f, "whether the flows share the queue"))
    if own:
        return "per-flow", OWN_MARKS, f"{_at(f)} and the other flows' delay differs ({alike})."
    return _unknown(
        "Cannot be determined: the delays of the flows show neither one queue nor a queue each "
        f"({alike})."
    )


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
