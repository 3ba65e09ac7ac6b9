"""Captures that once gave wrong numbers in silence; the truth of each stands in their README."""

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import l4strace
from l4strace import cli
from l4strace.ingest import load
from l4strace.ingest.logs import open_log
from l4strace.ingest.packets import batches
from tests.support.tracking import tracked

TRUTH = {
    "dupv6-8000-0": (8000, 0, None),
    "dupv6-8000-1": (8000, 0, None),
    "dupv4": (400, 0, None),
    "dupv4id0": (400, 0, None),
    "opt24": (60_000, 0, 868_800_000),
    "inj": (2000, 0, None),
    "frag8000": (8000, 0, None),
}
"""Name -> data packets, retransmissions, CE bytes that the options report."""


@pytest.mark.parametrize("name", TRUTH)
def test_numbers_are_the_true_ones(shared_data: Path, name: str) -> None:
    packets, retransmits, ce_bytes = TRUTH[name]
    tables = tracked(shared_data / "attacks" / f"{name}.pcap.xz")
    data = tables["directions"].filter(pl.col("data_packets") > 0).row(0, named=True)
    assert (data["data_packets"], data["retransmits"]) == (packets, retransmits)
    if ce_bytes is not None:
        assert data["ceb_bytes"] == ce_bytes
    if name.startswith("dup"):
        assert "seen_twice" in tables["stats"]["name"].to_list()


@pytest.mark.parametrize(
    ("name", "packets"),
    [("vlan", [400, 300]), ("vni", [400, 300]), ("reusenosyn", [400, 300, 200])],
)
def test_flows_on_the_same_ports_are_kept_apart(
    shared_data: Path, name: str, packets: list[int]
) -> None:
    path = shared_data / "attacks" / f"{name}.pcap.xz"
    tables = tracked(path)
    data = tables["directions"].filter(pl.col("data_packets") > 0).sort("flow")
    assert data["data_packets"].to_list() == packets
    assert data["retransmits"].sum() == 0
    assert tables["flows"]["network"].null_count() == (0 if name.startswith("v") else 3)
    sent = pl.concat(batches(load.load([str(path)]))).filter(pl.col("payload_len") > 0)
    assert sent.group_by("flow").len().sort("flow")["len"].to_list() == packets


def test_flows_of_two_networks_have_names_of_their_own(shared_data: Path) -> None:
    path = str(shared_data / "attacks" / "vlan.pcap.xz")
    lines = CliRunner().invoke(cli.app, ["flows", path]).stdout.splitlines()[1:]
    assert ["(vlan 10)" in line for line in lines] == [True, False]
    assert ["(vlan 20)" in line for line in lines] == [False, True]


def test_a_clock_set_forward_is_a_step(shared_data: Path) -> None:
    run = l4strace.open(shared_data / "attacks" / "clockfwd.pcap.xz")
    assert "L4S503" not in run.findings["rule"].to_list()
    (found,) = run.findings.filter(rule="L4S006").iter_rows(named=True)
    assert "set forward by 3,600.0 s" in found["message"]


def test_drop_counters_near_their_end_do_not_wrap(shared_data: Path) -> None:
    stats = tracked(shared_data / "attacks" / "isb_over.pcapng.xz")["stats"]
    drops = stats.filter(pl.col("name") == "capture_drops")["count"][0]
    assert drops == 2**64 - 1


@pytest.mark.parametrize(("name", "lines"), [("nlj", 3), ("ab", 2)])
def test_one_line_a_flow_and_no_width_from_the_header(shared_data: Path, name: str, lines: int):
    log = shared_data / "attacks" / f"{name}.ndjson.xz"
    shown = CliRunner().invoke(cli.app, ["flows", str(log)]).stdout.splitlines()
    assert len(shown) == lines
    assert not any(line.startswith("Nothing wrong") for line in shown)
    assert open_log.read(str(log)).alpha_bits is None
    assert CliRunner().invoke(cli.app, ["diagnose", str(log), "--no-html"]).exit_code == 0
