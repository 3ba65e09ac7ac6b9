"""The CE count from feedback against what receivers, kernels and byte counters counted."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.support.tracking import both_ends, directions

PRAGUE_2020 = [
    "s1-oneflow-ns-prague-dualpi2-50Mbit-20ms",
    "s1-oneflow-ns-prague-dualpi2-5Mbit-160ms",
    "s2-twoflow-ns-cubic-vs-prague-codel1q_20ms_-20ms",
    "s2-twoflow-ns-cubic-vs-prague-dualpi2-20ms",
    "s2-twoflow-ns-cubic-vs-prague-pfifo_1000_-20ms",
    "s4-capacity-reduction-ns-prague-50Mbit-5mbit-20ms",
]
LAB = ["a", "b", "d", "e", "f2", "h", "k", "o", "q1", "s"]


@pytest.mark.parametrize("name", PRAGUE_2020)
def test_marks_seen_by_the_receiver_lie_in_the_senders_bounds(name: str, shared_data: Path) -> None:
    stem = shared_data / "prague-2020" / f"batch-l4s-{name}"
    ends = both_ends(
        Path(f"{stem}.tcpdump_cli_cli.pcap.xz"), Path(f"{stem}.tcpdump_srv_srv.pcap.xz")
    ).filter((pl.col("mode") == "accecn") & pl.col("forward"))
    assert ends.height >= 2
    for row in ends.iter_rows(named=True):
        truth = row["ce_far"]
        assert row["ce_fed_back_lo"] <= truth <= row["ce_fed_back_hi"], row["client_port"]
        off = abs(row["ce_fed_back_best"] - truth)
        assert off <= abs(row["ce_fed_back_naive"] - truth)
        if row["ended"] == "fin":
            # No ACK was lost or reordered in these runs: only on the sender's own FIN and last ACK
            # nothing reports.
            assert row["ce_fed_back_lo"] == truth
            assert row["ce_fed_back_hi"] <= truth + 2


@pytest.mark.parametrize("run", LAB)
def test_lab_marks_lie_in_the_bounds(run: str, shared_data: Path) -> None:
    folder = shared_data / "lab" / run
    ends = both_ends(folder / "sender.pcap.xz", folder / "receiver.pcap.xz")
    row = ends.filter((pl.col("client_port") == 40001) & pl.col("forward")).row(0, named=True)
    manifest = json.loads((folder / "manifest.json").read_text())
    seen = manifest["measured"]["receiver_pcap"]["data_ecn"]["40001>5201"].get("CE", 0)
    assert row["ce_far"] == seen
    assert row["ce_fed_back_lo"] <= seen <= row["ce_fed_back_hi"]
    assert (row["option_zeroed_far"], row["option_implausible_far"]) == (0, 0)


@pytest.mark.parametrize(
    ("name", "marks", "ect1_bytes"),
    [("prague_dualpi2_wifi", 5327, 36_467_312), ("cubic_fq_codel_wifi", 97, 0)],
)
def test_the_old_option_counts_the_same_bytes(
    name: str, marks: int, ect1_bytes: int, shared_data: Path
) -> None:
    path = shared_data / "prague-wifi-2020" / f"{name}.pcap.gz"
    row = directions(path).sort("data_packets").row(-1, named=True)
    assert row["ce_fed_back_best"] == row["ce_fed_back_lo"] == marks
    assert row["ceb_bytes"] == marks * 1432
    assert row["e1b_bytes"] == ect1_bytes
    assert row["accecn_kind"] == 254
    assert row["accecn_exid"] == 0xACC0


def test_the_freebsd_client_of_2022_counts_implausibly(shared_data: Path) -> None:
    path = shared_data / "ecn-path" / "accecn_handshake.pcap"
    client = directions(path).filter(pl.col("forward")).row(0, named=True)
    assert client["option_implausible"] == 1
    assert client["option_fault_frame"] == 3
