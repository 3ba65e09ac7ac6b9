"""Drops of the host's own queues."""

from l4strace.model import Severity
from l4strace.rules.l4s605_wrong_qdisc import check
from tests.support.frames import evidence


def host(kind: str, before: int, after: int) -> dict[str, object]:
    def state(drops: int) -> dict[str, object]:
        row = {"kind": kind, "handle": "8001:0", "parent": "root", "drops": drops}
        return {"interfaces": {"eth0": {"qdiscs": [row]}}}

    return {"path": "run.host.json", "before": state(before), "after": state(after)}


def test_fires_on_drops_during_the_run():
    (found,) = check(evidence(host_files=(host("pfifo_fast", 7, 57),)))
    assert found.severity is Severity.WARNING
    assert found.measures[0].value == 50


def test_silent_on_old_drops_and_on_l4s_queues():
    assert check(evidence(host_files=(host("pfifo_fast", 7, 7), host("dualpi2", 0, 50)))) == []
