"""Two captures of a lab run: the counts of its receiver and of its manifest."""

import json
from pathlib import Path

import polars as pl

from l4strace.derive import queue_delay
from l4strace.evidence import Capture
from l4strace.ingest import load


def _lab(shared_data: Path, run: str) -> Capture:
    folder = shared_data / "lab" / run
    return load.load([str(folder / "sender.pcap.xz"), str(folder / "receiver.pcap.xz")])


def test_lab_marks_are_those_that_the_receiver_counted(shared_data: Path) -> None:
    capture = _lab(shared_data, "b")
    arrived = capture.directions.filter(source=1).select("flow", "forward", "ce", "packets")
    paths = capture.paths.join(arrived, on=("flow", "forward")).filter(pl.col("far") == 1)
    marks = pl.sum_horizontal(f"{name}_to_ce" for name in ("not_ect", "ect1", "ect0", "ce"))
    assert paths.filter(marks != pl.col("ce")).is_empty()
    assert paths.filter(pl.col("matched") != pl.col("packets")).is_empty()
    assert paths["ect1_to_ce"].sum() > 300


def test_lab_bleaching_and_losses(shared_data: Path) -> None:
    capture = _lab(shared_data, "k")
    manifest = json.loads((shared_data / "lab" / "k" / "manifest.json").read_text())
    text = json.dumps(manifest)
    assert "bleach" in text.lower()
    forward = capture.paths.filter(pl.col("forward") & (pl.col("matched") > 1000))
    assert forward["ect1_to_ect1"].sum() == 0
    assert forward["ect1_to_not_ect"].sum() > 20_000
    sent = capture.directions.filter(source=0).select("flow", "forward", "retransmits")
    joined = forward.join(sent, on=("flow", "forward"))
    assert joined["lost"].to_list() == joined["retransmits"].to_list()


def test_one_way_delay_follows_the_queue(shared_data: Path) -> None:
    derived = queue_delay.rounds(_lab(shared_data, "b"))
    rounds = derived.filter(pl.col("owd_mean_us").is_not_null())
    cubic = rounds.filter((pl.col("source") == 0) & (pl.col("flow") == 3) & (pl.col("round") > 5))
    assert cubic.select(pl.corr("owd_mean_us", "queue_delay_us")).item() > 0.9
