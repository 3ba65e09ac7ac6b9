"""Which directions have a checklist."""

from l4strace.evidence import Evidence
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


def test_without_evidence_nothing_but_the_packets_themselves_pass() -> None:
    (found,) = checklists(run(ect1=1000, mode="unknown"), ())
    assert len(found.checks) == len(REQUIREMENTS)
    passed = [check.requirement for check in found.checks if check.verdict == "pass"]
    assert passed == ["Data is sent as ECT(1)"]
    assert all(check.evidence for check in found.checks)
    assert not any(check.verdict == "fail" for check in found.checks)
