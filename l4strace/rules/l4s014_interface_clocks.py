"""Two interfaces of one capture have clocks that differ.

What it checks
--------------
Packets that a capture shows on two of its interfaces, told apart by their number in a pcapng file
or by the index that `-i any` notes. What travels one way and what travels the other bound by how
much the one clock is ahead: a packet cannot leave before it arrived.

Why it matters
--------------
A packet and its acknowledgement are timed by two clocks. Their difference is in every RTT and in
the order of the packets; where it exceeds half a round trip, an RTT is mostly that difference.
Copies of packets count once all the same. From 1 ms on, rules on queue delay, spikes, jitter and
losses of the input do not judge.

Evidence
--------
`sources.interface_behind`, `interface_ahead`, `interfaces_apart_lo_ns`, `interfaces_apart_hi_ns`
and `interfaces_compared`; `directions.rtt_min_us`; `sources.path` names the input.

When it is wrong
----------------
The bounds hold if the two interfaces lie on one path. Where one flow takes them in parallel, no
packet is on both, and nothing is said. Clocks that drift during the capture have wider bounds.

What to do
----------
Capture on one interface, or with one kind of timestamps on all (`--time-stamp-type host`); files of
several hosts are to be given as they are, not merged.

References
----------
pcap-tstamp(7); https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html section 4.2
"""

import polars as pl

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.wording.quantities import quantity


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each input with such interfaces."""
    rows = evidence.sources.drop_nulls("interfaces_apart_lo_ns").sort("source")
    return [_finding(row, _rtt_us(evidence, row["source"])) for row in rows.iter_rows(named=True)]


def _finding(row: Row, rtt_us: float | None) -> Finding:
    least_us, most_us = row["interfaces_apart_lo_ns"] / 1000, row["interfaces_apart_hi_ns"] / 1000
    mostly = rtt_us is None or least_us > rtt_us / 2
    return Finding(
        Severity.WARNING if mostly else Severity.NOTICE,
        Confidence.HIGH,
        f"{row['path']}: the clock of {row['interface_behind']} is {quantity(least_us, 'us')} to "
        f"{quantity(most_us, 'us')} behind that of {row['interface_ahead']}. RTTs and queue "
        "delays of flows that both show mix the two clocks.",
        "Capture on one interface, or with host timestamps on all.",
        source=row["source"],
        measures=(
            Measure("clocks apart, at least", least_us, "us", "0"),
            Measure("clocks apart, at most", most_us, "us"),
            Measure("packets compared", row["interfaces_compared"], "packet"),
        ),
    )


def _rtt_us(evidence: Evidence, source: int) -> float | None:
    """The smallest RTT of the input, from which the difference of the clocks is most of it."""
    rows = evidence.directions.filter(pl.col("source") == source)
    least: float | None = rows.select(pl.col("rtt_min_us").min()).item()
    return least


RULE = Rule.of(__name__, __doc__, check, "Two interfaces of the capture have clocks that differ")
