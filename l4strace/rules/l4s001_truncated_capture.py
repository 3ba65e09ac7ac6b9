"""An input or its packets are cut short.

What it checks
--------------
Whether an input ends inside a record or its structure is damaged, whether a recording ended before
it was asked to (a full disk), and whether the snapshot length cut TCP headers or options.

Why it matters
--------------
Everything after the cut is missing, so "no CE" or "no loss" holds only up to that point. Cut
options hide timestamps, SACK blocks and AccECN counters. Without them RTTs and CE counts are less
exact.

Evidence
--------
`stats` rows `truncated_file`, `damaged_file` and `headers_cut`; `directions.options_cut`;
`sources.path` names the input, `sources.records` counts its packets; `hosts.topic`, `subject`,
`name` and `value` say why a recording ended, `hosts.path` names its host file.

When it is wrong
----------------
A capture that is still being written may end inside a record without any fault.

What to do
----------
Stop the capture with SIGINT rather than SIGKILL, check that the disk has space, and capture at
least 128 bytes of each packet (`-s 128`): Ethernet (14), IPv6 (40) and the longest TCP header (60)
take 114.

References
----------
https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-06.html
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import CAPTURES, Stat
from l4strace.wording.quantities import count

MOST_GONE = 0.01
"""Share of the packets without a TCP header from which numbers are wrong, not less exact. By eye:
a few may be of other protocols in tunnels."""
CUT_FILE = (Stat.TRUNCATED_FILE, Stat.DAMAGED_FILE)

AS_ASKED = ("signal", "duration", "reader", "count")
"""What ends a recording as it should: `AS_ASKED` of collectors/packets/capture.py."""

CAPTURE_ENDS, LOG_ENDS = "Stop captures with SIGINT", "Let the program close its log"

SNAPLEN = "The snapshot length cut TCP headers"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """Cut files, recordings that ended early, then cut packets."""
    return [*_cut_files(evidence), *_cut_recordings(evidence), *_cut_packets(evidence)]


def _cut_recordings(evidence: Evidence) -> list[Finding | Skipped]:
    """The file of such a recording was mended: nothing in it shows that packets are missing."""
    ended = evidence.hosts.filter(
        (pl.col("topic") == "capture")
        & (pl.col("subject") == "packets")
        & (pl.col("name") == "ended")
        & ~pl.col("value").is_in(AS_ASKED)
    )
    return [
        Finding(
            Severity.WARNING,
            Confidence.HIGH,
            f"The recording of packets that {row['path']} describes ended before it was asked to "
            f"({row['value']}): all later packets are missing.",
            "Record where the disk has space, or with --ring.",
        )
        for row in ended.iter_rows(named=True)
    ]


def _cut_files(evidence: Evidence) -> list[Finding | Skipped]:
    cut = evidence.stats.filter(pl.col("name").is_in(CUT_FILE) & (pl.col("count") > 0))
    if cut.is_empty():
        return []
    paths = dict(evidence.sources.select("source", "path").iter_rows())
    logs = set(evidence.sources.filter(~pl.col("kind").is_in(CAPTURES))["source"])
    return [
        Finding(
            Severity.NOTICE if row["name"] == Stat.TRUNCATED_FILE else Severity.WARNING,
            Confidence.HIGH,
            f"{paths.get(row['source'], 'The capture')} "
            + (
                "ends inside a record: all later records are missing."
                if row["name"] == Stat.TRUNCATED_FILE
                else f"is damaged: {_detail(row['detail'])}."
            ),
            f"{LOG_ENDS if row['source'] in logs else CAPTURE_ENDS} and check that the disk has "
            "space.",
            source=row["source"],
        )
        for row in cut.iter_rows(named=True)
    ]


def _cut_packets(evidence: Evidence) -> list[Finding | Skipped]:
    headers = evidence.stats.filter(pl.col("name") == Stat.HEADERS_CUT).select("source", "count")
    if headers.is_empty() and not evidence.directions["options_cut"].max():
        return []
    options = evidence.directions.select("source", pl.col("options_cut").alias("count"))
    records = dict(evidence.sources.select("source", "records").iter_rows())
    gone = dict(headers.group_by("source").agg(pl.col("count").sum()).iter_rows())
    cut = (
        pl.concat([headers, options])
        .group_by("source")
        .agg(pl.col("count").sum())
        .filter(pl.col("count") > 0)
        .sort("source")
    )
    return [
        Finding(
            _severity(gone.get(row["source"], 0), records.get(row["source"])),
            Confidence.HIGH,
            "The snapshot length cut the TCP header or options of "
            f"{count(row['count'], 'packet')}{_lost(gone.get(row['source'], 0))}.",
            "Capture at least 128 bytes of each packet (-s 128).",
            source=row["source"],
            headline=SNAPLEN,
            measures=(Measure("packets with cut headers", row["count"], "", "0"),),
        )
        for row in cut.iter_rows(named=True)
    ]


def _severity(gone: int, records: int | None) -> Severity:
    """Without their TCP header packets are missing, not just less exact."""
    return Severity.WARNING if gone > MOST_GONE * (records or 0) else Severity.NOTICE


def _lost(gone: int) -> str:
    verbs = "has none and is" if gone == 1 else "have none and are"
    return f"; {gone:,} of these {verbs} missing" if gone else ""


def _detail(detail: str | None) -> str:
    return (detail or "the rest could not be read").rstrip(".")


RULE = Rule.of(__name__, __doc__, check, "An input is damaged or ends early", SNAPLEN)
