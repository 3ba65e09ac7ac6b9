"""Which directions have a checklist."""

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Severity
from l4strace.rules.checklist import REQUIREMENTS, checklists
from l4strace.rules.checklist.sender import MAX_SENDERS, senders
from tests.support.frames import evidence, frame


def run(*, ect1: int, mode: str = "accecn", syn: int = 1, packets: int = 1000) -> Evidence:
    counts = {"data_ect1": ect1, "data_ect0": packets - ect1, "data_packets": packets}
    return evidence(
        flows=frame("flows", mode=mode, syn_ecn=syn), directions=frame("directions", **counts)
    )


def flows(found: Evidence) -> list[int]:
    return [sender.flow for sender in senders(found, ())]


def test_senders_of_ect1_and_those_that_promised_it_are_checked() -> None:
    assert flows(run(ect1=1000)) == [0]
    assert flows(run(ect1=0)) == [0]
    assert flows(run(ect1=0, syn=0)) == []
    assert flows(run(ect1=0, mode="classic")) == []
    assert flows(run(ect1=50, packets=50)) == []


def test_many_senders_are_bounded_and_the_largest_come_first() -> None:
    numbers = list(range(20))
    many = evidence(
        flows=frame("flows", flow=numbers),
        directions=frame("directions", flow=numbers, data_ect1=1000, payload_bytes=numbers),
    )
    assert flows(many) == numbers[::-1][:MAX_SENDERS]


def test_a_sender_over_udp_is_checked_though_its_feedback_is_hidden() -> None:
    """The larger direction of its flow; a tunnel shows the codepoints of what it carries."""
    ways = {"forward": [True, False], "data_ect1": 1000, "payload_bytes": [50, 900_000]}
    for transport, expected in (("quic", [(7, False)]), ("rtp", [(7, False)]), ("udp", [])):
        hidden = evidence(
            udp_flows=frame("flows", flow=7, transport=transport),
            udp_directions=frame("directions", flow=7, **ways),
        )
        found = [(sender.flow, sender.forward) for sender in senders(hidden, ())]
        assert found == expected
    read = evidence(
        flows=frame("flows", flow=7, transport="udp-prague"),
        directions=frame("directions", flow=7, data_ect1=1000, reported_packets=1000),
        udp_flows=frame("flows", source=1, flow=7, transport="udp-prague"),
        udp_directions=frame("directions", source=1, flow=7, **ways),
    )
    assert [(sender.flow, sender.forward) for sender in senders(read, ())] == [(7, True)]


def test_what_packets_and_the_log_of_a_sender_over_udp_pass() -> None:
    tables = {
        "udp_flows": frame("flows", transport="quic"),
        "udp_directions": frame("directions", data_ect1=1000, reported_packets=None),
    }
    (plain,) = checklists(evidence(**tables), ())
    verdicts = {check.requirement: check for check in plain.checks}
    assert verdicts["Data is sent as ECT(1)"].verdict == "pass"
    feedback = "Feedback on the extent of marking"
    assert verdicts[feedback].verdict == "not shown"
    assert verdicts[feedback].evidence.startswith("Not read: QUIC encrypts its feedback; the keys")
    assert not any(check.verdict == "fail" for check in plain.checks)
    logged = evidence(
        **tables,
        sources=frame("sources", source=[0, 9], kind=["pcap", "qlog"], path=["a", "sq.qlog"]),
        udp_kernel=frame("kernel", source=9, delivered_ect1=[5, 90], delivered_ce=[0, 10]),
    )
    (seen,) = checklists(logged, ())
    (check,) = (check for check in seen.checks if check.requirement == feedback)
    assert (check.verdict, check.evidence) == (
        "pass",
        "By the sender's log, feedback reports 100 packets with ECT(1) or CE, 10 of them CE.",
    )
    silent = Finding(Severity.WARNING, Confidence.HIGH, "None.", rule="L4S102", flow=0)
    (told,) = checklists(logged, [silent])
    (check,) = (check for check in told.checks if check.requirement == feedback)
    assert (check.verdict, check.evidence) == ("fail", "None.")


def test_without_evidence_nothing_but_the_packets_themselves_pass() -> None:
    (found,) = checklists(run(ect1=1000, mode="unknown"), ())
    assert len(found.checks) == len(REQUIREMENTS)
    passed = [check.requirement for check in found.checks if check.verdict == "pass"]
    assert passed == ["Data is sent as ECT(1)"]
    assert all(check.evidence for check in found.checks)
    assert not any(check.verdict == "fail" for check in found.checks)
