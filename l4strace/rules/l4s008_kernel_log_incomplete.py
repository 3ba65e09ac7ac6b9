"""The kernel log lacks samples or its end.

What it checks
--------------
Whether the log has its end, how many samples the collector's ring or the trace buffer lost, how
many lines could not be read, and whether it goes on for as long as its flows do in the captures.

Why it matters
--------------
l4strace replays Prague's classic-ECN detector from consecutive samples. A missing sample breaks the
replay, and the step that identifies the build needs the samples before and after one update. An
event that the log lacks may still have happened.

Evidence
--------
`sources.complete` and `kind`; rows of `stats` with `severity` `loss` or `error`, except those that
L4S006 and L4S009 report; the last `kernel.ts_ns` of the log against the last `rounds.end_ns` of its
flows.

When it is wrong
----------------
Formats without a trailer (tracefs text, `ss` output) show a missing end only where the compressed
file is cut.

What to do
----------
Each place of loss has its own remedy: a full ring or trace buffer needs more room (`capture
--kernel-buffer`, `buffer_size_kb`) or a port filter; probes that the kernel skipped need less load
or tracefs; late polls need a longer `--interval`. Stop the collector with SIGINT.

References
----------
collectors/FORMAT.md, section "trailer"
"""

import polars as pl

from l4strace.derive import overall
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import CAPTURES, SENDER_LOGS, Stat, lost_in
from l4strace.wording.quantities import listed

REPORTED_ELSEWHERE = (Stat.CLOCK_STEPS, Stat.KERNEL_LOG_NOT_JOINED)
"""Losses that L4S006 and L4S009 report."""
BUFFER_REMEDY = "Record with `--kernel-buffer` of more MB, or filter by port."
REMEDIES = {
    Stat.RING_LOST: BUFFER_REMEDY,
    Stat.EVENTS_LOST: "Enlarge the trace buffer (`buffer_size_kb`), or filter by port.",
    lost_in("skipped"): "Record fewer flows, or with `--kernel tracefs`.",
    lost_in("nested"): "Record fewer flows, or with `--kernel tracefs`.",
    lost_in("late_polls"): "Poll less often (`--interval`), or record with `--kernel bcc`.",
}
"""Remedy by place of loss, as `collectors/FORMAT.md` names it."""
ENDED = "Stop the collector with SIGINT, and let it write the end of its log."
SENDER_ENDS = "Let the sender close its connections before it ends, so that it ends its log."
RUN_AS_LONG = "Let the collector run as long as the capture."
LEAST_AFTER_S, AFTER_SHARE = 1.0, 0.1
"""Time that a log lacks at its end, itself and as part of the time that its flows take: less is a
collector that was stopped first. By eye."""
NOT_SAMPLES = (Stat.NO_TRAILER, Stat.TRUNCATED_FILE)
"""Rows that count logs, not samples or lines."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each log that is not whole."""
    logs = evidence.sources.filter(~pl.col("kind").is_in([*CAPTURES, "host"]))
    after = _after(evidence) if logs.height else {}
    found: list[Finding | Skipped] = []
    for row in logs.iter_rows(named=True):
        lost = evidence.stats.filter(
            (pl.col("source") == row["source"])
            & (pl.col("count") > 0)
            & pl.col("severity").is_in(["loss", "error"])
            & ~pl.col("name").is_in(REPORTED_ELSEWHERE)
        )
        if lost.height or row["complete"] is False or row["source"] in after:
            found.append(_finding(row, lost, after.get(row["source"], 0.0)))
    return found


def _after(evidence: Evidence) -> dict[int, float]:
    """Seconds by log for which its flows sent data on after its last sample."""
    ends = evidence.kernel.group_by("source", "flow").agg(
        pl.col("ts_ns").max(), released=(pl.col("event") == "release").any()
    )
    # A socket that leaves Prague, as for Reno without AccECN, has no more to log.
    ends = ends.filter(~pl.col("released"))
    directions = overall.directions(evidence).select("flow", "start_ns", "end_ns")
    lasts = (
        ends.join(directions, on="flow")
        .group_by("source")
        .agg(
            after_s=(pl.col("end_ns").max() - pl.col("ts_ns").max()) / 1e9,
            length_s=(pl.col("end_ns").max() - pl.col("start_ns").min()) / 1e9,
        )
    )
    least = pl.max_horizontal(pl.lit(LEAST_AFTER_S), AFTER_SHARE * pl.col("length_s"))
    return dict(lasts.filter(pl.col("after_s") > least).select("source", "after_s").iter_rows())


def _finding(log: Row, lost: pl.DataFrame, after_s: float) -> Finding:
    complete: bool | None = log["complete"]
    samples = lost.filter(~pl.col("name").is_in(NOT_SAMPLES))["count"].sum()
    cut = "its end" if complete is False else ""
    many = "1 sample or line" if samples == 1 else f"{samples:,} samples or lines"
    missing = many if samples else ""
    rest = f"the last {after_s:.1f} s of its flows" if after_s else ""
    lacks = listed([part for part in (cut, missing, rest) if part])
    return Finding(
        Severity.NOTICE,
        Confidence.HIGH,
        f"{log['path']} lacks {lacks}: an event that is not in this log may still have happened.",
        _remedy(lost, complete, after_s, SENDER_ENDS if log["kind"] in SENDER_LOGS else ENDED),
        source=log["source"],
        measures=(
            *(
                Measure(row["name"].replace("_", " "), row["count"], "", "0")
                for row in lost.iter_rows(named=True)
            ),
            *([Measure("data after the last sample", after_s, "s", "0")] if after_s else []),
        ),
    )


def _remedy(lost: pl.DataFrame, complete: bool | None, after_s: float, ended: str) -> str:
    """One sentence for each kind of loss, the largest first."""
    names = lost.sort("count", descending=True)["name"].to_list()
    sentences = [REMEDIES[name] for name in names if name in REMEDIES]
    if complete is False or Stat.NO_TRAILER in names:
        sentences.append(ended)
    if after_s:
        sentences.append(RUN_AS_LONG)
    return " ".join(dict.fromkeys(sentences)) or "Record the run again."


RULE = Rule.of(__name__, __doc__, check, "The log lacks samples")
