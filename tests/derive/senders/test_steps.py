"""Detector steps that several tables share."""

import polars as pl
import pytest

from l4strace.derive.senders import builds, detector, steps
from l4strace.evidence import Capture
from l4strace.ingest.join import attach
from l4strace.prague import replay
from tests.support import frames


def logged(**columns: object) -> Capture:
    kernel = frames.frame(
        "kernel",
        ts_ns=[0, 1000, 2000],
        event="probe",
        srtt_pace_us=10_053.0,
        mdev_pace_us=43.0,
        min_rtt_us=10_000,
        **({"classic_ecn_raw": [0, 0, 0], "alpha_raw": [9, 8, 7], "alpha_bits": 20} | columns),
    )
    return frames.capture(kernel=kernel)


def test_both_tables_take_one_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(steps: pl.DataFrame) -> pl.DataFrame:
        calls.append(steps.height)
        return replay_once(steps)

    replay_once = replay.replayed
    monkeypatch.setattr(replay, "replayed", counted)
    capture = logged()
    assert detector.table(capture).height == builds.table(capture)["steps"][0] == 2
    assert calls == [2]


def test_flows_of_other_congestion_controls_cost_no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    recorded = replay.recorded
    monkeypatch.setattr(
        replay, "recorded", lambda part: asked.append(part.height) or recorded(part)
    )
    prague = logged().kernel
    others = frames.frame(
        "kernel", ts_ns=list(range(50)), event="probe", flow=list(range(1, 51)), snd_cwnd=10
    )
    capture = frames.capture(kernel=pl.concat([others.head(20), prague, others.tail(30)]))
    assert [(part.flow, part.bits) for part in steps.logged(capture)] == [(0, 20)]
    assert asked == [3]
    assert steps.logged(frames.capture(kernel=others)) == ()


@pytest.mark.parametrize(("alpha", "bits"), [([0, 0, 0], 24), ([1 << 20] * 3, 20)])
def test_the_width_of_alpha_is_the_one_that_the_importer_found(alpha: list[int], bits: int) -> None:
    """An alpha of 0 has no ratio from which the width could be computed."""
    part = steps.logged(logged(alpha_raw=alpha, alpha_bits=bits))[0]
    assert part.bits == bits


def test_the_importer_keeps_the_width(tmp_path) -> None:
    log = tmp_path / "ss.txt"
    log.write_text(
        "1795252715.5\nESTAB 0 0 10.0.1.2:40001 10.0.3.2:5201\n\t prague wscale:7,7 rto:211 "
        "rtt:10.1/0.1 mss:1448 cwnd:7 prague:(alpha:1600%,round:5) delivered:9\n"
        "1795252715.6\nESTAB 0 0 10.0.1.2:40001 10.0.3.2:5201\n\t cubic wscale:7,7 rto:211 "
        "rtt:10.1/0.1 mss:1448 cwnd:7 delivered:9\n"
    )
    kernel = attach.load_logs(frames.capture(), [str(log)]).kernel
    assert kernel["alpha_bits"].to_list() == [24, None]
