"""What the direction sent, and what of it this capture can show."""

from math import isnan

from l4strace.bottleneck.evidence import Direction
from l4strace.bottleneck.sign import Shown, at_least, is_so, sign
from l4strace.derive.behind import MOSTLY
from l4strace.derive.noise import REORDERED

MOSTLY_LOST = 0.5
"""Packets lost between two captures as part of those retransmitted, from which retransmissions are
repairs: most."""


@sign("its packets are ECT(1)")
def ect1(d: Direction) -> Shown:
    return is_so(d.marked_as == "ect1")


@sign("its packets are not ECT(1)")
def not_ect1(d: Direction) -> Shown:
    return is_so(d.marked_as != "ect1")


@sign("its packets are Not-ECT")
def not_ect(d: Direction) -> Shown:
    return is_so(d.marked_as == "not_ect")


@sign("the path mangles the feedback, so marks cannot be seen round by round")
def feedback_mangled(d: Direction) -> Shown:
    """What zeroes ACE, zeroes ECE: they are bits of one field (RFC 9768 section 3.1.1)."""
    return is_so(d.deaf or (d.cleared and d.classic_feedback and d.marks == 0))


@sign(
    "most marks are set before the capture",
    "packet",
    "any",
    "at least {value} of the path marked before the capture point, whose queue is not seen here",
)
def marked_before(d: Direction) -> Shown:
    """Behind a queue, as at the egress of a router or a host, packets come with their marks."""
    most = d.path_marked_before >= MOSTLY * d.path_reported
    return at_least(d.path_marked_before, 1) & is_so(most)


@sign("the path erases ECN codepoints, so no queue behind it could mark")
def erased(d: Direction) -> Shown:
    return is_so(d.erased)


@sign("packets arrive late", "share", "derive/noise", says="{value} of the packets arrive late")
def reordered(d: Direction) -> Shown:
    """Where both ends show that most retransmissions are repairs, lateness casts no doubt."""
    lost = d.lost_between >= MOSTLY_LOST * d.losses
    return at_least(d.late_share, REORDERED) & is_so(not lost)


@sign("no feedback shows the jitter of the path")
def unknown_noise(d: Direction) -> Shown:
    return is_so(isnan(d.noise_us))
