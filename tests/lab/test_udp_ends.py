"""Both ends of flows over UDP against the truth of their runs."""

import json
import lzma
import struct
from pathlib import Path

import pytest

from l4strace import pipeline
from l4strace.evidence import Evidence, over_udp, traffic
from l4strace.model import Analysis, Finding

RUNS = ("pq1", "pqbleach", "qg1", "qgbleach", "up1", "up8888", "upbleach", "sc1")
BLEACHED = {"pqbleach": 5691, "qgbleach": 10, "upbleach": 1}
PATH_RULES = ("L4S104", "L4S105", "L4S107", "L4S114")


def both(folder: Path, run: str) -> tuple[Evidence, Analysis]:
    captures = sorted(str(path) for path in (folder / "user-space" / run).glob("*.pcap.xz"))
    assert len(captures) == 2
    evidence = pipeline.derive(pipeline.read(captures, companions=False), strict=True)
    return evidence, pipeline.judge(evidence, strict=True)


def of_the_path(analysis: Analysis) -> list[Finding]:
    return [one for one in analysis.findings if one.rule in PATH_RULES]


@pytest.mark.parametrize("run", RUNS)
def test_every_packet_that_both_captures_hold_is_matched(shared_data: Path, run: str) -> None:
    evidence, analysis = both(shared_data, run)
    truth = json.loads((shared_data / "user-space" / "truth.json").read_text())[run]
    flow = over_udp(evidence).row(0, named=True)
    for row in evidence.paths.to_dicts():
        sender = flow["client"] if row["forward"] else flow["server"]
        near, far = (truth[end][f"udp from {sender}"] for end in ("a", "b"))
        # One program ended a little later than one of the captures.
        assert (row["matched"], row["lost"]) == (min(sum(near), sum(far)), 0)
        marked = abs(row["ect1_to_ce"] + row["ect0_to_ce"] - far[3])
        assert marked <= abs(sum(near) - sum(far))
    assert evidence.paths.height == 2
    cleared = {one.measures[0].value for one in of_the_path(analysis)}
    assert cleared == ({BLEACHED[run]} if run in BLEACHED else set())
    places = set(over_udp(evidence)["vantage"])
    assert places == {"client", "server"}
    heavier = traffic(evidence).directions.sort("payload_bytes").tail(1)["forward"].item()
    at_sender = over_udp(evidence).filter(source=0)["vantage"].item()
    assert at_sender == ("client" if heavier else "server")


def test_the_status_says_that_the_path_erases_it(shared_data: Path) -> None:
    _, analysis = both(shared_data, "pqbleach")
    assert analysis.status is not None
    assert analysis.status.answer == "no"
    assert "the path erases it (L4S104)" in analysis.status.sentence


def test_the_receiver_alone_accuses_nobody(shared_data: Path) -> None:
    for run in BLEACHED:
        (path,) = (shared_data / "user-space" / run).glob("b.pcap.xz")
        evidence = pipeline.derive(pipeline.read([str(path)], companions=False), strict=True)
        assert evidence.paths.is_empty()
        assert not of_the_path(pipeline.judge(evidence, strict=True))


def test_udp_beside_tcp_is_matched_too(shared_data: Path) -> None:
    evidence, _ = both(shared_data, "mixup")
    datagrams = evidence.paths.join(over_udp(evidence).select("flow").unique(), on="flow")
    assert datagrams.select("matched", "lost", "ect1_to_ce").rows() == [
        (2856, 0, 726),
        (2856, 0, 0),
    ]


@pytest.mark.parametrize("run", ["up1", "up8888", "upbleach", "sc1"])
def test_rounds_have_the_one_way_delay_of_their_packets(shared_data: Path, run: str) -> None:
    """Least and largest of all rounds are those of all packets, but for a bin of the histogram."""
    paths = [str(shared_data / "user-space" / run / f"{end}.pcap.xz") for end in "ab"]
    seen = pipeline.read(paths, companions=False)
    rounds = seen.rounds.filter(source=0)
    assert rounds["owd_mean_us"].null_count() <= 1
    (way,) = seen.paths.join(rounds, on=["flow", "forward"], how="semi").to_dicts()
    assert rounds["owd_min_us"].min() == pytest.approx(0, abs=50)
    assert rounds["owd_max_us"].max() == pytest.approx(way["owd_max_us"], abs=50)


def cut(path: Path, from_s: float) -> bytes:
    """The capture from so many seconds after its first packet on."""
    data = lzma.decompress(path.read_bytes())
    made, at, first_ns = data[:24], 24, -1
    while at < len(data):
        seconds, parts, held = struct.unpack_from("<III", data, at)
        ns = seconds * 10**9 + parts
        first_ns = ns if first_ns < 0 else first_ns
        if ns - first_ns >= from_s * 1e9:
            made += data[at : at + 16 + held]
        at += 16 + held
    return made


@pytest.mark.parametrize("run", ["pq1", "qg1"])
@pytest.mark.parametrize("from_s", [0.05, 1.0, 4.0])
def test_captures_that_begin_late_show_no_bottleneck(
    shared_data: Path, run: str, from_s: float, tmp_path: Path
) -> None:
    """From t=4 s on no packet of qg1 meets less than 5 ms of queue: marks would begin too early."""
    captures = []
    for end in "ab":
        recorded = shared_data / "user-space" / run / f"{end}.pcap.xz"
        (late := tmp_path / f"{end}.pcap").write_bytes(cut(recorded, from_s))
        captures.append(str(late))
    evidence = pipeline.derive(pipeline.read(captures, companions=False), strict=True)
    ((kind, at_us, reason),) = evidence.bottlenecks.select(
        "kind", "marking_delay_us", "reason"
    ).rows()
    assert (kind, at_us) == ("unknown", None)
    assert reason.startswith("No handshake shows an empty path")
