"""Our own recordings, against what was counted where it was done: path, kernel, receiver."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.core import _native
from l4strace.model import Analysis, Confidence, Severity
from l4strace.wording.verdict import verdict
from tests.support.kernel_log import read_log, wrong_updates
from tests.support.places import FIXTURES

RUNS = sorted(path.parent.name for path in FIXTURES.glob("accecn-*/truth.json"))
ACE_IS_LOST = ("accecn-ace-zeroed",)

# Codes that a run's sender capture must lead to at WARNING or above; a run not named here: none.
FINDINGS = {
    "accecn-ace-zeroed": {"L4S108", "L4S111", "L4S404"},
    "accecn-all-ce": {"L4S403"},
    "accecn-bleached": {"L4S104"},
    "accecn-deaf": {"L4S202"},
    "accecn-ect0": {"L4S103"},
    "accecn-option-zeroed": {"L4S110"},
    "accecn-remarked": {"L4S105"},
    "accecn-unmarked": {"L4S402"},
}
# What only both captures together can show.
FROM_BOTH_ENDS = {
    "accecn-option-stripped": {"L4S109"},
    "accecn-option-zeroed": {"L4S109"},
}


@cache
def truth(run: str) -> dict[str, Any]:
    return dict(json.loads((FIXTURES / run / "truth.json").read_text()))


@cache
def direction(run: str, side: str, *, forward: bool = True) -> dict[str, Any]:
    tables = _native.track([str(FIXTURES / run / f"{side}.pcap.xz")])
    ways = pl.DataFrame(tables["directions"])
    return ways.filter(pl.col("forward") == forward).row(0, named=True)


@cache
def analysis(*paths: str) -> Analysis:
    evidence = pipeline.derive(pipeline.read([str(FIXTURES / path) for path in paths]))
    return pipeline.judge(evidence, strict=True)


def codes(*paths: str) -> set[str]:
    """Rules that find something at WARNING or above."""
    found = analysis(*paths).findings
    return {one.rule for one in found if one.severity >= Severity.WARNING}


def test_the_runs_are_there() -> None:
    assert len(RUNS) == 11


@pytest.mark.parametrize("run", RUNS)
def test_nothing_was_lost_while_recording(run: str) -> None:
    assert truth(run)["capture_drops"] == {"sender": 0, "receiver": 0}
    sent, arrived = (direction(run, side)["packets"] for side in ("sender", "receiver"))
    assert sent - arrived == truth(run)["queue"]["drops"]


@pytest.mark.parametrize("run", [run for run in RUNS if run not in ACE_IS_LOST])
def test_feedback_bounds_hold_what_the_receiver_saw(run: str) -> None:
    """The SYN and the last ACK are CE packets that the counter never reports (RFC 9768 3.2.2)."""
    fed_back, seen = direction(run, "sender"), direction(run, "receiver")["ce"]
    unreported = 2 if run == "accecn-all-ce" else 0
    assert fed_back["ce_fed_back_lo"] <= seen - unreported <= fed_back["ce_fed_back_hi"]


@pytest.mark.parametrize("run", [run for run in RUNS if run not in ACE_IS_LOST])
def test_best_is_what_the_sender_kernel_counted(run: str) -> None:
    """TCP_INFO was read before the FIN, which may be marked too."""
    counted = truth(run)["tcp_info"]["sender"]["delivered_ce"]
    assert 0 <= direction(run, "sender")["ce_fed_back_best"] - counted <= 1


@pytest.mark.parametrize("run", RUNS)
def test_the_capture_shows_what_the_path_did(run: str) -> None:
    """What the receiver captured is what the last program on the path handed on."""
    programs, arrived = truth(run)["programs"], direction(run, "receiver")
    fault = programs.get(truth(run)["fault"])
    if truth(run)["fault"] == "bleach":
        assert arrived["not_ect"] == arrived["packets"] == fault["changed"]
    elif truth(run)["fault"] == "remark":
        assert arrived["ect0"] == fault["changed"]
    elif truth(run)["aqm"]:
        marked = programs["aqm"]["changed"] + programs.get("mark_all", {"changed": 0})["changed"]
        assert arrived["ce"] == marked


@pytest.mark.parametrize("run", ["accecn-option-stripped", "accecn-option-zeroed"])
def test_the_options_arrive_as_the_fault_left_them(run: str) -> None:
    back = direction(run, "sender", forward=False)
    changed = truth(run)["programs"][truth(run)["fault"]]["changed"]
    if run == "accecn-option-zeroed":
        assert back["option_zeroed"] == back["accecn_options"] == changed
    else:
        assert changed > 0
        assert back["accecn_options"] == 0


@pytest.mark.parametrize("run", RUNS)
def test_the_fault_is_found_and_nothing_else(run: str) -> None:
    assert codes(f"{run}/sender.pcap.xz") == FINDINGS.get(run, set())


@pytest.mark.parametrize("run", RUNS)
def test_both_captures_show_the_same_faults(run: str) -> None:
    expected = FINDINGS.get(run, set()) | FROM_BOTH_ENDS.get(run, set())
    assert codes(f"{run}/sender.pcap.xz", f"{run}/receiver.pcap.xz") == expected


def test_the_sample_opens_with_the_misfire() -> None:
    sample = "misfire/misfire.pcap.xz"
    finding = verdict(analysis(sample), 2).finding
    assert finding is not None
    assert (finding.rule, finding.confidence) == ("L4S301", Confidence.HIGH)
    assert codes(sample) == {"L4S301", "L4S302", "L4S501"}


def test_the_healthy_run_has_no_finding_above_information() -> None:
    found = analysis("healthy/healthy.pcap.xz").findings
    assert {one.severity for one in found} == {Severity.INFO}


@pytest.mark.parametrize("run", ["accecn-clean", "accecn-deaf"])
def test_kernel_state_joins_the_packets_within_50_us(run: str) -> None:
    """tcp_probe fires when an ACK is received: right after the capture saw it."""
    capture = str(FIXTURES / run / "sender.pcap.xz")
    kernel = pipeline.read([capture]).kernel
    probes = kernel.filter(pl.col("forward") & (pl.col("event") == "probe")).select("ts_ns")
    packets = pl.concat([pl.DataFrame(batch) for batch in _native.packets(capture)])
    acks = packets.filter(~pl.col("forward")).select(seen="ts_ns").sort("seen")
    pairs = probes.sort("ts_ns").join_asof(acks, left_on="ts_ns", right_on="seen")
    apart = pairs.select(pl.col("ts_ns") - pl.col("seen")).to_series()
    assert apart.len() > 1000
    assert apart.null_count() == 0
    assert apart.quantile(0.95) < 50_000


def test_alpha_of_dctcp_follows_from_delivered_and_delivered_ce() -> None:
    count, wrong = wrong_updates(read_log(FIXTURES / "dctcp" / "dctcp.kernel.ndjson.zst"), 5201)
    assert count == 325
    assert wrong == []


def test_super_packets_hide_no_marks() -> None:
    """Both kernels counted 649; an ACK for twelve packets at once may report more than seven.

    Nothing reports on the ACK that closes the connection: it may be the 650th.
    """
    tables = _native.track([str(FIXTURES / "dctcp" / "dctcp.pcapng.xz")])
    way = pl.DataFrame(tables["directions"]).filter(pl.col("forward")).row(0, named=True)
    assert (way["ce_fed_back_lo"], way["ce_fed_back_hi"]) == (649, 650)


def test_alpha_of_dctcp_is_read_and_agrees_with_the_packets() -> None:
    names = ("dctcp.pcapng.xz", "dctcp.kernel.ndjson.zst")
    evidence = pipeline.derive(pipeline.read([str(FIXTURES / "dctcp" / name) for name in names]))
    assert evidence.kernel["alpha"].null_count() == 0
    analysis = pipeline.judge(evidence, strict=True)
    assert not {"L4S207", "L4S209", "L4S306"} & {found.rule for found in analysis.findings}
