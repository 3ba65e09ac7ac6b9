"""Tables of a sweep: one dataset over many runs, kept as Apache Parquet.

They are not tables of one run, so `TABLES` of the package does not hold them. The parameters of the
runs follow the declared columns of `runs`: one column `p_NAME` for each, integer or float where
every value is a number, else text.
"""

from l4strace.schema.capture import BOOL, F64, I64, STR, U32, U64
from l4strace.schema.table import Column, Table

RUN = Column("run", STR, "", "Name of the run, as in `runs`.")

RUNS = Table(
    "runs",
    "One run: its parameters, and whether it could be measured.",
    ("run",),
    (
        Column("run", STR, "", "Name: path below the folder, without endings; of a table, its row."),
        Column("status", STR, "", "`ok`, `failed` (cannot be read), `timeout`, `memory` or `died`."),
        Column("error", STR, "", "Why there are no results; null for `ok`."),
        Column("origin", STR, "", "What the numbers rest on: `packets`, `kernel`, `flent`, `iperf3` or `table` (made elsewhere)."),
        Column("repetition", STR, "", "Which repetition of its cell it is; null when not stated."),
        Column("verdict", STR, "", "The worst finding as one sentence, as `diagnose` prints it."),
        Column("severity", STR, "", "Severity of that finding; null without one."),
        Column("rule", STR, "", "Rule of that finding."),
        Column("files", STR, "", "The files, separated by line ends."),
        Column("fingerprint", STR, "", "Changes with files, options and version: an unchanged run is not done again."),
    ),
)

SWEEP_FLOWS = Table(
    "flows",
    "One flow direction of one run that carries data.",
    ("run", "flow", "forward"),
    (
        RUN,
        Column("flow", U32, "", "Number of the flow, as `diagnose` of this run has it."),
        Column("forward", BOOL, "", "True for client to server."),
        Column("label", STR, "", "Congestion control where a log or a table names it, else null."),
        Column("l4s", BOOL, "", "Sends ECT(1), or is named after a scalable congestion control."),
        Column("mode", STR, "", "Negotiated ECN: `accecn`, `classic`, `none` or `unknown`; null without packets."),
        Column("goodput_bps", F64, "bit/s", "Acknowledged payload over the time of the direction's own rounds: rates of flows that did not last equally long do not add up."),
        Column("average_bps", F64, "bit/s", "Acknowledged payload over the run's time, from the first round of these directions to the end of the last: such rates add up. Null where only goodput is known."),
        Column("share", F64, "", "Of the acknowledged payload of all directions of this path; where only goodput is known, of that."),
        Column("utilization", F64, "", "`average_bps` over the capacity that the phases of the path show."),
        Column("queue_delay_us", F64, "us", "Median over the rounds; null at the receiver, which sees no queue."),
        Column("queue_delay_p99_us", F64, "us", "99th percentile over the rounds."),
        Column("rtt_min_us", F64, "us", "Smallest RTT."),
        Column("rtt_mean_us", F64, "us", "Mean RTT."),
        Column("ce_share", F64, "", "CE packets that its receiver reported (or that were seen), of the data packets."),
        Column("losses", U64, "packet", "Retransmitted data packets."),
        Column("law", STR, "", "Law of its reductions, as in table `laws` of the run."),
        Column("cuts", U64, "", "Reductions caused by CE whose law is known."),
        Column("classic_cuts", U64, "", "Of those, by the law `floor` (0.3125 in classic mode) or `half`."),
        Column("time_classic", F64, "", "Share of the logged steps of the fallback's detector with a score of 8 or more; null without kernel log."),
    ),
)

SWEEP_FINDINGS = Table(
    "findings",
    "One finding of one run, as `diagnose --json` has it.",
    ("run", "number"),
    (
        RUN,
        Column("number", U32, "", "Place in the run's list, worst first, from 0."),
        Column("rule", STR, "", "Code of the rule."),
        Column("severity", STR, "", "`error`, `warning`, `notice` or `info`."),
        Column("confidence", STR, "", "`high`, `medium` or `low`."),
        Column("message", STR, "", "One sentence."),
        Column("flow", U32, "", "Flow; null for the whole run."),
        Column("forward", BOOL, "", "Direction of the flow."),
        Column("start_ns", I64, "ns", "Start of the time it is about."),
        Column("end_ns", I64, "ns", "End of that time."),
    ),
)

SWEEP_MEASURES = Table(
    "measures",
    "One number of one run: of the run as a whole, or behind one of its findings.",
    ("run", "number", "name"),
    (
        RUN,
        Column("number", U32, "", "Finding that the number stands behind; null for the run as a whole."),
        Column("name", STR, "", "Such as `l4s_share`; `l4strace/sweep/measures.py` lists those of whole runs."),
        Column("value", F64, "", "The number; null when it is text."),
        Column("text", STR, "", "The text; null when it is a number."),
        Column("unit", STR, "", "`bit/s`, `us`, `share`, `packet` and the like; empty for none."),
        Column("expected", STR, "", "What it should be, of a finding's measure."),
    ),
)

SWEEP_TABLES = {table.name: table for table in (RUNS, SWEEP_FLOWS, SWEEP_FINDINGS, SWEEP_MEASURES)}
"""The tables of a sweep by name; each is a folder of that name in the dataset."""
