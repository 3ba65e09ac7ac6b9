"""Polls of the lab and of Flent join the flows that packets show."""

from pathlib import Path

import polars as pl
import pytest

from l4strace.ingest import load


def test_lab_polls_join_their_flows(shared_data: Path) -> None:
    run = shared_data / "lab/a"
    capture = load.load([str(run / "sender.pcap.xz"), str(run / "ss.txt.xz")])
    assert capture.kernel.group_by("flow").len().height == 4
    prague = capture.kernel.filter(pl.col("flow") == 1)
    assert prague["delivered_ce"].max() == 2892
    assert set(prague["cc"]) == {"prague"}


def test_flent_series_find_their_flows_by_bytes(shared_data: Path) -> None:
    stem = "batch-l4s-s2-twoflow-ns-cubic-vs-prague-dualpi2-20ms"
    folder = shared_data / "prague-2020"
    pcap = str(folder / f"{stem}.tcpdump_cli_cli.pcap.xz")
    capture = load.load([pcap, str(folder / f"{stem}.flent.gz")])
    joined = capture.kernel.join(capture.flows.filter(pl.col("source") == 0), on="flow")
    assert set(capture.kernel["cc"]) == {"cubic", "prague"}
    assert joined["flow"].n_unique() == 2
    rounds = capture.rounds.filter(pl.col("forward") & pl.col("cwnd_packets").is_not_null())
    prague = joined.filter(pl.col("cc") == "prague")
    seen = rounds.filter(pl.col("flow") == prague["flow"][0])["cwnd_packets"].median()
    assert seen == pytest.approx(prague["snd_cwnd"].median(), rel=0.1)
