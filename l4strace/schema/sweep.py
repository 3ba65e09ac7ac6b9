"""Tables of a sweep: one dataset over many runs, kept as Apache Parquet.

They are not tables of one run, so `TABLES` of the package does not hold them. The parameters of the
runs follow the declared columns of `runs`: one column `p_NAME` for each, integer or float where
every value is a number, else text.
"""

from l4strace.schema.capture import BOOL, F64, I64, STR, U32, U64
from l4strace.schema.table import UNIX_NS, Column, Table

RUN = Column("run", STR, "", "Name of the run, as in table `runs`.")

RUNS = Table(
    "runs",
    "One run: its parameters, and whether it could be measured.",
    ("run",),
    (
        Column("run", STR, "", "Name of the run: its path below the folder, without file endings, or its row of a table made elsewhere."),
        Column("status", STR, "", "How the run's diagnosis ended: `ok`, `failed` (cannot be read), `timeout`, `memory` or `died`."),
        Column("error", STR, "", "Why the run has no results; null when `status` is `ok`."),
        Column("origin", STR, "", "Source of the run's numbers: `packets`, `kernel`, `flent`, `iperf3` or `table` (made elsewhere)."),
        Column("repetition", STR, "", "Which repetition of its cell the run is; null when not stated."),
        Column("verdict", STR, "", "Worst finding of the run as one sentence, as `diagnose` prints it."),
        Column("severity", STR, "", "Severity of the worst finding; null without findings."),
        Column("rule", STR, "", "Rule of the worst finding; null without findings."),
        Column("judged", STR, "", "Codes of the rules that could judge the run, separated by spaces; null where none looked, as at results of load generators."),
        Column("files", STR, "", "Files of the run, separated by newlines."),
        Column("fingerprint", STR, "", "Digest of files, options and version; a run whose digest has not changed is not diagnosed again."),
    ),
)

SWEEP_FLOWS = Table(
    "flows",
    "One flow direction of one run that carries data.",
    ("run", "flow", "forward"),
    (
        RUN,
        Column("flow", U32, "", "Number of the flow, as `diagnose` of this run shows it."),
        Column("forward", BOOL, "", "True from client to server, false from server to client."),
        Column("label", STR, "", "Congestion control, where a log or a table names it; else null."),
        Column("l4s", BOOL, "", "True when the direction sends ECT(1), or `label` names a scalable congestion control."),
        Column("mode", STR, "", "Negotiated ECN: `accecn`, `classic`, `none` or `unknown`; null without packets."),
        Column("goodput_bps", F64, "bit/s", "Acknowledged payload divided by the time of the direction's own rounds; such rates do not add up over flows that lasted for different times."),
        Column("average_bps", F64, "bit/s", "Acknowledged payload divided by the run's time, from the first round of any direction to the end of the last; such rates add up. Null where only goodput is known."),
        Column("share", F64, "", "Share of the payload acknowledged on the path; where only goodput is known, share of the goodput."),
        Column("utilization", F64, "", "`average_bps` divided by the capacity that the phases of the path show."),
        Column("queue_delay_us", F64, "us", "Median queue delay over the time of the rounds; null at the receiver, which sees no queue."),
        Column("queue_delay_p99_us", F64, "us", "99th percentile of the queue delay over the time of the rounds; null at the receiver, which sees no queue."),
        Column("rtt_min_us", F64, "us", "Smallest RTT of the direction."),
        Column("rtt_mean_us", F64, "us", "Mean RTT of the direction."),
        Column("ce_share", F64, "", "Share of the data packets that its receiver reported, or the capture shows, as CE."),
        Column("losses", U64, "packet", "Number of retransmitted data packets."),
        Column("packets", U64, "packet", "Number of data packets; null without packets."),
        Column("lasted_s", F64, "s", "Time from the first round of the direction to the end of its last one; null without packets."),
        Column("law", STR, "", "Law of the direction's reductions, as in table `laws` of the run."),
        Column("cuts", U64, "", "Reductions caused by CE whose law is known."),
        Column("classic_cuts", U64, "", "Reductions caused by CE whose law is `floor` (0.3125 in classic mode) or `half`."),
        Column("time_classic", F64, "", "Share of the logged steps of the fallback's detector in classic mode, with a score of 9 or more; null without kernel log."),
        Column("time_transition", F64, "", "Share of the logged steps of the fallback's detector in transition, with a score between 8 and 9; null without kernel log."),
    ),
)

SWEEP_DELAYS = Table(
    "delays",
    "One point of the distribution of queue delay over the acknowledged packets of one class of one run; runs without packets, and captures at receivers, have none.",
    ("run", "l4s", "share"),
    (
        RUN,
        Column("l4s", BOOL, "", "True for the directions that send ECT(1), false for all others."),
        Column("share", F64, "", "Share of the acknowledged packets of the class whose queue delay is at most `queue_delay_us`, 0 to 1."),
        Column("queue_delay_us", F64, "us", "Queue delay of the round that acknowledged them."),
    ),
)

SWEEP_FINDINGS = Table(
    "findings",
    "One finding of one run, as `diagnose --json` prints it.",
    ("run", "number"),
    (
        RUN,
        Column("number", U32, "", "Place of the finding in the run's list, worst first, from 0."),
        Column("rule", STR, "", "Code of the rule that made the finding."),
        Column("severity", STR, "", "How bad the finding is if true: `error`, `warning`, `notice` or `info`."),
        Column("confidence", STR, "", "How sure the evidence makes the finding: `high`, `medium` or `low`."),
        Column("message", STR, "", "The finding as one sentence."),
        Column("flow", U32, "", "Number of the flow; null when the finding is about the whole run."),
        Column("forward", BOOL, "", "Direction of the flow: true from client to server; null when the finding is about more."),
        Column("start_ns", I64, UNIX_NS, "Start of the time that the finding is about."),
        Column("end_ns", I64, UNIX_NS, "End of the time that the finding is about."),
    ),
)

SWEEP_MEASURES = Table(
    "measures",
    "One number of one run: of the run as a whole, or behind one of its findings.",
    ("run", "number", "name"),
    (
        RUN,
        Column("number", U32, "", "Number of the finding in table `findings`; null when the measure is of the run as a whole."),
        Column("name", STR, "", "Name of the measure, such as `l4s_share`; `l4strace/studies/measures.py` lists those of whole runs."),
        Column("value", F64, "", "Value as a number; null when it is text."),
        Column("text", STR, "", "Value as text; null when it is a number."),
        Column("unit", STR, "", "Unit of the value, such as `bit/s`, `us`, `share` or `packet`; empty for none."),
        Column("expected", STR, "", "Expected value of a finding's measure, in words."),
    ),
)

SWEEP_TABLES = {table.name: table for table in (RUNS, SWEEP_FLOWS, SWEEP_DELAYS, SWEEP_FINDINGS, SWEEP_MEASURES)}
"""The tables of a sweep by name; each is a folder of that name in the dataset."""
