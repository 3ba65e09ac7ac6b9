"""`l4strace compare` as it is typed."""

import json
from pathlib import Path

import pytest

TABLE = "kernel,aqm,rate,i,prague throughput,cubic throughput\n" + "".join(
    f"{kernel},{aqm},40,{i},{share + i % 3},{100 - share - i % 3}\n"
    for kernel, aqm, share in (
        ("old-91", "DualPI2", 9), ("new-92", "DualPI2", 45),
        ("old-91", "CoDel", 45), ("new-92", "CoDel", 45),
    )
    for i in range(6)
)  # fmt: skip


@pytest.mark.slow
def test_two_values_of_a_parameter(call, tmp_path: Path):
    (tmp_path / "study.csv").write_text(TABLE)
    assert call("sweep", "study.csv", "-o", "study", "-q").exit_code == 0
    done = call("compare", "study", "--by", "kernel", "--of", "old,new", "-m", "l4s_share")
    assert done.exit_code == 0
    assert "aqm DualPI2: 10 % -> 46 %, +36 points" in done.stdout
    document = json.loads(
        call("compare", "study", "--by", "kernel", "--of", "old,new", "--json").stdout
    )
    assert document["before"] == "old-91"
    shares = next(one for one in document["measures"] if one["name"] == "l4s_share")
    assert shares["differing_cells"] == 1
    words = ("compare", "study", "--by", "kernel", "--of", "old,new", "-o")
    assert call(*words, "page.html").exit_code == 0
    assert "L4S throughput share" in (tmp_path / "page.html").read_text()
    assert call(*words, "study.csv").exception is not None


def test_a_call_that_does_not_fit(call):
    assert "--of" in str(call("compare", "a", "--by", "kernel").exception)
    assert "two places" in str(call("compare", "a").exception)


@pytest.mark.slow
def test_a_regression_fails_ci(call, tmp_path: Path):
    (tmp_path / "good.csv").write_text(TABLE)
    worse = TABLE
    for i in range(6):
        share = 45 + i % 3
        worse = worse.replace(
            f"CoDel,40,{i},{share},{100 - share}", f"CoDel,40,{i},{share - 40},95"
        )
    (tmp_path / "bad.csv").write_text(worse)
    first = call("sweep", "good.csv", "-o", "good", "--write-baseline", "base.parquet", "-q")
    assert first.exit_code == 0
    same = call("sweep", "good.csv", "-o", "again", "--baseline", "base.parquet")
    assert (same.exit_code, "Nothing became worse." in same.stdout) == (0, True)
    bad = call("sweep", "bad.csv", "-o", "bad", "--baseline", "good")
    assert bad.exit_code == 1
    assert "L4S throughput share became worse in 2 of 4 cells" in bad.stdout
    words = ("sweep", "bad.csv", "-o", "bad", "--baseline", "good", "--format")
    junit, sarif = call(*words, "junit"), call(*words, "sarif")
    assert (junit.exit_code, sarif.exit_code) == (1, 0)
    assert 'classname="l4s_share"' in junit.stdout
    (run,) = json.loads(sarif.stdout)["runs"]
    assert "l4s_share" in [result["ruleId"] for result in run["results"]]
    assert "--baseline" in call("sweep", "bad.csv", "--format", "junit").exception.hint
