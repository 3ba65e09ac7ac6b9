"""Tables of the Analysis stage: what the rules found, one row each."""

import polars as pl

from l4strace.schema.capture import FLOW, FORWARD, SOURCE
from l4strace.schema.table import UNIX_NS, Column, Table

U32, U64, I64, F64 = pl.UInt32(), pl.UInt64(), pl.Int64(), pl.Float64()
STR = pl.String()

FINDING = Column("finding", U32, "", "Number of the finding, from 0, worst first: its `finding` in table `findings`.")

FINDINGS = Table(
    "findings",
    "One finding, worst first. `source`, `flow` and `forward` are null where it concerns more than one.",
    ("finding",),
    (
        FINDING,
        Column("rule", STR, "", "Code of the rule."),
        Column("severity", STR, "", "How bad the finding is if true: `error`, `warning`, `notice` or `info`."),
        Column("confidence", STR, "", "How sure the evidence makes the finding: `high`, `medium` or `low`."),
        Column("message", STR, "", "The finding as one sentence that stands alone."),
        Column("action", STR, "", "What to do about the finding; empty where there is nothing to do."),
        SOURCE,
        Column("file", STR, "", "Path of the input `source`; null where the finding names none."),
        FLOW,
        FORWARD,
        Column("span_ns", pl.List(I64), UNIX_NS, "First and last moment of the finding, on the run's clock; null where it has none."),
        Column("start", pl.Datetime("ns", "UTC"), "", "First moment of the finding as a date."),
        Column("end", pl.Datetime("ns", "UTC"), "", "Last moment of the finding as a date."),
        Column("frames", pl.List(U64), "", "Frames of the input `source` that show the finding, numbered as in Wireshark, at most 20."),
        Column("measures", pl.List(STR), "", "Numbers behind the finding, in words; table `measures` holds them as numbers."),
    ),
)

MEASURES = Table(
    "measures",
    "One number behind a finding.",
    ("finding", "name"),
    (
        FINDING,
        Column("rule", STR, "", "Code of the rule."),
        SOURCE,
        FLOW,
        FORWARD,
        Column("name", STR, "", "Name of what was measured."),
        Column("value", F64, "", "Measured number, in `unit`; null where it is text or not finite."),
        Column("text", STR, "", "Measured value where it is text, such as the name of a build."),
        Column("unit", STR, "", "Unit of `value`; empty for a plain number."),
        Column("expected", STR, "", "Expected value, in words; empty where nothing is expected."),
    ),
)

SKIPPED = Table(
    "skipped",
    "One rule that could not judge the whole run or one flow.",
    ("rule", "flow"),
    (
        Column("rule", STR, "", "Code of the rule."),
        Column("reason", STR, "", "Why the rule could not judge: the input that it lacked."),
        FLOW,
    ),
)
