"""`l4strace compare` as it is typed."""

import json
from pathlib import Path

TABLE = "kernel,aqm,rate,i,prague throughput,cubic throughput\n" + "".join(
    f"{kernel},{aqm},40,{i},{share + i % 3},{100 - share - i % 3}\n"
    for kernel, aqm, share in (
        ("old-91", "DualPI2", 9), ("new-92", "DualPI2", 45),
        ("old-91", "CoDel", 45), ("new-92", "CoDel", 45),
    )
    for i in range(6)
)  # fmt: skip


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


def test_a_call_that_does_not_fit(call):
    assert "--of" in str(call("compare", "a", "--by", "kernel").exception)
    assert "two places" in str(call("compare", "a").exception)
