"""Flows over UDP against counts of their own programs and of another reader."""

import json
from pathlib import Path

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.evidence import Evidence, traffic
from l4strace.model import Analysis
from l4strace.wording.verdict import conversations, verdict

CODEPOINTS = ["not_ect", "ect1", "ect0", "ce"]
RUNS = {
    **dict.fromkeys(("up1", "up8888", "upbleach", "mixup", "mixreno"), "udp-prague"),
    **dict.fromkeys(("pq1", "pqbleach", "qg1", "qgbleach"), "quic"),
    "sc1": "rtp",
}


def judged(path: Path) -> tuple[Evidence, Analysis]:
    evidence = pipeline.derive(pipeline.read([str(path)], companions=False), strict=True)
    return evidence, pipeline.judge(evidence, strict=True)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("end", ["a", "b"])
def test_codepoints_equal_the_truth_to_the_packet(shared_data: Path, run: str, end: str) -> None:
    folder = shared_data / "user-space"
    (path,) = (folder / run).glob(f"*{end}.pcap*")
    everything = traffic(pipeline.read([str(path)], companions=False))
    sender = pl.when("forward").then("client").otherwise("server")
    rows = everything.directions.join(everything.flows, on=["source", "flow"]).select(
        pl.format("{} from {}", pl.col("transport"), sender).alias("who"), *CODEPOINTS
    )
    sums = rows.group_by("who").sum()
    found = {who.replace(RUNS[run], "udp"): counts for who, *counts in sums.iter_rows()}
    assert found == json.loads((folder / "truth.json").read_text())[run][end]


@pytest.mark.parametrize(
    ("name", "transport", "packets", "ce"),
    [("udp-quic-ce", "quic", 1545, 123), ("udp-rtp-ce", "rtp", 1289, 100)],
)
def test_a_capture_without_tcp_names_its_flow_and_its_marks(
    shared_data: Path, name: str, transport: str, packets: int, ce: int
) -> None:
    evidence, analysis = judged(shared_data / "reports" / f"{name}.pcap.xz")
    larger = evidence.udp_directions.sort("payload_bytes").tail(1)
    assert larger.select("packets", "ect1", "ce").row(0) == (packets, packets - ce, ce)
    assert evidence.udp_flows["transport"].to_list() == [transport]
    assert evidence.flows.is_empty()
    assert analysis.status is not None
    assert analysis.status.answer == "partly"
    opening = verdict(analysis, conversations(evidence))
    assert f"{packets:,} packets" in opening.sentence
    assert "not judged" in opening.sentence
    assert not opening.judged


def test_what_a_flow_over_udp_takes_is_no_change_of_the_link(shared_data: Path) -> None:
    """A link of 10 Mbit/s; from t=3 s to t=6 s a QUIC sender takes 7 of them."""
    capture = shared_data / "reports" / "udp-cross-traffic.pcap.xz"
    judged = pipeline.judge(pipeline.derive(pipeline.read([str(capture)]), strict=True))
    assert not [one for one in judged.findings if "capacity" in one.message]
    (skipped,) = (one for one in judged.skipped if one.rule == "L4S408")
    assert skipped.reason.startswith("flow 1 (QUIC) shares the link over UDP")
