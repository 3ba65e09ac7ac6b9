"""Latency spikes."""

import polars as pl

from l4strace.model import Severity
from l4strace.rules.l4s503_latency_spike import check
from tests.support.frames import MS, evidence, frame
from tests.support.scenes import DIRECTIONS, FLOWS


def scene(spikes: pl.DataFrame):
    return evidence(flows=FLOWS, directions=DIRECTIONS, spikes=spikes)


def spikes(*lengths_ms: int) -> pl.DataFrame:
    starts = [5_000 * MS * (i + 1) for i in range(len(lengths_ms))]
    return frame(
        "spikes",
        start_ns=starts,
        end_ns=[s + n * MS for s, n in zip(starts, lengths_ms, strict=True)],
        height_us=120_000.0,
        usual_us=400.0,
        rounds=10,
        cause="rate-drop",
    )


def test_fires_with_start_height_length_and_cause() -> None:
    (found,) = check(scene(spikes(300, 1500)))
    assert found.severity is Severity.WARNING
    assert found.message == (
        "Latency spike of 1.5 s from t=10.0 s: queue delay reached 120 ms (usually 0.4 ms). "
        "Likely cause: the bottleneck became slower. It is the longest of 2 spikes."
    )
    assert [m.value for m in found.measures] == [120_000.0, 400.0, 1.5]


def test_fires_as_notice_when_short() -> None:
    (found,) = check(scene(spikes(300)))
    assert found.severity is Severity.NOTICE


def test_silent_without_spikes() -> None:
    assert check(scene(frame("spikes").clear())) == []
