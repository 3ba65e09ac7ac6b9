"""A study in Python: tables, figures and comparisons without the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import l4strace
from tests.support import sweeps


@pytest.fixture
def study(tmp_path: Path) -> l4strace.Study:
    return sweeps.of_a_table(tmp_path)


def test_a_study_in_python(study: l4strace.Study, tmp_path: Path):
    assert study.parameters == ["aqm", "rate", "rtt"]
    assert study.runs.height == 32
    assert study.where("rate=4", "aqm!=CoDel").runs.height == 8
    assert study.cells("l4s_share", ["aqm"])["runs"].to_list() == [16, 16]
    assert study.figure("l4s_share", each=["aqm"]).layout.title.text == "L4S throughput share"
    assert "32 runs, 0 failed" in study._repr_html_()
    again = l4strace.Study(tmp_path / "study.sweep")
    assert again.measures.height == study.measures.height
    compared = l4strace.compare(study, by="aqm", of=["CoDel", "DualPI2"], measures=["l4s_share"])
    assert "differs in 4 of 4 cells" in str(compared)
    assert compared.measures["l4s_share"]["differs"].all()
    assert "<pre>aqm: CoDel" in compared._repr_html_()
    same = l4strace.compare(study, again, measures=["l4s_share"])
    assert not same.measures["l4s_share"]["differs"].any()
