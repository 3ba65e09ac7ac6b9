"""Qdiscs that a log of `tc -s qdisc` shows, one sentence each."""

from collections.abc import Iterator

from l4strace.derive import qdisc_polls
from l4strace.evidence import Capture, Row
from l4strace.wording.quantities import count, quantity, share

QDISCS_SHOWN = 8


def sentences(capture: Capture) -> Iterator[str]:
    """A sentence for each qdisc that sent something while it was polled."""
    found = qdisc_polls.summary(capture)
    for row in found.head(QDISCS_SHOWN).iter_rows(named=True):
        yield f"{name(row)}: {'; '.join(_facts(row))}."
    if (more := found.height - QDISCS_SHOWN) > 0:
        yield f"{count(more, 'more qdisc')} (l4strace export qdiscs)."


def name(row: Row) -> str:
    """`Qdisc tbf 1 of eth0`."""
    of = f" of {row['interface']}" if row["interface"] else ""
    return f"Qdisc {row['kind']} {(row['handle'] or '').rstrip(':')}{of}"


def _facts(row: Row) -> Iterator[str]:
    """What its counters and its backlog show, in clauses."""
    offered = row["sent"] + row["drops"]
    lost = share(row["drops"] / offered)
    yield f"{row['drops']:,} of {count(offered, 'packet')} dropped ({lost})"
    if row["marks"] is not None:
        yield f"{row['marks']:,} marked CE ({share(row['marks'] / offered)})"
    if row["delay_us"] is not None:
        middle, most = (quantity(row[key], "us") for key in ("delay_us", "most_us"))
        yield f"backlog of {middle} (median of {count(row['polls'], 'poll')}), {most} at most"
    for key, queue in (("delay_l_us", "low-latency"), ("delay_c_us", "classic")):
        if row[key] is not None:
            yield f"{quantity(row[key], 'us')} in the {queue} queue (median)"
    if row["packets_us"] is not None:
        yield f"the packets show {quantity(row['packets_us'], 'us')} at the same moments (median)"
