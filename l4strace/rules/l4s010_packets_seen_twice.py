"""The capture contains packets twice.

What it checks
--------------
Whether the capture shows the same packets more than once: on two interfaces of one host or router,
or before and after segmentation offload.

Why it matters
--------------
l4strace counts such packets once: where the file names interfaces (pcapng, `-i any`), what one of
them shows for the nth time was sent n times, whatever its clock. The copy shows the same packet at
another place of the host's stack, so the time between the two is not a delay of the network. Other
tools report the copies as retransmissions and duplicate ACKs.

Evidence
--------
`directions.duplicates`, `retransmits` and `packets`, and of `rounds` with retransmissions the share
in which SACK reports holes, as it reports losses; `sources.path` names the input.
Where nothing distinguishes a copy from a retransmission (interfaces without names, no timestamps,
no IP ids, a long queue between the interfaces or clocks that differ), nearly every data packet
counts as retransmitted once, and rules on delays and losses do not judge the flow.

When it is wrong
----------------
Without names of interfaces a packet that is retransmitted within half a round trip looks the same:
under heavy loss, when the queue has become shorter than it was. So copies count only where they
outnumber retransmissions.

What to do
----------
Capture on one interface (`-i eth0` instead of `-i any`), the one that the bottleneck follows.

References
----------
https://www.wireshark.org/docs/man-pages/editcap.html (option -d)
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import copies
from l4strace.wording.quantities import count

MIN_COPY_SHARE = 0.01
MIN_COPIES = 10
"""Share and number of copies from which the capture point is ambiguous: a network may double single
packets. By eye."""

BY_ANYTHING = (
    "two interfaces show them more than half a round trip apart (a queue, or clocks that differ), "
    "or the sender repeats all"
)


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each input whose copies are known, and for each direction of likely ones."""
    return [*_copies(evidence), *_repeated(evidence)]


def _repeated(evidence: Evidence) -> list[Finding | Skipped]:
    most = f"below {copies.REPEATED_SHARE:.0%}"
    return [
        Finding(
            Severity.NOTICE,
            Confidence.MEDIUM,
            f"Nearly every data packet is there twice ({row['retransmits']:,} of "
            f"{count(row['packets'], 'packet')} repeat earlier ones): {BY_ANYTHING}. "
            "Retransmissions are not known here.",
            "Capture on one interface, the one that the bottleneck follows.",
            **direction_of(row),
            measures=(Measure("repeated packets", row["retransmits"], "packet", most),),
        )
        for row in copies.repeated(evidence).iter_rows(named=True)
    ]


def _copies(evidence: Evidence) -> list[Finding | Skipped]:
    known = (
        evidence.directions.group_by("source")
        .agg(pl.col("duplicates", "packets").sum(), pl.col("retransmits").fill_null(0).sum())
        .filter(
            (pl.col("duplicates") >= MIN_COPIES)
            & (pl.col("duplicates") >= MIN_COPY_SHARE * pl.col("packets"))
            & (pl.col("duplicates") > pl.col("retransmits"))
        )
        .sort("source")
    )
    paths = dict(evidence.sources.select("source", "path").iter_rows())
    return [
        Finding(
            Severity.NOTICE,
            Confidence.HIGH,
            f"{paths.get(row['source'], 'An input')} contains packets twice: {row['duplicates']:,} "
            f"copies of {count(row['packets'], 'packet')}. Each packet counts once.",
            "Capture on one interface, the one that the bottleneck follows.",
            source=row["source"],
            measures=(
                Measure("copies", row["duplicates"], "", "0"),
                Measure("packets", row["packets"]),
            ),
        )
        for row in known.iter_rows(named=True)
    ]


RULE = Rule.of(__name__, __doc__, check, "The capture contains packets twice")
