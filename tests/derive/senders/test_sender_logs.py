"""Sums of what logs of user-space senders say."""

from l4strace.derive.senders import sender_logs
from l4strace.wording.sender_logs import sentence
from tests.support import frames


def rows(**columns: object) -> list[dict[str, object]]:
    samples = frames.frame(
        "kernel", **{"flow": 3, "forward": False, "ts_ns": [2, 1, 3], "source": 1} | columns
    )
    sources = frames.frame(
        "sources", source=[0, 1], kind=["pcap", "qlog"], path=["a", "b/run.qlog"]
    )
    capture = frames.capture(sources=sources, udp_kernel=samples)
    return sender_logs.summary(capture).to_dicts()


def test_medians_ends_and_the_last_state() -> None:
    (row,) = rows(
        snd_cwnd=[10, 12, 14], srtt_us=[11e3, 12e3, 13e3], min_rtt_us=10_000, delivered=[5, 1, 9],
        delivered_ce=[1, 0, 2], delivered_ect1=[4, 1, 7], delivered_ect0=0, lost_packets=[0, 0, 1],
        ecn_state=["capable", "testing", None], alpha=[0.5, None, 0.25],
    )  # fmt: skip
    assert (row["path"], row["flow"], row["forward"]) == ("b/run.qlog", 3, False)
    assert (row["window"], row["delivered"], row["ecn_state"]) == (12.0, 9, "capable")
    assert sentence(row) == (
        "window 12 packets (median); RTT 12 ms (median, least 10 ms); alpha 0.25 at the end; "
        "counted: 7 ECT(1), 2 CE of 9 packets (22 % marked); 1 packet declared lost; "
        "ECN validation: capable"
    )


def test_failed_validation_says_why_and_silence_says_nothing() -> None:
    (row,) = rows(delivered=[5, 1, 9], ecn_state="failed", ecn_trigger="no counts", rs_rtt_us=7000)
    assert sentence(row) == (
        "RTT 7 ms (median, least 7 ms); 9 packets delivered, no codepoint of them counted; "
        'ECN validation: failed ("no counts")'
    )
    (row,) = rows()
    assert sentence(row) == ""


def test_logs_of_kernels_are_none() -> None:
    sources = frames.frame("sources", source=[1], kind=["ss"])
    samples = frames.frame("kernel", flow=3, ts_ns=[2], source=1)
    assert sender_logs.summary(frames.capture(sources=sources, kernel=samples)).is_empty()
