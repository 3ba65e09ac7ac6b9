"""Rows of `packets` and `acks` beside what Wireshark makes of the same packets."""

import subprocess

import polars as pl
import pytest

import l4strace
from tests.support.places import FIXTURES

pytestmark = pytest.mark.needs("tshark", "xz")

RUNS = (
    "accecn-clean/sender.pcap.xz",
    "accecn-acks-lost/sender.pcap.xz",
    "misfire/misfire.pcap.xz",
    "reports/policer-snd.pcap.xz",
    "reports/policer-rcv.pcap.xz",
)
REPEATS = tuple(
    f"tcp.analysis.{name}"
    for name in ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
)
FIELDS = (
    *("frame.number", "tcp.seq", "tcp.len", "tcp.ack", "ip.dsfield.ecn", "tcp.window_size"),
    *("tcp.options.sack_le", "tcp.options.sack_re", "tcp.analysis.ack_rtt", *REPEATS),
)
WRAP = 1 << 32
SYN = 0x002


@pytest.fixture(scope="module", params=RUNS)
def beside(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """Our rows of a run and Wireshark's fields of each, by frame."""
    path = tmp_path_factory.mktemp("plain") / "run.pcap"
    with path.open("wb") as out:
        subprocess.run(["xz", "-dc", str(FIXTURES / request.param)], stdout=out, check=True)
    command = ["tshark", "-n", "-r", str(path), "-Y", "tcp", "-T", "fields"]
    command += ["-E", "separator=;", "-E", "occurrence=a", *(x for f in FIELDS for x in ("-e", f))]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    values = [dict(zip(FIELDS, line.split(";"), strict=True)) for line in lines]
    run = l4strace.open(path)
    return run.packets.collect(), run.acks.collect(), {int(v["frame.number"]): v for v in values}


def numbers(text: str) -> list[int]:
    return [int(value, 0) for value in text.split(",") if value]


def test_numbers_lengths_codepoints_and_windows_are_wiresharks(beside) -> None:
    packets, _, known = beside
    assert packets["frame"].to_list() == list(known)
    for row in packets.iter_rows(named=True):
        wire = known[row["frame"]]
        assert row["seq"] % WRAP == int(wire["tcp.seq"])
        assert row["payload_len"] == int(wire["tcp.len"])
        assert row["ip_ecn"] == int(wire["ip.dsfield.ecn"])
        if row["ack"] is not None:
            assert row["ack"] % WRAP == int(wire["tcp.ack"])
        if row["window_bytes"] is not None:
            assert row["window_bytes"] == int(wire["tcp.window_size"])


def test_sack_blocks_are_wiresharks(beside) -> None:
    _, acks, known = beside
    for row in acks.filter(pl.col("tcp_flags") & SYN == 0).iter_rows(named=True):
        left, right = (numbers(known[row["frame"]][f"tcp.options.sack_{e}e"]) for e in "lr")
        edges = [edge % WRAP for pair in zip(left, right, strict=True) for edge in pair]
        assert edges == [edge % WRAP for edge in row["sack"] or []]


def test_round_trips_are_wiresharks(beside) -> None:
    """Wireshark takes one from retransmitted data and from what SACK reported first, too."""
    _, acks, known = beside
    ours = acks.filter(pl.col("rtt_us").is_not_null())
    assert ours.height > 500
    theirs = [known[frame]["tcp.analysis.ack_rtt"] for frame in ours["frame"]]
    assert all(theirs)
    apart = [abs(float(t) * 1e6 - us) for t, us in zip(theirs, ours["rtt_us"], strict=True)]
    assert max(apart) < 0.002


def test_retransmissions_are_wiresharks(beside) -> None:
    packets, _, known = beside
    ours = set(packets.filter(pl.col("seen").is_in(["retransmit", "out of order"]))["frame"])
    theirs = {frame for frame, wire in known.items() if any(wire[name] for name in REPEATS)}
    assert ours == theirs
