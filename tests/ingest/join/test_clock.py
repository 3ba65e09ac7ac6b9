"""The clock that a log states; what its packets make of it is tested on the lab runs."""

import os
import threading
from pathlib import Path

import polars as pl

from l4strace.ingest import load
from l4strace.ingest.logs.open_log import take_stated_clock
from l4strace.ingest.logs.samples import Log


def test_a_run_may_name_its_clock_file(tmp_path: Path) -> None:
    (tmp_path / "run.clock.txt").write_text("realtime_minus_monotonic_ns 5 uncertainty_ns 2\n")
    log = Log(str(tmp_path / "run.trace.txt.zst"), "kprobe-events")
    take_stated_clock(log)
    assert (log.unix_offset_ns, log.uncertainty_ns, log.clock) == (5, 2, "monotonic")


def test_a_log_beside_a_pipe_is_joined_by_its_stated_clock(fixtures: Path, tmp_path: Path) -> None:
    """As beside standard input: the packets of a pipe pass once."""
    run, pipe = fixtures / "accecn-clean", tmp_path / "pipe.pcap"
    os.mkfifo(pipe)
    packets = (run / "sender.pcap.xz").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=[packets])
    writer.start()
    capture = load.load([str(pipe), str(run / "sender.kernel.ndjson.zst")])
    writer.join()
    assert capture.kernel.height
    assert set(capture.kernel["flow"]) <= set(capture.flows.filter(pl.col("source") == 0)["flow"])
