"""Captures that once gave wrong numbers in silence; the truth of each stands in their README."""

import json
import lzma
import struct
from collections.abc import Callable, Iterator
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
    assert not {"L4S503", "L4S504"} & set(run.findings["rule"])
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


def test_every_input_is_judged_or_refused_in_one_line(shared_data: Path) -> None:
    inputs = sorted((shared_data / "attacks").glob("*.xz"))
    assert len(inputs) >= 17
    for path in inputs:
        result = CliRunner().invoke(cli.app, ["diagnose", str(path), "--json", "--no-html", "-q"])
        assert result.exit_code in (0, 1), path.name
        assert result.stderr == "", path.name
        json.loads(result.stdout)


def test_time_that_runs_back_is_said_and_no_rate_is_judged(shared_data: Path) -> None:
    run = l4strace.open(shared_data / "attacks" / "backwards.pcap.xz")
    assert run.findings.filter(rule="L4S006", severity="warning").height == 1
    assert set(run.findings["rule"]) == {"L4S004", "L4S006"}


def records(capture: bytes) -> Iterator[tuple[bytes, bytearray]]:
    """Record headers and Ethernet frames of a little-endian pcap."""
    at = 24
    while at < len(capture):
        size = struct.unpack_from("<I", capture, at + 8)[0]
        yield capture[at : at + 16], bytearray(capture[at + 16 : at + 16 + size])
        at += 16 + size


def merged(shared_data: Path, place: Path, ace: Callable[[int, int], int]) -> dict:
    """`gro` without its options, each ACK's ACE as stated from its number and its old one."""
    capture = lzma.decompress((shared_data / "attacks" / "gro.pcap.xz").read_bytes())
    out = [capture[:24]]
    for header, frame in records(capture):
        tcp = 14 + (frame[14] & 15) * 4
        size = (frame[tcp + 12] >> 4) * 4
        option = frame.find(b"\xae\x0b", tcp + 20, tcp + size)
        if option >= 0:
            frame[option : option + 11] = b"\x01" * 11
            flags = struct.unpack_from(">H", frame, tcp + 12)[0]
            acked = struct.unpack_from(">I", frame, tcp + 8)[0]
            now = ace(acked, flags >> 6 & 7)
            struct.pack_into(">H", frame, tcp + 12, flags & ~(7 << 6) | now << 6)
        out += [header, bytes(frame)]
    path = place / "gro.pcap"
    path.write_bytes(b"".join(out))
    return data_row(path)


def data_row(path: Path) -> dict:
    rows = tracked(path)["directions"].filter(pl.col("data_packets") > 0)
    return rows.row(0, named=True)


def test_marks_that_offload_merged_are_counted_by_the_option(shared_data: Path) -> None:
    path = shared_data / "attacks" / "gro.pcap.xz"
    row = data_row(path)
    # The receiver's own count: 4,344,000 bytes in packets of 1,448.
    assert [row[f"ce_fed_back_{name}"] for name in ("lo", "hi", "best")] == [3000] * 3
    assert not {"L4S108", "L4S111"} & set(l4strace.open(path).findings["rule"])


def test_without_the_option_the_bounds_hold_the_truth(shared_data: Path, tmp_path: Path) -> None:
    row = merged(shared_data, tmp_path, lambda _acked, ace: ace)
    assert row["accecn_options"] == 0
    assert row["ce_fed_back_lo"] < 3000 <= row["ce_fed_back_hi"]


def test_stretch_acks_over_marks_alone(shared_data: Path, tmp_path: Path) -> None:
    row = merged(shared_data, tmp_path, lambda acked, _: (5 + (acked - 1001) // 1448) & 7)
    assert row["ce_fed_back_lo"] < 6000 <= row["ce_fed_back_hi"]
    assert row["ce_fed_back_best"] > 4500
