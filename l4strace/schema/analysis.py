"""Tables of the Analysis stage: what the rules found, one row each."""

import polars as pl

from l4strace.schema.capture import FLOW, FORWARD, SOURCE
from l4strace.schema.table import Column, Table

U32, U64, I64, F64 = pl.UInt32(), pl.UInt64(), pl.Int64(), pl.Float64()
STR = pl.String()

FINDING = Column("finding", U32, "", "Number of the finding from 0, worst first: row of `findings`.")

FINDINGS = Table(
    "findings",
    "One finding, worst first. `source`, `flow` and `forward` are null where it is about more.",
    ("finding",),
    (
        FINDING,
        Column("rule", STR, "", "Code of the rule."),
        Column("severity", STR, "", "`error`, `warning`, `notice` or `info`: how bad it is if true."),
        Column("confidence", STR, "", "`high`, `medium` or `low`: how sure the evidence makes it."),
        Column("message", STR, "", "One sentence that stands alone."),
        Column("action", STR, "", "What to do; empty where there is nothing."),
        SOURCE,
        Column("file", STR, "", "Path of that input; null where the finding names none."),
        FLOW,
        FORWARD,
        Column("span_ns", pl.List(I64), "ns", "First and last moment, on the run's clock; null where it has none."),
        Column("start", pl.Datetime("ns", "UTC"), "", "The first of them as a date."),
        Column("end", pl.Datetime("ns", "UTC"), "", "The last of them as a date."),
        Column("frames", pl.List(U64), "", "Frame numbers of that input as in Wireshark, at most 20."),
        Column("measures", pl.List(STR), "", "The numbers behind it in words; `measures` has them as numbers."),
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
        Column("name", STR, "", "What was measured."),
        Column("value", F64, "", "The number, in `unit`; null where it is a text or not finite."),
        Column("text", STR, "", "The value where it is a text, such as the name of a build."),
        Column("unit", STR, "", "Unit of `value`; empty for a plain number."),
        Column("expected", STR, "", "What it should have been, in words; empty where nothing is expected."),
    ),
)

SKIPPED = Table(
    "skipped",
    "One rule that could not judge, for the whole run or for one flow.",
    ("rule", "flow"),
    (
        Column("rule", STR, "", "Code of the rule."),
        Column("reason", STR, "", "Which input it lacked."),
        FLOW,
    ),
)
