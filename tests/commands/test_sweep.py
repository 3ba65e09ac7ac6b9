"""`l4strace sweep` as it is typed."""

import json
from pathlib import Path

from tests.support.places import FIXTURES

TABLE = "aqm,rate,i,prague throughput,cubic throughput\n" + "".join(
    f"{aqm},{rate},{i},{share * rate * 1e4},{(100 - share) * rate * 1e4}\n"
    for aqm, share in (("DualPI2", 9), ("CoDel", 45))
    for rate in (4, 40)
    for i in range(3)
)


def test_a_table_becomes_a_dataset(call, tmp_path: Path):
    (tmp_path / "study.csv").write_text(TABLE)
    done = call("sweep", "study.csv", "-q")
    assert done.exit_code == 0
    assert "12 runs in study.sweep" in done.stdout
    assert "Parameters: aqm, rate" in done.stdout
    document = json.loads(call("sweep", "study.csv", "--json").stdout)
    assert (document["runs"], document["parameters"]) == (12, ["aqm", "rate"])


def test_a_folder_is_measured(call, tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.pcap.xz").symlink_to(FIXTURES / "accecn-all-ce/sender.pcap.xz")
    document = json.loads(call("sweep", "in", "-o", "out", "--workers", "1", "--json").stdout)
    assert document["measured"] == 1
    assert document["findings"][0]["rule"] == "L4S403"
    assert call("sweep", "in", "-o", "in").exception is not None


def test_a_baseline_replaces_a_baseline_and_nothing_else(call, tmp_path: Path):
    (tmp_path / "study.csv").write_text(TABLE)
    command = ("sweep", "study.csv", "-q", "--write-baseline")
    for _ in range(2):
        assert call(*command, "base.parquet").exit_code == 0
    (tmp_path / "notes").write_text("precious")
    (tmp_path / "link").symlink_to("notes")
    for place in ("notes", "link"):
        assert "--write-baseline" in str(call(*command, place).exception.hint)
        assert (tmp_path / place).read_text() == "precious"
    assert call(*command, "/dev/null").exit_code == 0
    assert Path("/dev/null").is_char_device()
