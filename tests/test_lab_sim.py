"""The simulation of the lab (fixtures/lab/sim): whole runs. Its parts are tested where they are."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from l4strace import pipeline
from tests.support.pairs import contradictions
from tests.support.places import FIXTURES

SIM = FIXTURES / "lab" / "sim"
LAB = SIM / "target" / "release" / "lab-sim"
SECONDS = 4.0

pytestmark = [pytest.mark.slow, pytest.mark.needs("zstd")]


@pytest.fixture(scope="module")
def sim() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SIM))
        patch.delenv("CARGO_TARGET_DIR", raising=False)
        module = importlib.import_module("simulate")
        assert module.program() == LAB
        yield module


@pytest.fixture(scope="module")
def rebuilt(sim: ModuleType) -> Any:
    """A recorded run of real Prague: 50 Mbit/s, 10 ms, a CUBIC beside; here 4 s."""

    def scenario(name: str, **changes: Any) -> Any:
        known = importlib.import_module("known").RECORDINGS[name]
        flows = tuple(replace(flow, seconds=SECONDS - flow.start_s) for flow in known.flows)
        one = replace(known, seconds=SECONDS, flows=flows, log_acks=False)
        return replace(one, **changes)

    return scenario


def run(sim: ModuleType, scenario: Any, folder: Path) -> dict[str, Any]:
    said = sim.simulate(scenario, folder, LAB)
    assert "FAILED" not in said
    return dict(json.loads((folder / scenario.name / "truth.json").read_text()))


def test_seeds_whose_times_no_pcap_holds_are_refused(
    sim: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["simulate.py", "--seed", "90533"])
    with pytest.raises(SystemExit):
        sim.main()
    assert "--seed is at most 89831" in capsys.readouterr().err


def test_the_same_scenario_gives_the_same_packets(sim: ModuleType, rebuilt: Any, tmp_path: Path):
    (tmp_path / "scenario").write_text(sim.text(rebuilt("a", seconds=1.0)))
    for name in ("one", "two"):
        subprocess.run([LAB, tmp_path / "scenario", tmp_path / name], check=True)
    for side in ("sender", "router", "receiver"):
        one, two = (tmp_path / name / f"{side}.pcap" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


def test_flows_fill_the_link_and_share_it(sim: ModuleType, rebuilt: Any, tmp_path: Path):
    truth = run(sim, rebuilt("a"), tmp_path)
    second = truth["seconds"][2]
    assert 0.95 < second["passed_bytes"] * 8 / 50e6 < 1.01
    assert second["wait_ect1_ms"]["p99"] < 2 < second["wait_other_ms"]["p50"]
    rates = [sum(flow["arrived_bytes"][1:4]) for flow in truth["flows"]]
    assert 0.25 < rates[0] / sum(rates) < 0.75
    assert truth["sockets"][0]["score_max"] < 8


def test_every_packet_is_accounted_for(sim: ModuleType, rebuilt: Any, tmp_path: Path):
    truth = run(sim, rebuilt("h"), tmp_path)
    sent = sum(flow["sent_packets"] for flow in truth["flows"])
    arrived = sum(truth["codepoints"]["to_receiver"].values())
    dropped = sum(row["dropped"] for row in truth["seconds"])
    assert dropped == truth["queues"][0]["qdisc"][0]["drops"] > 0
    assert sent == arrived + dropped
    for flow in truth["flows"]:
        assert sum(flow["arrived_bytes"]) >= flow["sender"]["bytes"] > 0


def test_the_buggy_build_misfires_and_is_diagnosed(sim: ModuleType, rebuilt: Any, tmp_path: Path):
    scenario = rebuilt("b")
    truth = run(sim, scenario, tmp_path)
    assert truth["sockets"][0]["share_above"] > 0.9
    evidence = pipeline.derive(pipeline.read([str(tmp_path / scenario.name / "sender.pcap.zst")]))
    rules = {finding.rule for finding in pipeline.judge(evidence).findings}
    assert rules & {"L4S301", "L4S308"}
    assert "L4S010" not in rules


@pytest.mark.parametrize("number", range(4))
def test_drawn_scenarios_run(sim: ModuleType, number: int, tmp_path: Path):
    scenario = sim.draw(3, number)
    truth = run(sim, scenario, tmp_path)
    assert [flow["dport"] for flow in truth["flows"]] == [flow.dport for flow in scenario.flows]
    assert truth["codepoints"]["to_receiver"]


@pytest.mark.parametrize(
    ("seed", "number"),
    [(9901, 8), (9901, 9), *((7403, n) for n in (2, 8, 14, 17, 33, 37)), (5519, 29), (5519, 33)],
)
def test_both_ends_go_together_with_the_sender(
    sim: ModuleType, seed: int, number: int, tmp_path: Path
):
    """Spikes, causes and kinds that a second capture took away or turned into others."""
    scenario = sim.draw(seed, number)
    run(sim, scenario, tmp_path)
    ends = (tmp_path / scenario.name / f"{end}.pcap.zst" for end in ("sender", "receiver"))
    assert contradictions(*ends) == []
