"""Which rows the rules on the fallback report: one question each, answered once.

Rules word these rows; the verdict's frame asks the same in the order of their weight.
"""

from l4strace.fallback.judgment import MISSED
from l4strace.fallback.place import HIDDEN, SUITED
from l4strace.fallback.recorded import MIN_SHARE, MIN_STEPS
from l4strace.fallback.row import Row

OF_PATH = ("slow link", "overshoot", "jitter", "long queue", "path")
"""What the path makes of a correct detector."""


def misfired(row: Row) -> bool:
    """L4S301: the log shows a score above 8 that nothing but the build explains."""
    score = row.recorded
    if not row.high or score is None or row.place.kind in SUITED:
        return False
    # Of a short flow that no mark meets, the score says nothing.
    short = row.use.unmarked and score.steps < MIN_STEPS
    known = score.high_mdev_us is not None and score.high_depth_us is not None
    return row.justified_by in ("nothing", "scaling bug") and known and not short


def perhaps_classic(row: Row) -> bool:
    """The build may be wrong (L4S302), and a classic AQM may justify what it does."""
    other = row.place.kind != "l4s" and row.place.kind not in SUITED
    return row.high and row.recorded is not None and other and row.recorded.inputs_are_high


def of_path(row: Row) -> bool:
    """L4S303: the path explains a score above 8, or would if this kernel has the detector."""
    if row.place.kind != "l4s" and row.place.kind not in HIDDEN:
        return False
    logged = row.high and row.shown_by == "log"
    return row.justified_by in OF_PATH and (logged or row.state == "unknown")


def missed(row: Row) -> bool:
    """L4S304: the detector ran and did not detect the queue that all flows share."""
    score = row.recorded
    if score is None or not row.place.shared:
        return False
    # A score of exactly 0 where a correct detector exceeds 8 means that none ran: L4S305.
    return score.ran and score.share < MISSED and score.steps >= MIN_STEPS


def off(row: Row) -> bool:
    """L4S305: no detector step, or only steps at which a correct detector would have exceeded 8."""
    samples = row.sampled
    if samples is None or samples.score_max != 0 or not row.place.shared:
        return False
    silent = row.recorded is None or row.recorded.fixed_share >= MIN_SHARE
    return silent and samples.enough and bool(samples.marked)


def only_observes(row: Row) -> bool:
    """L4S305: the score is right to be high, and no reduction uses it."""
    return row.state == "observes" and row.use.only_observes and row.place.shared


def absent(row: Row) -> bool:
    """L4S306: the build has no fallback."""
    return row.state == "absent" and row.sampled is not None and row.sampled.enough


def unarmed(row: Row) -> bool:
    """L4S307: the log shows no mark, so the detector had no reason to run."""
    samples = row.sampled
    if samples is None or samples.score_max != 0:
        return False
    return samples.marked is False and samples.enough


def shown_by_packets(row: Row) -> bool:
    """L4S308: the reductions on the wire show what the fallback does."""
    return row.shown_by == "packets"


def deep(row: Row) -> bool:
    """L4S308: reductions are far deeper than alpha/2, and packets do not show by which law."""
    return row.state == "unknown" and row.response is not None and row.response.deep


def right(row: Row) -> bool:
    """L4S309: the score is high behind an AQM that is classic, or as high as its inputs are."""
    score = row.recorded
    if score is None or not row.high or score.share < MISSED:
        return after_change(row)
    if row.justified_by == "classic AQM":
        return row.place.kind != "per-flow"
    hidden = row.place.kind in HIDDEN and not score.buggy
    return after_change(row) or (row.justified_by == "unknown" and hidden and score.inputs_are_high)


def after_change(row: Row) -> bool:
    """L4S309: the score rose when the path changed, and what is known of its AQM is from before."""
    changed = row.high and row.justified_by == "changed path"
    return changed and row.recorded is not None and row.recorded.inputs_are_high


def by_accident(row: Row) -> bool:
    """L4S302: the scaling bug raises the score where a correct build should raise it too."""
    known = row.place.kind in SUITED and row.place.kind != "per-flow"
    return row.high and row.justified_by == "scaling bug" and known
