"""Numbers of whole runs from the rows of their flows."""

from __future__ import annotations

import polars as pl
import pytest

from l4strace.schema.sweep import SWEEP_FLOWS
from l4strace.studies import measures
from l4strace.studies.sources import elsewhere


def of(*flows: dict[str, object]) -> dict[str, float]:
    rows = [{"run": "r", "flow": n, "forward": True, "mode": "accecn"} | f
            for n, f in enumerate(flows)]  # fmt: skip
    rates = pl.DataFrame({"run": ["r"], "rate_bps": [100e6]})
    found = measures.of_flows(SWEEP_FLOWS.conform(pl.DataFrame(rows)), rates)
    return dict(found.select("name", "value").iter_rows())


def flow(l4s: bool, mbit: float, lasted_s: float = 10.0, **more: object) -> dict[str, object]:
    return {"l4s": l4s, "average_bps": mbit * 1e6, "goodput_bps": mbit * 1e6,
            "lasted_s": lasted_s, "packets": 1000, "losses": 0} | more  # fmt: skip


def test_each_class_has_its_own_numbers():
    found = of(flow(True, 92, rtt_mean_us=11e3, ce_share=0.2),
               flow(False, 4, rtt_mean_us=20e3, ce_share=0.01, losses=20))  # fmt: skip
    assert (found["l4s_rtt"], found["classic_rtt"]) == (11e3, 20e3)
    assert (found["ce_share"], found["classic_ce_share"]) == (0.2, 0.01)
    assert (found["l4s_loss_share"], found["classic_loss_share"]) == (0.0, 0.02)
    assert found["classic_of_link"] == pytest.approx(0.04)
    assert found["takes_all"] == 1.0
    assert of(flow(True, 50), flow(False, 40))["takes_all"] == 0.0


def test_completions_are_0_and_not_missing_without_short_flows():
    found = of(flow(True, 50), flow(False, 40))
    assert found["completions"] == 0
    assert "completion_time" not in found
    found = of(flow(True, 50), flow(False, 4, 0.5), flow(False, 4, 1.5))
    assert (found["completions"], found["completion_time"]) == (2, 1.0)
    assert "completions" not in of(flow(True, 50) | {"lasted_s": None})


def test_the_three_states_of_the_detector():
    frame = pl.DataFrame(
        {"prague goodput": [1e6], "classic": [6], "transition": [3], "scalable": [1]}
    )
    table = elsewhere.tables(frame, "t")["measures"]
    found = dict(table.select("name", "value").iter_rows())
    states = [found[f"{name}_state"] for name in ("classic", "transition", "scalable")]
    assert states == pytest.approx([0.6, 0.3, 0.1])
