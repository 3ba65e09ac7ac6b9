"""The checklist against the truth of the fixtures: each verdict is what was built or set there."""

import pytest

from l4strace import pipeline
from tests.support.places import FIXTURES

LETTERS = {"pass": "P", "fail": "F", "not shown": "."}

# Order: ECT(1), feedback, scalable, loss, fallback, RTT, small window, loss in time, bursts,
# control packets, increase, start, NQB.
EXPECTED = {
    # The buggy build on an L4S AQM: marks are answered with the fallback's floor.
    "misfire/misfire.pcap.xz": ["PP.......P..."],
    # Prague v0.7 alone: paced to a packet at a time.
    "healthy/healthy.pcap.xz": ["PPP.....PP..."],
    # The lab's sender computes alpha/2.
    "accecn-clean/sender.pcap.xz": ["PPP......P..."],
    # It ignores CE on purpose.
    "accecn-deaf/sender.pcap.xz": ["PPF......P..."],
    # Its handshake is ECT(1), its data ECT(0).
    "accecn-ect0/sender.pcap.xz": ["FP.......P..."],
    # The path clears the flags of the feedback.
    "accecn-ace-zeroed/sender.pcap.xz": ["P........P..."],
    # A FIFO that overflows: half of the window at each loss, no mark.
    "accecn-unmarked/sender.pcap.xz": ["PP.P.....P..."],
    # DCTCP sends ECT(0) and promises nothing: no L4S sender.
    "dctcp/dctcp.pcapng.xz": [],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_line_is_right_for_the_fixture(name: str) -> None:
    evidence = pipeline.derive(pipeline.read([str(FIXTURES / name)]))
    found = pipeline.judge(evidence, strict=True).checklists
    lines = ["".join(LETTERS[check.verdict] for check in one.checks) for one in found]
    assert lines == EXPECTED[name]
