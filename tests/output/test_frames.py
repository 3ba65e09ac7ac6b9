"""Findings as tables: numbers stay numbers, places are named."""

import math

from l4strace.model import Analysis, Confidence, Finding, Measure, Severity, Skipped
from l4strace.output import frames
from l4strace.schema import FOUND
from tests.support.frames import evidence, frame

RUN = evidence(sources=frame("sources", source=[0, 1], path=["a.pcap", "b.pcap"]))
FOUND_TWICE = Analysis(
    (
        Finding(
            Severity.ERROR, Confidence.HIGH, "bleached", source=1, flow=3, forward=True,
            span_ns=(1_000_000_001, 2_000_000_000), frames=(7,), rule="L4S104",
            measures=(
                Measure("queue delay", 412.5, "us", "under 2 ms"),
                Measure("build", "24-bit buggy"),
                Measure("share", math.nan, "%"),
            ),
        ),
        Finding(Severity.INFO, Confidence.LOW, "no queue", rule="L4S401"),
    ),
    (Skipped("one capture", rule="L4S109"),),
)  # fmt: skip


def test_findings_name_file_and_moment():
    first, second = frames.findings(RUN, FOUND_TWICE).rows(named=True)
    assert (first["finding"], first["file"], first["frames"]) == (0, "b.pcap", [7])
    assert first["start"].isoformat().startswith("1970-01-01T00:00:01")
    assert first["measures"][0] == "queue delay: 412 us (expected under 2 ms)"
    assert (second["file"], second["start"], second["measures"]) == (None, None, [])


def test_measures_are_numbers():
    table = frames.measures(FOUND_TWICE)
    assert table["value"].to_list() == [412.5, None, None]
    assert table["text"].to_list() == [None, "24-bit buggy", None]
    assert table["finding"].to_list() == [0, 0, 0]
    assert table["expected"].to_list()[0] == "under 2 ms"


def test_each_has_its_declared_columns_also_when_empty():
    for analysis in (FOUND_TWICE, Analysis(())):
        for name, declared in FOUND.items():
            assert frames.of(name, RUN, analysis).schema == declared.schema
