"""AccECN requested but not negotiated."""

import polars as pl
import pytest

from l4strace.model import Confidence, Finding, Severity, Skipped
from l4strace.rules.l4s101_accecn_not_negotiated import check
from tests.support.frames import evidence, frame


def refused(**columns: object) -> pl.DataFrame:
    plain = {"syn_ace": 7, "synack_ace": 1, "mode": "classic", "syn_ecn": 1}
    return frame("flows", **(plain | columns))


def test_fires_as_error_when_l4s_was_intended():
    (found,) = check(evidence(flows=refused(syn_frame=1, synack_frame=2)))
    assert found.severity is Severity.ERROR
    assert [m.value for m in found.measures] == ["111", "001"]
    assert found.frames == (1, 2)


def test_fires_as_error_when_the_kernel_log_shows_prague():
    kernel = frame("kernel", cc="prague-reno", flow=0)
    (found,) = check(evidence(flows=refused(syn_ecn=0, mode="none", synack_ace=0), kernel=kernel))
    assert found.severity is Severity.ERROR
    assert "prague-reno" in found.message
    assert "ECT(1)" not in found.message  # its SYN was Not-ECT


def test_fires_as_notice_for_any_other_client():
    (found,) = check(evidence(flows=refused(syn_ecn=0)))
    assert found.severity is Severity.NOTICE


def test_fires_once_for_a_flow_that_two_captures_saw():
    assert len(check(evidence(flows=refused(source=[0, 1])))) == 1


def test_fires_and_names_the_client_that_gave_up_after_lost_syns():
    (found,) = check(
        evidence(flows=refused(syn_retry_ace=0, syn_count=3, synack_ace=0, mode="none"))
    )
    assert "3 SYNs" in found.message
    assert found.measures[1].value == "000"


def test_silent_when_negotiated_and_when_never_requested():
    flows = frame("flows", flow=[0, 1], syn_ace=[7, 3], mode=["accecn", "classic"])
    assert check(evidence(flows=flows)) == []


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"syn_retry_ace": 3, "syn_count": 3}, "the client fell back to classic ECN after 3 SYNs"),
        ({"synack_ace": 0, "synack_count": 2, "mode": "none"},
         "the server answered without ECN (ACE 000) in one of 2 SYN/ACKs"),
        ({"synack_ace": 5}, "the client took the reserved code ACE 101"),
        ({"simultaneous_open": True}, "both ends sent a SYN at the same time"),
    ],
)  # fmt: skip
def test_fires_and_names_who_gave_up(columns: dict[str, object], words: str):
    (found,) = check(evidence(flows=refused(**columns)))
    assert words in found.message


@pytest.mark.parametrize(
    ("vantage", "words"), [("client", "left the client"), ("server", "reached this capture")]
)
def test_fires_on_a_final_ack_without_its_code(vantage: str, words: str):
    bare = frame("flows", syn_ace=7, synack_ace=2, final_ack_ace=0, vantage=vantage)
    (found,) = check(evidence(flows=bare))
    assert found.severity is Severity.WARNING
    assert words in found.message
    whole = frame("flows", syn_ace=7, synack_ace=2, final_ack_ace=2)
    assert check(evidence(flows=whole)) == []


def test_skipped_where_nothing_answers_the_syn():
    silent = frame("flows", syn_ace=7, synack_ace=None, mode="unknown")
    (skipped,) = check(evidence(flows=silent))
    assert isinstance(skipped, Skipped)


def late(control: str | None, not_ect: int = 200, mode: str = "unknown") -> list[Finding | Skipped]:
    """A capture that began after the handshake, with 200 data packets of the client."""
    flows = frame("flows", syn_ace=None, synack_ace=None, mode=mode)
    directions = frame("directions", data_packets=200, data_not_ect=not_ect)
    kernel = frame("kernel", cc=control, flow=0)
    return check(evidence(flows=flows, directions=directions, kernel=kernel))


def test_fires_without_a_handshake_where_prague_sends_not_ect():
    (found,) = late("prague")
    assert isinstance(found, Finding)
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.MEDIUM)
    assert "all of its 200 data packets are Not-ECT" in found.message


@pytest.mark.parametrize(("control", "not_ect"), [(None, 200), ("cubic", 200), ("prague", 3)])
def test_silent_with_the_reason_where_the_handshake_is_missing(control: str | None, not_ect: int):
    (skipped,) = late(control, not_ect)
    assert isinstance(skipped, Skipped)
    assert "no handshake packet" in skipped.reason


def test_silent_where_later_packets_show_the_mode():
    assert late("prague", mode="classic") == []


@pytest.mark.parametrize(("control", "found"), [("prague-reno", 1), ("prague", 0), ("reno", 0)])
def test_fires_on_a_log_alone_where_prague_runs_as_reno(control: str, found: int):
    kernel = frame("kernel", cc=["prague", control], flow=[0, 0], ts_ns=[0, 1])
    flows = frame("flows", flow=0, mode="unknown")
    findings = check(evidence(flows=flows, kernel=kernel))
    assert [f.severity for f in findings] == [Severity.ERROR] * found


def test_fires_and_suspects_a_firewall_where_the_plain_syn_was_answered():
    plain = {"syn_retry_ace": 0, "syn_count": 3, "synack_ace": 0, "mode": "none"}
    for request, asked in ((0b111, "AccECN"), (0b011, "classic ECN")):
        (found,) = check(evidence(flows=frame("flows", syn_ace=request, **plain)))
        assert found.message.startswith(
            f"The client requested {asked}, but the client fell back to no ECN after 3 SYNs: the "
            "plain one was answered, those with ECN flags were not"
        )
        assert found.action.startswith("Look for a firewall")


def test_silent_on_a_server_without_ecn_and_on_a_repeated_request():
    refused = frame("flows", syn_ace=0b011, synack_ace=0, mode="none")
    repeated = frame("flows", syn_ace=0b011, syn_retry_ace=0b011, synack_ace=1, mode="classic")
    assert check(evidence(flows=refused)) == check(evidence(flows=repeated)) == []
