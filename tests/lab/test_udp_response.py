"""How recorded senders over UDP respond to marks, and the same packets under other feedback."""

import lzma
import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from l4strace import pipeline
from l4strace.derive.senders import controlled
from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Rule
from l4strace.rules import l4s102_ect1_without_accecn as without_feedback
from l4strace.rules import l4s207_alpha_stuck as alpha_stuck
from l4strace.rules import l4s216_reduces_without_marks as without_marks
from l4strace.rules import l4s308_fallback_cuts_from_packets as classic
from l4strace.rules.l4s202_no_response_to_ce import RULE
from tests.support.ends import findings

ACK, FEEDBACK = bytes((17,)), bytes((205,))
RECEIVED_AT, CE_AT = 13, 17
"""Counters of UDP Prague's acknowledgement."""
NUMBER_AT, REPORTS_AT = 12, 16
"""RFC 8888: behind RTCP's header, both sources and the numbers."""
STEADY = range(2000, 60_000)
"""Numbers of packets after the start; they begin shortly before they wrap."""
CE = 0x6000
REPORTED = 0x8000
ECT0, ECT1 = 2, 1
PRAGUE = re.compile(rb"(Prague: \d+,\d+,\d+,)\d+")
"""picoquic's message on alpha: time, ECT(1), CE, 1024 times alpha."""
LOGS = {
    **dict.fromkeys(("pq1", "pqbleach"), ("sq.qlog.xz", "cq.qlog.xz")),
    **dict.fromkeys(("qg1", "qgbleach"), ("sq.sqlog.xz", "cq.sqlog.xz")),
    **{run: (f"{run}-send.log.xz",) for run in ("up1", "up8888", "upbleach", "mixup", "mixreno")},
    "sc1": ("sc1.csv.xz",),
}


def counted(payload: bytearray) -> None:
    """An acknowledgement that counts three of four packets as CE."""
    if payload[:1] == ACK:
        (received,) = struct.unpack_from(">I", payload, RECEIVED_AT)
        struct.pack_into(">I", payload, CE_AT, received * 3 // 4)


def reported(payload: bytearray) -> None:
    """A report with three of four packets as CE, once the start is over, after which rates fall."""
    if payload[1:2] == FEEDBACK and struct.unpack_from(">H", payload, NUMBER_AT)[0] in STEADY:
        for at in range(REPORTS_AT, len(payload) - 4, 2):
            (report,) = struct.unpack_from(">H", payload, at)
            if report & REPORTED and at // 2 % 4:
                struct.pack_into(">H", payload, at, report | CE)


def unmarked(payload: bytearray) -> None:
    """A report without the codepoints that arrived; its time at the end is not looked at."""
    if payload[1:2] == FEEDBACK:
        for at in range(REPORTS_AT, len(payload), 2):
            payload[at] &= ~(CE >> 8)


def judged(
    path: Path,
    folder: Path,
    change: Callable[[bytearray], None] = bytearray.copy,
    rule: Rule = RULE,
) -> list[Finding]:
    """What the sender's capture shows, with what ``change`` makes of each payload."""
    data, at = bytearray(lzma.decompress(path.read_bytes())), 24
    while at < len(data):
        (held,) = struct.unpack_from("<I", data, at + 8)
        payload = data[at + 44 : at + 16 + held]
        change(payload)
        data[at + 44 : at + 16 + held] = payload
        at += 16 + held
    (capture := folder / "a.pcap").write_bytes(data)
    read = pipeline.read([str(capture)], companions=False)
    return findings(rule, pipeline.derive(read, strict=True))


@pytest.mark.parametrize(
    ("run", "change", "confidence"),
    [("up1", counted, Confidence.MEDIUM), ("sc1", reported, Confidence.LOW)],
)
def test_fires_on_a_recorded_sender_that_goes_on_under_marks(
    shared_data: Path,
    tmp_path: Path,
    run: str,
    change: Callable[[bytearray], None],
    confidence: Confidence,
) -> None:
    path = shared_data / f"user-space/{run}/a.pcap.xz"
    (one,) = judged(path, tmp_path, change)
    assert "this asks any scalable sender for half of its rate" in one.message
    assert one.confidence == confidence
    assert judged(path, tmp_path) == []


def test_fires_on_recorded_reports_without_codepoints(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "user-space/sc1/a.pcap.xz"
    (one,) = judged(path, tmp_path, unmarked, without_feedback.RULE)
    assert "the feedback has 11,640 as acknowledged and counts none with ECT or CE" in one.message
    assert judged(path, tmp_path, rule=without_feedback.RULE) == []


@pytest.mark.parametrize("run", LOGS)
def test_fires_on_a_recorded_log_without_counts(shared_data: Path, run: str) -> None:
    """picoquic does not notice that nothing reports its ECT(1)."""
    found = findings(without_feedback.RULE, logged(shared_data / "user-space", run))
    assert [one.forward for one in found] == [False] * (run == "pqbleach")


@pytest.mark.parametrize("run", ["up8888", "mixup", "mixreno", "upbleach"])
def test_silent_on_every_other_recorded_sender(shared_data: Path, tmp_path: Path, run: str) -> None:
    assert judged(shared_data / f"user-space/{run}/a.pcap.xz", tmp_path) == []


def logged(folder: Path, run: str) -> Evidence:
    """The sender's capture with the logs of both ends."""
    paths = [str(folder / run / name) for name in ("a.pcap.xz", *LOGS[run])]
    return pipeline.derive(pipeline.read(paths, companions=False), strict=True)


@pytest.mark.parametrize("share", [0.5, 2.0])
@pytest.mark.parametrize("run", ["up1", "mixup", "mixreno"])
def test_other_marks_ask_for_another_window(
    shared_data: Path, tmp_path: Path, run: str, share: float
) -> None:
    """A sender that responds to half of the marks, or twice as much, does not follow the replay."""

    def changed(payload: bytearray) -> None:
        if payload[:1] == ACK:
            (ce,) = struct.unpack_from(">I", payload, CE_AT)
            struct.pack_into(">I", payload, CE_AT, int(ce * share))

    judged(shared_data / f"user-space/{run}/a.pcap.xz", tmp_path, changed)
    read = pipeline.read([str(tmp_path / "a.pcap")], companions=False)
    assert controlled.followed(read).is_empty()


def test_picoquic_goes_on_reducing_when_the_marks_have_ended(shared_data: Path) -> None:
    """Its log names 49 of 669 rounds with a reduction and no CE, most of them beside others."""
    (one,) = findings(without_marks.RULE, logged(shared_data / "user-space", "pq1"))
    assert "18 of 660 reductions of the window (threshold 5)" in one.message
    assert one.message.endswith("by 5.7 % each (median).")


@pytest.mark.parametrize("run", LOGS)
def test_other_logs_show_no_reduction_without_a_cause(shared_data: Path, run: str) -> None:
    evidence = logged(shared_data / "user-space", run)
    assert len(findings(without_marks.RULE, evidence)) == (run == "pq1")
    assert findings(classic.RULE, evidence) == []
    assert findings(alpha_stuck.RULE, evidence) == []


def test_fires_on_a_recorded_log_whose_alpha_does_not_move(
    shared_data: Path, tmp_path: Path
) -> None:
    recorded = shared_data / "user-space/pq1"
    said = lzma.decompress((recorded / "sq.qlog.xz").read_bytes())
    (log := tmp_path / "sq.qlog").write_bytes(PRAGUE.sub(rb"\g<1>512", said))
    read = pipeline.read([str(recorded / "a.pcap.xz"), str(log)], companions=False)
    (one,) = findings(alpha_stuck.RULE, pipeline.derive(read, strict=True))
    assert "Alpha stayed at 0.500 in all" in one.message
    assert "while the sender counted 1,3" in one.message


def test_fires_on_a_recorded_classic_sender_under_ect1(shared_data: Path, tmp_path: Path) -> None:
    """quic-go reduces by 30 %, as CUBIC does: its run and log with ECT(1) in place of ECT(0)."""
    recorded = shared_data / "user-space/qg1"
    data, at = bytearray(lzma.decompress((recorded / "a.pcap.xz").read_bytes())), 24
    while at < len(data):
        (held,) = struct.unpack_from("<I", data, at + 8)
        if data[at + 17] & 3 == ECT0:
            data[at + 17] ^= ECT0 | ECT1
        at += 16 + held
    (capture := tmp_path / "a.pcap").write_bytes(data)
    said = lzma.decompress((recorded / "sq.sqlog.xz").read_bytes())
    said = said.replace(b"ECT(0)", b"ECT(1)").replace(b"ect0", b"ect1")
    (log := tmp_path / "sq.sqlog").write_bytes(said)
    read = pipeline.read([str(capture), str(log)], companions=False)
    (one,) = findings(classic.RULE, pipeline.derive(read, strict=True))
    assert (one.headline, one.variant) == (classic.CLASSIC_SENDER, "classic-sender")
    assert "its log shows 22 reductions after CE, by 30 % in the median; alpha/2 is" in one.message
