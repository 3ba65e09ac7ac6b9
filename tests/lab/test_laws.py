"""How the senders of the recorded runs respond to marks, from their packets alone."""

from pathlib import Path

import polars as pl
import pytest

from l4strace import pipeline

RUNS = {
    "lab/a/sender.pcap.xz": ("alpha/2", None),
    "lab/b/sender.pcap.xz": ("floor", "wrong"),
    "lab/d/sender.pcap.xz": ("floor", "correct"),
    "lab/e/sender.pcap.xz": ("alpha/2", None),
    "lab/f2/sender.pcap.xz": ("alpha/2", None),
    # The floor acts at times, at four packets: no law leads.
    "lab/q1/sender.pcap.xz": (None, None),
    "lab/s/sender.pcap.xz": ("alpha/2", None),
    "capture/v06-diag/run.pcapng.xz": ("alpha/2", None),
    "capture/v06bug-bcc/run.pcapng.xz": ("floor", "wrong"),
    "capture/v07-bcc/run.pcapng.xz": ("alpha/2", None),
    "prague-wifi-2020/prague_dualpi2_wifi.pcap.gz": ("alpha/2", None),
}


@pytest.mark.parametrize("capture", RUNS)
def test_the_law_of_a_recorded_sender(shared_data: Path, capture: str) -> None:
    laws = pipeline.derive(pipeline.read([str(shared_data / capture)])).laws
    (row,) = laws.filter(pl.col("samples") >= 50).select("law", "references").rows()
    assert row == RUNS[capture]
