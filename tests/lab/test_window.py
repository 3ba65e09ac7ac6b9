"""The window law that the lab's Prague follows (fixtures/lab/vm), on every ACK of the real one."""

from __future__ import annotations

import importlib
from pathlib import Path

import polars as pl
import pytest

from l4strace.ingest.join import attach
from tests.support import frames
from tests.support.places import FIXTURES

RUNS = {
    "b": (24, {"increase": 8150, "cut": 241, "window": 8176, "scale": 1070}),
    "h": (20, {"increase": 13932, "cut": 8, "window": 14291, "scale": 482}),
    "q1": (20, {"increase": 3268, "cut": 608, "window": 3304, "scale": 886}),
}
"""Bits of alpha, and steps: cuts at the floor, for losses, and by alpha at two to five packets."""


@pytest.mark.parametrize("run", RUNS)
def test_every_increase_cut_and_window_is_replayed_to_the_bit(
    shared_data: Path, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FIXTURES / "lab" / "vm"))
    window = importlib.import_module("window")
    kernel = attach.load_logs(frames.capture(), [str(shared_data / f"lab/{run}/trace.txt.zst")])
    acks = kernel.kernel.filter(event="ack").group_by("sk").len().sort("len")
    own = pl.col("sk").is_null() | (pl.col("sk") == acks["sk"][-1])
    bits, steps = RUNS[run]
    replay = window.Replay(bits).feed(kernel.kernel.filter(own).iter_rows(named=True))
    assert replay.wrong == []
    assert dict(replay.right) == steps


@pytest.mark.parametrize(("least", "after"), [(0, 1_907_026), (2 << 20, 2 << 20)])
def test_the_labs_prague_keeps_two_packets(
    least: int, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FIXTURES / "lab" / "vm"))
    window = importlib.import_module("window")
    row = {"ssthresh": 2, "snd_cwnd": 3, "round": 9, "extra": None, "alpha_used_raw": None}
    row |= {"rs_acked": 0, "rs_ece": 0, "ca_state": 0, "frac_cwnd": 2_773_856}
    rows = [
        {**row, "event": "cwr", "ts_ns": 0, "upscaled_alpha": 0},
        {**row, "event": "fallback", "ts_ns": 1, "alpha_used_raw": 5 << 21},
        {**row, "event": "ack", "ts_ns": 2, "frac_cwnd": after},
    ]
    replay = window.Replay(24, least).feed(rows)
    assert (replay.right["cut"], replay.wrong) == (1, [])
