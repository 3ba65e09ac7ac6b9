"""Window and alpha replayed from packets against what the lab kernels logged."""

import re
from pathlib import Path

import polars as pl
import pytest

from l4strace.core import _native
from tests.support.tracking import rounds_of

# Build's alpha bits by run. The runs without CE keep alpha at its initial value.
RUNS = {"a": 20, "b": 24, "d": 20, "e": 20, "f2": 20, "h": 20, "k": 20, "o": 20, "q1": 20, "s": 24}
EVENT = re.compile(r"(\d+)\.(\d{6}): (ack|alpha): .* sport=40001 ")
FIELD = re.compile(r" (snd_cwnd|upscaled_alpha)=(\d+)")
# An ACK is captured some microseconds before the probe that it triggers.
LATER_NS = 3_000


def kernel(folder: Path, bits: int) -> pl.DataFrame:
    """Events of the Prague flow: Unix time, window and alpha before the event's own update."""
    offset = int(re.findall(r"\d{15,}", (folder / "clock.txt").read_text())[0])
    text = b"".join(_native.read_text(str(folder / "trace.txt.zst"))).decode()
    rows = []
    for line in text.splitlines():
        found = EVENT.search(line)
        if found is None:
            continue
        values = dict(FIELD.findall(line))
        rows.append(
            {
                "ts_ns": int(found[1] + found[2]) * 1000 + offset,
                "event": found[3],
                "snd_cwnd": int(values["snd_cwnd"]),
                "kernel_alpha": int(values["upscaled_alpha"]) / (1 << (bits + 4)),
            }
        )
    return pl.DataFrame(rows).sort("ts_ns")


@pytest.mark.parametrize("run", RUNS)
def test_window_and_alpha_are_the_kernels(run: str, shared_data: Path) -> None:
    folder = shared_data / "lab" / run
    events = kernel(folder, RUNS[run])
    rounds = rounds_of(folder / "sender.pcap.xz", 40001).with_columns(
        ts_ns=pl.col("end_ns") + LATER_NS
    )
    # An event shows the window before the ACK acts on it: the next one what it made of it.
    acks = events.filter(pl.col("event") == "ack").with_columns(pl.col("snd_cwnd").shift(-1))
    window = rounds.filter(pl.col("cwnd_packets").is_not_null() & ~pl.col("slow_start")).join_asof(
        acks, left_on="end_ns", right_on="ts_ns", strategy="forward"
    )
    errors = (window["cwnd_packets"] - window["snd_cwnd"]).abs() / window["snd_cwnd"]
    # Of the windows of run q1, 2 to 5 packets, segmentation and pacing hide most.
    assert window.height >= 20
    assert (errors <= 0.03).mean() >= 0.9

    # The next update shows the value that the last one left.
    updates = events.filter(pl.col("event") == "alpha")
    alpha = rounds.join_asof(updates, on="ts_ns", strategy="forward").drop_nulls("kernel_alpha")
    assert (alpha["alpha_25ms"] - alpha["kernel_alpha"]).abs().median() <= 0.01
