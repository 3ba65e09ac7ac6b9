"""The three-bit ACE counter is zeroed, frozen or changed.

What it checks
--------------
AccECN flow directions whose ACE counter is 000 in every packet, or never moves although packets of
the other direction were marked. With captures at both ends: packets whose ACE bits changed between
them.

Why it matters
--------------
The sender learns of marks from ACE. A path that clears the reserved TCP bits, or an offload that
repeats them, deprives the sender of congestion feedback. A sender that finds the first counter zero
stops using ECT (RFC 9768 section 3.2.2.4).

Evidence
--------
`directions.ace_first` and `ace_distinct` of the feedback's direction; `ceb_bytes` over
`max_payload`, `ce` and `ce_fed_back_hi` of the data's direction; `flows.mode` and `vantage`;
`paths.ace_changed` out of `matched`, against `lost`.

When it is wrong
----------------
Marks in multiples of eight between two packets leave ACE unchanged, as where receive offload makes
one ACK of sixteen packets that are all marked. So a frozen counter is reported only where more
packets were marked than the acknowledgements leave room for. The counter starts at 5 and is 0 after
three marks: a single packet with ACE 000 is not a fault, and this rule does not judge the first
packet alone. Marks that a capture before the receiver shows may be erased behind it. Changed
packets that are no more than the lost ones may be retransmissions, and are not reported.

What to do
----------
Look for a firewall that normalizes TCP flags ("clear reserved bits"), and switch off offloads that
rebuild headers. If a capture at the receiver shows the same ACE, its stack is at fault.

References
----------
RFC 9768 sections 3.2.1 (initial value), 3.2.2 and 3.2.2.4
"""

import polars as pl

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import paths, subjects
from l4strace.schema.vantage import receiver
from l4strace.wording.quantities import count

ENOUGH_PACKETS = 10
"""Packets after which a counter that is always 000 is a fault: an initial window (RFC 6928). By
eye."""
ENOUGH_MARKS = 20
"""Marks beyond those that acknowledgements of eight packets and more may hide: they move a counter
of eight values more than twice around. By eye."""
ACTION = (
    "Look for a middlebox that clears reserved TCP bits, an offload that repeats them, or a fault "
    "of the receiver's stack."
)

CAPTURE = (
    "Capture at the receiver. If the packets arrive there as CE, look for a node that normalizes "
    "TCP flags; else for one that rewrites the TOS byte."
)
UNHEARD = "Marks are not fed back"

READ = ("forward", "packets", "ace_first", "first_frame")
"""Columns of `directions` that the finding of one capture needs."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose feedback is mangled, by its strongest evidence."""
    return subjects.strongest([*_by_both_ends(evidence), *_one_sided(evidence)])


def _by_both_ends(evidence: Evidence) -> list[Finding]:
    if evidence.paths.is_empty():
        return []
    rows = evidence.paths.filter(paths.changed(evidence, pl.col("ace_changed")))
    return [
        _finding(
            row,
            f"The ACE bits (AE, CWR, ECE) of {row['ace_changed']:,} out of {row['matched']:,} "
            "packets changed on the path.",
            "first_change_frame_near",
            Measure("packets with changed ACE", row["ace_changed"], "", "0"),
        )
        for row in rows.iter_rows(named=True)
    ]


def _one_sided(evidence: Evidence) -> list[Finding]:
    keys = ["source", "flow"]
    single = evidence.directions.select(*keys, *READ).filter(
        (evidence.directions["packets"] >= ENOUGH_PACKETS)
        & (evidence.directions["ace_distinct"] == 1)
    )
    accecn = evidence.flows.filter(pl.col("mode") == "accecn").select(keys)
    single = single.join(accecn, on=keys, how="semi")
    if single.is_empty():
        return []
    arrived = (pl.col("ceb_bytes") / pl.col("max_payload").clip(1)).cast(pl.UInt64)
    marks = pl.max_horizontal("ce", arrived)
    room = pl.col("ce_fed_back_hi").fill_null(0)
    enough = room + ENOUGH_MARKS
    places = evidence.flows.select("source", "flow", "vantage")
    marked = (
        evidence.directions.filter(marks.fill_null(0) >= enough)
        .join(places, on=keys, how="left")
        .select(
            *keys,
            ~pl.col("forward"),
            marks=marks,
            room=room,
            # A capture elsewhere does not show what happens to marks behind it.
            arrive=(arrived >= enough).fill_null(False) | (pl.col("vantage") == receiver()),
        )
    )
    rows = (
        single.join(marked, on=[*keys, "forward"], how="left", maintain_order="left")
        # Few are left of many thousand flows, and rows become dicts below.
        .filter((pl.col("ace_first") == 0) | pl.col("marks").is_not_null())
    )
    return [(_frozen if row["ace_first"] else _zeroed)(row) for row in rows.iter_rows(named=True)]


def _zeroed(row: Row) -> Finding:
    return _finding(
        row,
        f"ACE is 000 in every packet that carries the counter ({count(row['packets'], 'packet')} "
        "in all) although AccECN was negotiated. The counter starts at 101: the path or the "
        "receiver zeroes it.",
        "first_frame",
        Measure("first ACE", "000", "", "101"),
    )


def _frozen(row: Row) -> Finding:
    stays = f"The ACE counter stays at {row['ace_first'] or 0:03b} although about"
    of = f"{row['marks']:,} packets of the other direction"
    marks = Measure("marks", row["marks"], "packet", f"at most {row['room']:,}")
    if row["arrive"]:
        says = f"{stays} {of} were marked: the path or the receiver freezes it."
        return _finding(row, says, "first_frame", marks)
    says = (
        f"{stays} {of} are CE in this capture: a node behind it erases ECN, or the path or the "
        "receiver freezes the counter."
    )
    return Finding(
        Severity.ERROR,
        Confidence.MEDIUM,
        says,
        CAPTURE,
        **direction_of(row),
        frames=(row["first_frame"],),
        measures=(marks,),
        headline=UNHEARD,
    )


def _finding(row: Row, message: str, frame: str, measure: Measure) -> Finding:
    return Finding(
        Severity.ERROR,
        Confidence.HIGH,
        message,
        ACTION,
        **direction_of(row),
        frames=(row[frame],),
        measures=(measure,),
    )


RULE = Rule.of(__name__, __doc__, check, "The ACE counter is mangled", UNHEARD)
