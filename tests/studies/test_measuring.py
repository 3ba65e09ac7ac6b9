"""One run measured: a row is one run."""

from pathlib import Path

from l4strace.studies.planned import Options, Planned
from l4strace.studies.worker import answer


def test_files_of_two_runs_are_no_row_and_the_reason_is_kept(fixtures: Path):
    files = tuple(
        str(fixtures / name / "sender.pcap.xz") for name in ("accecn-bleached", "accecn-all-ce")
    )
    row = answer(Planned("both", files), Options()).run
    assert row["status"] == "failed"
    assert row["error"].startswith("the inputs are 2 unrelated runs: ")
