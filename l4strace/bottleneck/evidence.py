"""What was measured of one flow direction and of the flows beside it: all that a sign may look at.

Numbers that the packets do not show are NaN: what is computed from one is NaN, and a sign compared
with one is unknown. Delays are above the empty path; `border` is `mark_limit_us`, the longest delay
at which an L4S AQM begins to mark.
"""

from collections.abc import Mapping
from math import nan
from typing import Any, NamedTuple

from l4strace.derive.neighbors import FRAME_BYTES


class Neighbors(NamedTuple):
    """The other flows of the path of one class, in the slots of time that both sent in."""

    slots: float = 0.0
    """Slots compared; 0 without such flows."""
    queue_us: float = nan
    """Median queue delay (us) of those flows."""
    own_queue_us: float = nan
    """Median queue delay (us) of the direction itself in the same slots."""
    least_us: float = nan
    """Least that those flows ever waited (us)."""
    corr: float = nan
    """Correlation of the two delays."""
    gap: float = nan
    """Mean difference of the two delays, in parts of the longer one."""
    within: float = nan
    """Correlation within the phases of a path that changes."""
    apart: float = nan
    """Part of the slots in which not one packet of those flows waited as long as any of these."""
    marks: float = nan
    """Marks of those flows (packets; with classic feedback, round trips)."""
    marked_slots: float = nan
    """Slots in which they were marked."""
    mark_delay_us: float = nan
    """Queue delay (us) at which their marks set in: a tenth of the marked slots lie below."""
    ect0: float = nan
    """Slots in which they sent packets that can be marked and are not ECT(1)."""
    waiting: float = nan
    """Slots in which both always had packets queued."""
    uneven: float = nan
    """How far the rates differ there: root mean square of the logarithm of their ratio."""
    unlike: float = nan
    """How far the RTTs differ there, likewise."""


class Direction(NamedTuple):
    """One flow direction after its start, unless a field states the whole of it."""

    marked_as: str = "ect1"
    """Codepoint of most data packets: `ect1`, `ect0` or `not_ect`."""
    began: bool = True
    """The capture holds a handshake of the path, so its smallest RTT is of an empty queue."""
    flat: bool = True
    """The smallest RTT stays the same throughout."""
    erased: bool = False
    """The path erases ECN codepoints."""
    cleared: bool = False
    """The path mangles the feedback of some flow (ACE, and ECE with it)."""
    deaf: bool = False
    """The ACE counter of this direction is mangled, and no option replaces it."""
    classic_feedback: bool = False
    """Marks come back as ECE: one or more in a round trip, no number."""
    ect1_on_path: bool = True
    """Some flow of the path sent an initial window of ECT(1) packets or more."""
    phases: float = 1.0
    """Phases of the path: more than 1 where its capacity, its RTT or its AQM changed."""
    seconds: float = nan
    """Length (s)."""
    acked: float = nan
    """Packets delivered."""
    serialisation_us: float = nan
    """Time of a full packet (us) at the rate of the path."""
    noise_us: float = 0.0
    """What jitter can add to a delay (us)."""
    late_share: float = nan
    """Share of the packets that arrived behind later ones."""
    lost_between: float = nan
    """Packets that left the sender's capture and never reached the receiver's."""
    floor_us: float = nan
    """Smallest RTT of the direction (us)."""
    base_us: float = nan
    """RTT (us) from which its queue delays count: of the path, or of the flow if that is longer."""

    queue_delay_us: float = nan
    """Median queue delay (us)."""
    queue_high_us: float = nan
    """Queue delay (us) that nine of ten rounds stay below."""
    queue_max_us: float = nan
    """Largest queue delay (us) of the whole direction."""
    path_max_us: float = nan
    """Largest queue delay (us) of any flow of the path."""
    met_peak: bool = False
    """The direction was sending when that was met."""

    mark_limit_us: float = nan
    """The border (us): 3 ms, or 2.25 packets on a slow link."""
    marks: float = 0.0
    """Marked packets; with classic feedback, round trips with a mark."""
    all_marks: float = 0.0
    """Marks of the whole direction, its start included."""
    possible_share: float = nan
    """Largest share of the direction's packets that can be marked, as ACE counts modulo 8."""
    marking_delay_us: float = nan
    """Queue delay (us) at which marks set in: a tenth of the marked rounds lie below."""
    stepped: float = nan
    """Part of the rounds that wait at least `marking_delay_us` that have marks."""
    first_marking_us: float = nan
    """Smallest queue delay (us) of a marked round of the whole direction."""
    high_acked: float = 0.0
    """Packets of the rounds that wait at least `marking_delay_us`."""
    high_marks: float = 0.0
    """Marks of the rounds that wait at least `marking_delay_us`."""
    high_unmarked: float = 0.0
    """Rounds that wait at least `marking_delay_us` and have no mark."""
    far_unmarked: float = 0.0
    """Rounds far (8 ms) beyond the border without a mark, of all flows with this codepoint."""
    path_far_unmarked: float = 0.0
    """Rounds far (8 ms) beyond the border without a mark, of all flows that can be marked."""
    ect0_marks: float = 0.0
    """Marks of all ECT(0) packets of the path."""
    ect0_ratio: float = nan
    """Marked share of its ECT(0) packets over that of its ECT(1) packets."""
    ect0_parts: float = nan
    """Tenths of the time with marks of ECT(0) packets."""

    lost: float = 0.0
    """Packets retransmitted."""
    losses: float = 0.0
    """Packets retransmitted in the whole direction, its start included."""
    lost_before: float = 0.0
    """Packets that were lost before the capture point."""
    lost_rounds: float = 0.0
    """Rounds with retransmissions."""
    lost_us: float = nan
    """Queue delay (us) around losses, median."""
    lost_low_us: float = nan
    """Queue delay (us) around losses, lower tenth."""
    lost_high_us: float = nan
    """Queue delay (us) around losses, upper tenth."""
    top_us: float = nan
    """Largest queue delay (us), but for one round in a hundred."""
    path_lost: float = 0.0
    """Packets that all flows of the path retransmitted."""
    path_lost_rounds: float = 0.0
    """Rounds of all flows with retransmissions."""
    path_lost_us: float = nan
    """As `lost_us`, of all flows."""
    path_lost_low_us: float = nan
    """As `lost_low_us`, of all flows."""
    path_lost_high_us: float = nan
    """As `lost_high_us`, of all flows."""
    path_queued_losses: float = nan
    """Share of the path's losses where a queue of 10 ms stood."""
    group_lost: float = nan
    """Packets of the middle group of the path's losses; NaN with fewer than five groups."""
    policed_bps: float = nan
    """Payload (bit/s) that passed from group to group."""
    policed_uneven: float = nan
    """How far the groups lie off one rate, in parts of what passed between two."""
    path_marks: float = 0.0
    """Marks of the whole path, start included."""
    path_marked_before: float = 0.0
    """Packets of the whole path that were CE when this capture saw them."""
    path_reported: float = 0.0
    """Marks of the whole path that feedback reports; with classic feedback, answers to them."""
    path_losses: float = 0.0
    """Retransmissions of the whole path, start included."""
    seen_marks: float = 0.0
    """CE packets that any capture of the direction saw."""
    seen_losses: float = 0.0
    """Retransmissions that any capture of the direction saw."""

    first_slots: float = 0.0
    """Slots in which the direction waited and another flow of the path began."""
    first_met: float = nan
    """Slots of `first_slots` in which the first packet of the new flow waited as long."""
    first_passed: float = nan
    """Slots of `first_slots` in which the first packet of the new flow waited less."""
    first_apart_us: float = nan
    """How much more (us) the waits of the direction vary than those of the first packets."""

    classic: Neighbors = Neighbors()
    """Flows of ECT(0) and Not-ECT packets."""
    scalable: Neighbors = Neighbors()
    """Flows of ECT(1) packets."""


CLASSES = ("scalable", "classic")
_OWN = {name: name for name in Direction._fields if name not in CLASSES}
_BESIDE = {of: {name: f"{of}_{name}" for name in Neighbors._fields} for of in CLASSES}


def of_row(row: Mapping[str, Any], *, phases: int = 1, ect1_on_path: bool = True) -> Direction:
    """A row of `queue_features.features`, whose columns have the names of the fields."""
    rate, one_way = row["rate_bps"] or 0.0, row["marked_owd_us"] is not None
    # The one-way delay knows neither the ACK path nor ACKs that wait for a second packet.
    noise = row["hides_us"] if row["hides_owd_us"] is None else row["hides_owd_us"]
    known = {
        **row,
        "phases": phases,
        "ect1_on_path": ect1_on_path,
        "serialisation_us": FRAME_BYTES * 8e6 / rate if rate > 0 else None,
        "noise_us": noise,
        "marking_delay_us": row["marked_owd_us" if one_way else "marking_delay_us"],
    }
    scalable, classic = (Neighbors(**_present(known, _BESIDE[of])) for of in CLASSES)
    return Direction(**_present(known, _OWN), scalable=scalable, classic=classic)


def _present(known: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """What is known of the fields of ``names``, by field; others keep their defaults."""
    return {f: value for f, name in names.items() if (value := known.get(name)) is not None}
