"""RTTs against Wireshark's own, on the same packets."""

import lzma
import subprocess
from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest

from tests.support.tracking import directions

CAPTURES = [
    "lab/a/sender.pcap.xz",
    "lab/q1/sender.pcap.xz",
    "lab/b/receiver.pcap.xz",
    "prague-wifi-2020/prague_dualpi2_wifi.pcap.gz",
    "prague-2020/batch-l4s-s1-oneflow-ns-prague-dualpi2-5Mbit-160ms.tcpdump_cli_cli.pcap.xz",
]
FIELDS = ["tcp.srcport", "tcp.dstport", "tcp.analysis.ack_rtt", "tcp.analysis.acks_frame"]


def fields(path: Path, condition: str, names: list[str]) -> list[list[str]]:
    """Wireshark's view of a capture, one list a packet."""
    wanted = [part for name in names for part in ("-e", name)]
    command = ["tshark", "-n", "-r", str(path), "-Y", condition, "-T", "fields", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def wireshark(path: Path) -> dict[tuple[int, int], list[float]]:
    """RTTs in us by (data's source port, destination port), of data packets."""
    data = {row[0] for row in fields(path, "tcp.len > 0", ["frame.number"])}
    rtts: dict[tuple[int, int], list[float]] = defaultdict(list)
    for source, destination, rtt, acked in fields(path, "tcp.analysis.ack_rtt", FIELDS):
        if acked in data:
            rtts[int(destination), int(source)].append(float(rtt) * 1e6)
    return rtts


def readable(path: Path, folder: Path) -> Path:
    """The capture as tshark reads it, which does not know xz."""
    if path.suffix != ".xz":
        return path
    target = folder / path.stem
    target.write_bytes(lzma.decompress(path.read_bytes()))
    return target


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("name", CAPTURES)
def test_minimum_and_mean_agree_within_one_percent(
    name: str, shared_data: Path, tmp_path: Path
) -> None:
    path = shared_data / name
    expected = wireshark(readable(path, tmp_path))
    compared = 0
    # Wireshark also times retransmitted data, which Karn's rule leaves out.
    for row in directions(path).filter(pl.col("retransmits") == 0).iter_rows(named=True):
        ports = (row["client_port"], row["server_port"])
        rtts = expected.get(ports if row["forward"] else ports[::-1])
        if rtts is None or row["rtt_min_us"] is None:
            continue
        assert row["rtt_min_us"] == pytest.approx(min(rtts), rel=0.01)
        assert row["rtt_mean_us"] == pytest.approx(sum(rtts) / len(rtts), rel=0.01)
        compared += 1
    assert compared >= 1
