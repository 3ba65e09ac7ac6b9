"""ECT(1) without accurate feedback."""

import lzma
import struct
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Severity
from l4strace.rules.l4s102_ect1_without_accecn import RULE, check
from tests.support.ends import CLIENT, findings, path, sent
from tests.support.frames import evidence, frame
from tests.support.places import FIXTURES


def test_fires_on_ect1_under_classic_ecn():
    flows, rows = frame("flows", mode="classic"), frame("directions", data_ect1=900)
    (found,) = check(evidence(flows=flows, directions=rows))
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.HIGH)
    assert found.measures[0].value == 900


def test_silent_under_accecn_and_where_the_mode_is_unknown():
    flows = frame("flows", flow=[0, 1], mode=["accecn", "unknown"])
    rows = frame("directions", flow=[0, 1], data_ect1=900)
    assert check(evidence(flows=flows, directions=rows)) == []


def test_silent_on_ect0_under_classic_ecn():
    rows = frame("directions", data_ect1=0, data_ect0=900)
    assert check(evidence(flows=frame("flows", mode="classic"), directions=rows)) == []


def both_ends(at_sender: int, at_receiver: int, near_mode: str = "classic"):
    """A flow with so many ECT(1) packets at its sender and at its receiver."""
    flows = frame("flows", source=[0, 1], mode=[near_mode, "classic"], vantage=["client", "server"])
    sent = frame("directions", source=[0, 1], data_ect1=[at_sender, at_receiver])
    return evidence(flows=flows, directions=sent)


def test_silent_on_ect0_that_the_path_makes_ect1():
    assert check(both_ends(0, 900)) == []


def test_fires_at_the_sender_whose_capture_began_after_the_handshake():
    (found,) = check(both_ends(900, 900, "unknown"))
    assert (found.source, found.confidence) == (0, Confidence.HIGH)


def test_fires_at_the_receiver_alone_without_blaming_the_sender():
    flows = frame("flows", mode="classic", vantage="server")
    (found,) = check(evidence(flows=flows, directions=frame("directions", data_ect1=900)))
    assert found.confidence is Confidence.MEDIUM
    assert "or the path re-marks ECT(0)" in found.message
    assert found.action.startswith("Capture at the sender.")


def reported(transport: str, runs: list[int] | None = None, **counts: int | None) -> Evidence:
    """A flow over UDP, 1,000 packets with ECT(1), whose feedback is read and reports 900."""
    hidden = sent(runs or [1, 1000], transport)
    read = hidden.udp_directions.with_columns(
        pl.lit(value).cast(hidden.udp_directions.schema[name]).alias(name)
        for name, value in ({"reported_packets": 900, "ce_fed_back_best": 0} | counts).items()
    )
    nothing = {name: getattr(hidden, name).clear() for name in ("udp_flows", "udp_directions")}
    return replace(hidden, flows=hidden.udp_flows, directions=read, **nothing)


def logged(**counts: object) -> Evidence:
    """QUIC whose own qlog has 900 packets as acknowledged at last."""
    return replace(
        sent([1, 1000]),
        sources=frame("sources", source=9, kind="qlog", path="sq.qlog"),
        udp_kernel=frame("kernel", source=9, ts_ns=[1, 2], delivered=[5, 900], **counts),
    )


NONE = {"reported_ect0": 0, "reported_ect1": 0}


def test_fires_over_udp_where_feedback_counts_nothing():
    for scene, confidence in (
        (reported("quic"), Confidence.HIGH),
        (reported("rtp", **NONE), Confidence.HIGH),
        (logged(), Confidence.MEDIUM),
        (logged(delivered_ect1=0, delivered_ect0=0, delivered_ce=0), Confidence.MEDIUM),
    ):
        (found,) = findings(RULE, scene)
        assert (found.severity, found.confidence) == (Severity.WARNING, confidence)
        assert found.message.startswith("1,000 packets carry ECT(1), up to the last, but the ")
        assert "has 900 as acknowledged and counts none" in found.message
        assert found.message.endswith("The path clears ECT, or the receiver does not report it.")


@pytest.mark.parametrize(
    "scene",
    [
        reported("rtp", reported_ect0=0, reported_ect1=1),
        reported("rtp", reported_ect0=0, reported_ect1=0, ce_fed_back_best=1),
        reported("quic", reported_ect0=1),
        reported("udp-prague"),
        reported("quic", reported_packets=199),
        reported("quic", [1, 1000, 0, 200]),
        reported("quic", [2, 1000]),
        reported("quic", [1, 199]),
        reported("udp"),
        logged(delivered_ect1=[None, 5]),
        logged(delivered_ce=[None, 5]),
        logged(alpha=[0.5, None]),
    ],
    ids=[
        *("ECT(1) counted", "CE counted", "ECT(0) counted", "acks of UDP Prague", "few reported"),
        *("given up", "ECT(0)", "few sent", "plain UDP"),
        *("ECT(1) logged", "CE logged", "alpha logged"),
    ],
)
def test_silent_over_udp_where_something_is_counted_or_little_is_known(scene: Evidence):
    assert findings(RULE, scene) == []


def test_both_ends_show_whether_the_path_or_the_receiver_hides_it():
    (found,) = findings(RULE, replace(reported("quic"), paths=path(ect1_to_ect1=1000)))
    assert found.message.endswith("ECT(1) arrives as it left: the receiver does not report ECN.")
    assert findings(RULE, replace(reported("quic"), paths=path(ect1_to_not_ect=1000))) == []


def test_names_the_input_that_quic_lacks():
    (why,) = check(sent([1, 1000]))
    assert not isinstance(why, Finding)
    assert why.reason.endswith("the keys of the connection (SSLKEYLOGFILE) would show it")
    assert check(sent([2, 1000])) == []


@pytest.mark.needs("tshark")
@pytest.mark.parametrize(("run", "expected"), [("qkbleach", 1), ("qk", 0)])
def test_fires_on_recorded_acknowledgements_without_counts(
    tmp_path: Path, run: str, expected: int
) -> None:
    """quic-go's own packets with ECT(1); the receiver of the twin counts what it saw, ECT(0)."""
    folder = FIXTURES / "user-space"
    data, at = bytearray(lzma.decompress((folder / f"{run}-a.pcap.xz").read_bytes())), 24
    while at < len(data):
        (held,) = struct.unpack_from("<I", data, at + 8)
        if data[at + 28 : at + 32] == CLIENT:
            data[at + 17] = data[at + 17] & ~3 | 1
        at += 16 + held
    (capture := tmp_path / "a.pcap").write_bytes(data)
    read = pipeline.read([str(capture), str(folder / f"{run}-a.keys")], companions=False)
    assert len(findings(RULE, pipeline.derive(read, strict=True))) == expected
