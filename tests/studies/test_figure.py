"""A study for a paper, a script and a notebook: figures, tables, comparisons without the page."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import l4strace
from l4strace import errors
from l4strace.studies import figure
from tests.support import sweeps


@pytest.fixture
def study(tmp_path: Path) -> l4strace.Study:
    return sweeps.of_a_table(tmp_path)


def test_a_heat_map_has_scale_units_and_numbers_of_runs(study: l4strace.Study):
    text = study.svg("l4s_share", each=["aqm"], labels={"rate": "Rate (Mbit/s)", "title": "Fair?"})
    root = ElementTree.fromstring(text)  # noqa: S314 - our own
    words = ["".join(one.itertext()) for one in root.iter() if one.tag.endswith("}text")]
    assert words[0] == "Fair?"
    assert words.count("n=4") == 8
    assert words.count("Rate (Mbit/s)") == 2
    assert "aqm DualPI2" in words
    assert [word for word in words if word.startswith("100 %")]
    assert "9 %" in words


def test_what_the_study_does_not_have_is_an_error(study: l4strace.Study):
    for wrong in ({"measure": "nonsense"}, {"measure": "l4s_share", "columns": "speed"},
                  {"measure": "l4s_share", "statistic": "mode"}):  # fmt: skip
        with pytest.raises(errors.UsageError):
            figure.figure(study.tables, figure.Asked(**wrong))  # type: ignore[arg-type]
