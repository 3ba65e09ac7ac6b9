"""Logs of user-space senders beside recorded captures: the counts of the runs, and one clock."""

from __future__ import annotations

import lzma
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.derive.senders import logged, sender_logs
from l4strace.evidence import Capture, over_udp
from l4strace.model import Finding
from l4strace.rules import l4s009_kernel_log_not_joined as not_joined
from l4strace.rules import l4s115_ecn_validation_failed as l4s115
from l4strace.rules import l4s203_loss_ignored as l4s203
from l4strace.rules import l4s205_alpha_starts_at_zero as l4s205
from l4strace.rules import l4s208_kernel_packets_disagree as l4s208
from l4strace.rules import l4s216_reduces_without_marks as l4s216
from tests.support.ends import findings

LOGS = {
    **dict.fromkeys(("pq1", "pqbleach"), ("sq.qlog.xz", "cq.qlog.xz")),
    **dict.fromkeys(("qg1", "qgbleach"), ("sq.sqlog.xz", "cq.sqlog.xz")),
    **{run: (f"{run}-send.log.xz", f"{run}-recv.log.xz") for run in ("up1", "up8888", "upbleach")},
    **{run: (f"{run}-send.log.xz", f"{run}-recv.log.xz") for run in ("mixup", "mixreno")},
    "sc1": ("sc1.csv.xz", "sc1-txrx.csv.xz"),
}
SENDER = "10.9.0.1"
"""The host that sends the data of every run."""


def read(folder: Path, *names: str) -> Capture:
    paths = [str(folder / name) for name in names]
    return pipeline.read(paths, companions=False)


def rows(capture: Capture) -> list[dict[str, Any]]:
    return sender_logs.summary(capture).to_dicts()


@pytest.mark.parametrize("run", LOGS)
@pytest.mark.parametrize("end", ["a", "b"])
def test_every_log_joins_its_flow_and_direction(shared_data: Path, run: str, end: str) -> None:
    folder = shared_data / "user-space" / run
    for name in LOGS[run]:
        capture = read(folder, f"{end}.pcap.xz", name)
        (row,) = rows(capture)
        flow = over_udp(capture).filter(pl.col("flow") == row["flow"]).row(0, named=True)
        of_client = name.startswith("cq")
        sends = flow["client" if row["forward"] else "server"]
        assert (sends == SENDER) is not of_client
        assert capture.udp_kernel["flow"].null_count() == 0
        assert over_udp(capture)["flow"].n_unique() == 1
        if name.startswith(("cq.sq", "sq.sq")):
            # The log states Unix time, and both ends of the run have one clock.
            assert capture.sources["clock_offset_ns"][-1] == 0
            assert capture.sources["clock_residual_ns"][-1] < 6_000_000


@pytest.mark.parametrize("run", ["pq1", "pqbleach", "up1", "mixup"])
def test_a_capture_at_either_end_gives_the_same_offset(shared_data: Path, run: str) -> None:
    folder = shared_data / "user-space" / run
    for name in LOGS[run]:
        offsets = [read(folder, f"{e}.pcap.xz", name).sources["clock_offset_ns"][-1] for e in "ab"]
        # The queue lies before one of them: their clocks are one within half a round trip.
        assert abs(offsets[0] - offsets[1]) < 8_000_000
        both = read(folder, "a.pcap.xz", "b.pcap.xz", name).sources
        assert both["clock_residual_ns"][-1] < 100_000


def test_a_log_of_another_run_is_not_joined(shared_data: Path) -> None:
    folder = shared_data / "user-space"
    for capture, log in (
        ("up1/a.pcap.xz", "upbleach/upbleach-send.log.xz"),
        ("mixup/a.pcap.xz", "up1/up1-send.log.xz"),
        ("pq1/a.pcap.xz", "pqbleach/sq.qlog.xz"),
        ("qg1/a.pcap.xz", "qgbleach/sq.sqlog.xz"),
        ("up1/a.pcap.xz", "sc1/sc1.csv.xz"),
    ):
        seen = pipeline.derive(read(folder, capture, log))
        (finding,) = not_joined.check(seen)
        assert "none of its samples" in finding.message


def test_counts_of_the_runs(shared_data: Path) -> None:
    folder = shared_data / "user-space"
    (sender,) = rows(read(folder / "pq1", "sq.qlog.xz"))
    counted = ("delivered", "delivered_ect1", "delivered_ect0", "delivered_ce")
    assert [sender[name] for name in counted] == [9967, 8651, 0, 1316]
    assert 0.1 < sender["alpha"] < 0.2
    near = read(folder / "pq1", "sq.qlog.xz").udp_kernel
    # Counts of all packet number spaces; the last but some ACKs.
    assert near.filter(delivered_ect1=8572, delivered_ce=1303).height
    (sender,) = rows(read(folder / "qg1", "sq.sqlog.xz"))
    assert [sender[name] for name in counted] == [13931, 0, 13880, 25]
    assert sender["ecn_state"] == "capable"
    (sender,) = rows(read(folder / "qgbleach", "sq.sqlog.xz"))
    assert (sender["ecn_state"], sender["ecn_trigger"]) == (
        "failed",
        "ACK doesn't contain ECN marks",
    )
    (sender,) = rows(read(folder / "upbleach", "upbleach-send.log.xz"))
    assert (sender["ecn_state"], sender["ecn_trigger"]) == ("failed", "error_L4S")
    (row,) = read(folder / "pq1", "cq.qlog.xz").sources.to_dicts()
    assert "received ECT(1) 8652, CE 1316" in row["comment"]


def test_the_log_and_the_receivers_capture_count_the_same_marks(shared_data: Path) -> None:
    """The log of SCReAM is cut: its feedback counts what had arrived by then."""
    folder = shared_data / "user-space" / "sc1"
    (row,) = rows(read(folder, "sc1.csv.xz"))
    assert (row["delivered"], row["delivered_ce"]) == (3459, 398)


def test_both_logs_of_scream_state_the_same_rtt_of_each_packet(shared_data: Path) -> None:
    """`-txrxlog` states when a packet left and when its feedback came, and `-log` their difference.

    Both are cut; `-txrxlog` is the longer one.
    """
    folder = shared_data / "user-space" / "sc1"
    long, short = (
        read(folder, name).udp_kernel.sort("delivered").select("ts_ns", "rs_rtt_us")
        for name in ("sc1-txrx.csv.xz", "sc1.csv.xz")
    )
    assert (long.height, short.height) == (10_818, 3459)
    same = long.head(short.height)
    assert same["ts_ns"].equals(short["ts_ns"])
    assert (same["rs_rtt_us"] - short["rs_rtt_us"]).abs().max() <= 100


@pytest.mark.parametrize("ends", [("a", "b"), ("a",), ("b",), ()])
def test_a_failed_validation_has_its_reason_from_the_log(
    shared_data: Path, ends: tuple[str, ...]
) -> None:
    def judged(run: str) -> list[Finding]:
        folder = shared_data / "user-space" / run
        names = [f"{end}.pcap.xz" for end in ends] + ["sq.sqlog.xz", "cq.sqlog.xz"]
        paths = [str(folder / name) for name in names]
        return findings(l4s115.RULE, pipeline.derive(pipeline.read(paths, companions=False)))

    (found,) = judged("qgbleach")
    assert """Its log: failed ("ACK doesn't contain ECN marks").""" in found.message
    assert found.message.endswith("The path clears ECT (L4S104).") is (ends == ("a", "b"))
    assert judged("qg1") == []


@pytest.mark.parametrize(("run", "made"), [("up1", 12), ("mixup", 57), ("mixreno", 38)])
def test_marks_explain_each_reduction_of_udp_prague(shared_data: Path, run: str, made: int) -> None:
    seen = pipeline.derive(
        read(shared_data / "user-space" / run, "a.pcap.xz", f"{run}-send.log.xz")
    )
    assert logged.reductions(seen)["cause"].to_list() == ["ce"] * made
    assert findings(l4s216.RULE, seen) == findings(l4s208.RULE, seen) == []


def test_a_log_without_its_marks_disagrees_with_the_packets(
    shared_data: Path, tmp_path: Path
) -> None:
    """The same reductions then have no cause."""
    folder = shared_data / "user-space" / "up1"
    text = lzma.decompress((folder / "up1-send.log.xz").read_bytes()).decode()
    fed_back = r"^(NORMAL_ACK_r: (?:-?\d+, ){7})\d+,"
    (tmp_path / "log").write_text(re.sub(fed_back, r"\g<1>0,", text, flags=re.MULTILINE))
    seen = pipeline.derive(pipeline.read([str(folder / "a.pcap.xz"), str(tmp_path / "log")]))
    (idle,) = findings(l4s216.RULE, seen)
    assert "12 of 12 reductions of the window" in idle.message
    (counted,) = findings(l4s208.RULE, seen)
    assert "delivered_ce grew by 0, but the feedback" in counted.message


@pytest.mark.parametrize(("part", "fires"), [(1, 0), (4, 1)])
def test_marks_in_the_log_of_scream_are_those_of_its_feedback(
    shared_data: Path, tmp_path: Path, part: int, fires: int
) -> None:
    """Once with one of four."""
    folder = shared_data / "user-space" / "sc1"
    lines = lzma.decompress((folder / "sc1.csv.xz").read_bytes()).decode().splitlines()
    rows = [line.split(",") for line in lines]
    marked = [row for row in rows if row[10:11] == ["1212"]]
    for row in marked:
        row[10] = "0"
    for row in marked[::part]:
        row[10] = "1212"
    (tmp_path / "log").write_text("\n".join(map(",".join, rows)))
    seen = pipeline.derive(pipeline.read([str(folder / "a.pcap.xz"), str(tmp_path / "log")]))
    assert len(findings(l4s208.RULE, seen)) == fires


@pytest.mark.parametrize(("share", "fires"), [(1, 0), (2, 1)])
def test_marks_in_a_qlog_are_compared_with_those_at_the_receiver(
    shared_data: Path, tmp_path: Path, share: int, fires: int
) -> None:
    """As it is, and with half of its marks; QUIC's own feedback is encrypted."""
    folder = shared_data / "user-space" / "pq1"
    text = lzma.decompress((folder / "sq.qlog.xz").read_bytes()).decode()
    (tmp_path / "log").write_text(
        re.sub(r'"ce": (\d+)', lambda found: f'"ce": {int(found[1]) // share}', text)
    )
    paths = [*(folder / f"{end}.pcap.xz" for end in "ab"), tmp_path / "log"]
    seen = pipeline.derive(pipeline.read([str(path) for path in paths], companions=False))
    assert len(findings(l4s208.RULE, seen)) == fires


@pytest.mark.parametrize(
    ("run", "log", "fires"),
    [
        ("up1", "up1-send.log.xz", 1),
        ("mixreno", "mixreno-send.log.xz", 1),
        ("pq1", "sq.qlog.xz", 0),
    ],
)
def test_udp_prague_begins_with_alpha_at_0_and_picoquic_halves(
    shared_data: Path, run: str, log: str, fires: int
) -> None:
    """In its log as in its packets (UDP Prague)."""
    folder = shared_data / "user-space" / run
    for names in (("a.pcap.xz", log), ("a.pcap.xz",)):
        assert len(findings(l4s205.RULE, pipeline.derive(read(folder, *names)))) == fires


def test_a_log_with_losses_and_no_reduction(shared_data: Path, tmp_path: Path) -> None:
    """UDP Prague's, with five losses put in before its first mark."""
    folder = shared_data / "user-space" / "up1"
    text = lzma.decompress((folder / "up1-send.log.xz").read_bytes()).decode()

    def lossy(line: re.Match[str]) -> str:
        lost = min(5, max(0, int(line[2]) - 350) // 100)
        return f"{line[1]}{line[2]}, {line[3]}, {lost},"

    fed_back = re.compile(r"^(NORMAL_ACK_r: (?:\d+, ){6})(\d+), (\d+), 0,", re.MULTILINE)
    for name, content in (("lossy", fed_back.sub(lossy, text)), ("plain", text)):
        (tmp_path / name).write_text(content)
        seen = pipeline.derive(pipeline.read([str(folder / "a.pcap.xz"), str(tmp_path / name)]))
        found = findings(l4s203.RULE, seen)
        assert len(found) == (name == "lossy")
        assert all("in 5 of 5 episodes of loss" in one.message for one in found)
