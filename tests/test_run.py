"""The Python API on a sample that the repository holds."""

from pathlib import Path

import polars as pl
import pytest

import l4strace
from l4strace.run import TABLES, Run


@pytest.fixture(scope="module")
def misfire(fixtures: Path) -> Run:
    return l4strace.open(fixtures / "misfire" / "misfire.pcap.xz")


def test_every_table_is_a_polars_frame(misfire: Run):
    for table in TABLES:
        assert isinstance(getattr(misfire, table), pl.DataFrame)
    assert misfire.rounds.height > 100
    assert misfire.kernel.height > 1000


def test_findings_are_a_frame_worst_first(misfire: Run):
    assert misfire.findings["rule"].to_list()[0] == "L4S301"
    assert misfire.findings["severity"].to_list()[0] == "error"
    assert misfire.verdict == misfire.findings["message"][0]
    assert "(expected " in misfire.findings["measures"][0][0]
    assert misfire.skipped.columns == ["rule", "reason", "flow"]


def test_figures_are_those_of_the_largest_flow_or_of_one(misfire: Run):
    assert {"rtt", "goodput"} <= misfire.figures().keys()
    assert "classic_ecn" in {name.replace("-", "_") for name in misfire.figures(flow=1)}
    assert misfire.figures(flow=999) == {}


def test_a_word_that_is_no_table(misfire: Run):
    with pytest.raises(AttributeError, match="rounds"):
        misfire.packet_list  # noqa: B018


def test_nothing_to_open():
    with pytest.raises(l4strace.UsageError):
        l4strace.open()


def test_the_package_loads_nothing_heavy_and_exports_what_it_says():
    assert set(l4strace.__all__) <= set(dir(l4strace))
