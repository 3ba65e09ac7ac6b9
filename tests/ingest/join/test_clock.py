"""The clock that a log states; what its packets make of it is tested on the lab runs."""

from pathlib import Path

from l4strace.ingest.logs.open_log import take_stated_clock
from l4strace.ingest.logs.samples import Log


def test_a_run_may_name_its_clock_file(tmp_path: Path) -> None:
    (tmp_path / "run.clock.txt").write_text("realtime_minus_monotonic_ns 5 uncertainty_ns 2\n")
    log = Log(str(tmp_path / "run.trace.txt.zst"), "kprobe-events")
    take_stated_clock(log)
    assert (log.unix_offset_ns, log.uncertainty_ns, log.clock) == (5, 2, "monotonic")
