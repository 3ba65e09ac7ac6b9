"""Congestion-control state by BCC on Debian's 7.2 kernel, in an emulated machine.

Needs root, debootstrap and QEMU, and takes minutes (`make test-vm`). The machine is kept in
L4STRACE_VM_CACHE (default: ~/.cache/l4strace-vm).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from l4strace import pipeline
from tests.support.kernel_log import read_log, samples, wrong_updates
from tests.support.machine import boots, build_or_skip, run_job

PORT = 5201
BITS = {"P2": 20, "P4": 24, "P7": 24}

pytestmark = boots(3600)


@pytest.fixture(scope="session")
def machine() -> None:
    build_or_skip()


@pytest.fixture(scope="session")
def dctcp(machine: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_job("dctcp", tmp_path_factory.mktemp("dctcp"))


@pytest.fixture(scope="session")
def prague(machine: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_job("prague", tmp_path_factory.mktemp("prague"))


def test_alpha_is_what_delivered_and_delivered_ce_make_it(dctcp: Path) -> None:
    count, wrong = wrong_updates(read_log(dctcp / "dctcp.kernel.ndjson.zst"), PORT)
    assert count > 100
    assert wrong == []


def test_nothing_is_lost_at_the_full_rate(dctcp: Path) -> None:
    """But for probes that the kernel itself skips, as they nest: few, and counted."""
    lines = read_log(dctcp / "dctcp.kernel.ndjson.zst")
    assert lines[-1]["type"] == "trailer"
    assert lines[-1]["lost"].keys() <= {"skipped"}
    assert lines[-1]["lost"].get("skipped", 0) < len(lines) / 100
    sent = json.loads((dctcp / "sender.json").read_text())
    # 60 MB, where the machine's clock did not run on while it waited for the disk of its host.
    assert sent["bytes"] > 10e6
    assert sent["delivered_ce"] > 0


def test_the_run_diagnoses(dctcp: Path) -> None:
    evidence = pipeline.derive(pipeline.read([str(dctcp / "dctcp.pcapng")]))
    assert evidence.kernel.filter(evidence.kernel["flow"].is_not_null()).height > 1000
    assert pipeline.judge(evidence, strict=True)


def header(folder: Path, layout: str) -> dict[str, Any]:
    return read_log(folder / f"{layout}.kernel.ndjson.zst")[0]


@pytest.mark.parametrize("layout", ["P2", "P4", "P7"])
def test_the_layout_comes_from_type_information(prague: Path, layout: str) -> None:
    found = header(prague, layout)["layout"]
    assert (found["name"], found["found"]) == (layout, "btf")
    assert found["alpha_bits"] is None, "a macro is in no type information"


@pytest.mark.parametrize("layout", ["P2", "P4", "P7"])
def test_the_test_double_reads_as_it_was_written(prague: Path, layout: str) -> None:
    """See module/known_values.h: an update writes the round's values, then the next round begins.

    The first three are the calls on zeros before init, and the one after it.
    """
    lines = read_log(prague / f"{layout}.kernel.ndjson.zst")
    updates = [one for one in samples(lines, "alpha", PORT) if one["cc"] == "prague"][3:]
    assert len(updates) > 50
    rounds = [one["upscaled_alpha"] >> 4 >> (BITS[layout] - 8) for one in updates]
    assert rounds == [(rounds[0] + number) % 256 for number in range(len(rounds))]
    for one, written in zip(updates, rounds, strict=True):
        assert one["ai_ack_increase"] == 1 << 19
        assert one["frac_cwnd"] == one["snd_cwnd"] << 20
        if layout != "P7":
            assert (one["rest_depth_us"] - 1000) % 256 == written
            assert one["rest_mdev_us"] == one["rest_depth_us"] + 1000
        if layout != "P4":  # it does not fit into the icsk_ca_priv of this kernel
            assert (one["round"] - 1) % 256 == written


@pytest.mark.parametrize("layout", ["P2", "P4"])
def test_the_fallback_returns_to_the_socket_that_called_it(prague: Path, layout: str) -> None:
    """See module/known_values.h: it returns alpha plus the socket's own port."""
    lines = read_log(prague / f"{layout}.kernel.ndjson.zst")
    calls = [one for one in samples(lines, "fallback", PORT) if one["cc"] == "prague"]
    assert calls
    assert {
        one["alpha_used_raw"] - (one["upscaled_alpha"] >> 4) - one["sport"] for one in calls
    } == {0}


ORACLE = "P2-inlined-stripped"
"""No type information, no symbol of a static function."""


@pytest.fixture(scope="session")
def oracle(machine: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_job("oracle", tmp_path_factory.mktemp("oracle"))


def calls(folder: Path) -> list[dict[str, int]]:
    """Every call of prague_cong_control, as kprobe events recorded it."""
    rows = (folder / f"{ORACLE}.oracle").read_text().splitlines()
    rows = [row for row in rows if " ack: " in row]
    return [{k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", row)} for row in rows]


def test_every_sample_equals_an_independent_recording(oracle: Path) -> None:
    """Field by field, at 8 flows: no sample holds another socket's state, and none is missing."""
    lines = read_log(oracle / f"{ORACLE}.ndjson")
    acks = [line for line in lines if line.get("event") == "ack" and line["cc"] == "prague"]
    recorded = calls(oracle)
    names = sorted(recorded[0])
    expected = Counter(tuple(call[name] for name in names) for call in recorded)
    found = Counter(tuple(ack.get(name, 0) for name in names) for ack in acks)
    assert len(recorded) > 1000
    assert found - expected == Counter(), "samples that nobody else saw"
    assert sum((expected - found).values()) <= sum(lines[-1]["lost"].values())
    assert {ack["rtt_transition_delay"] - ack["sport"] for ack in acks[100:]} == {0}


def test_the_layout_is_found_in_what_flows_hold(oracle: Path) -> None:
    lines = read_log(oracle / f"{ORACLE}.ndjson")
    assert "layout" not in lines[0]
    layout = lines[-1]["layout"]
    assert (layout["name"], layout["found"], layout["alpha_bits"]) == ("P2", "values", None)
    zeroed = [one for one in samples(lines, "ack", PORT) if not one.get("ai_ack_increase")]
    assert zeroed, "the call before init is in the log, and decided nothing"


def test_a_socket_keeps_its_port_to_the_end(oracle: Path) -> None:
    lines = read_log(oracle / f"{ORACLE}.ndjson")
    ends = [line for line in lines if line.get("event") == "release"]
    assert ends
    assert all(line["sport"] and line["dport"] for line in ends)


def test_probes_of_a_killed_collector_are_inert_and_swept(oracle: Path) -> None:
    """kill -9 leaves definitions, which probe nothing; the next start removes them."""
    assert "l4strace_" in (oracle / "killed.defined").read_text()
    armed = (oracle / "killed.armed").read_text().splitlines()
    assert [row for row in armed if "prague" in row and "[DISABLED]" not in row] == []
    assert (oracle / "swept.defined").read_text() == ""
    assert "prague" not in (oracle / "swept.armed").read_text()
