"""The estimated window against the kernel's, sampled by flent while the packets were captured."""

import gzip
import json
from pathlib import Path
from statistics import median

import polars as pl
import pytest

from tests.support.tracking import rounds_of

# Stem, client port of the flow, and the flent series that sampled its socket.
SAMPLED = [
    ("s1-oneflow-ns-prague-dualpi2-50Mbit-20ms", 37642, "TCP upload"),
    ("s1-oneflow-ns-prague-dualpi2-5Mbit-160ms", 58782, "TCP upload"),
    ("s2-twoflow-ns-cubic-vs-prague-codel1q_20ms_-20ms", 42086, "TCP upload::1"),
    ("s2-twoflow-ns-cubic-vs-prague-codel1q_20ms_-20ms", 38774, "TCP upload::2"),
    ("s2-twoflow-ns-cubic-vs-prague-dualpi2-20ms", 42144, "TCP upload::1"),
    ("s2-twoflow-ns-cubic-vs-prague-dualpi2-20ms", 42268, "TCP upload::2"),
    ("s2-twoflow-ns-cubic-vs-prague-pfifo_1000_-20ms", 60554, "TCP upload::1"),
    ("s2-twoflow-ns-cubic-vs-prague-pfifo_1000_-20ms", 57460, "TCP upload::2"),
    ("s4-capacity-reduction-ns-prague-50Mbit-5mbit-20ms", 50902, "TCP upload"),
]


@pytest.mark.parametrize(("name", "port", "series"), SAMPLED)
def test_window_is_the_kernels_within_ten_percent(
    name: str, port: int, series: str, shared_data: Path
) -> None:
    stem = shared_data / "prague-2020" / f"batch-l4s-{name}"
    with gzip.open(f"{stem}.flent.gz") as stream:
        samples = json.load(stream)["raw_values"][series]
    rounds = rounds_of(Path(f"{stem}.tcpdump_cli_cli.pcap.xz"), port).filter(
        pl.col("cwnd_packets").is_not_null() & ~pl.col("slow_start")
    )
    kernel = pl.DataFrame(
        {
            "start_ns": [int(s["t"] * 1e9) for s in samples if "tcp_cwnd" in s],
            "cwnd": [s["tcp_cwnd"] for s in samples if "tcp_cwnd" in s],
        }
    ).sort("start_ns")
    joined = kernel.join_asof(rounds.sort("start_ns"), on="start_ns", coalesce=False).filter(
        pl.col("start_ns") < pl.col("end_ns")
    )
    errors = (joined["cwnd_packets"] - joined["cwnd"]).abs() / joined["cwnd"]
    assert joined.height > 100
    assert median(errors) <= 0.10
