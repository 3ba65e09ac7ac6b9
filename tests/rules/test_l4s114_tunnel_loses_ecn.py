"""RFC 6040: what the outer header shows, the receiver has to report."""

import pytest

from l4strace.model import Confidence, Finding, Severity, Skipped
from l4strace.rules.l4s114_tunnel_loses_ecn import check
from tests.support.frames import evidence, frame


def findings(mode: str = "accecn", **columns: object) -> list[Finding | Skipped]:
    plain = {"ce": 0, "outer_ce": 0, "outer_not_ect": 0}
    directions = frame("directions", **(plain | columns))
    flows = frame("flows", mode=mode, tunnel="vxlan")
    return check(evidence(flows=flows, directions=directions))


def test_fires_on_marks_that_nobody_reports():
    (found,) = findings(outer_ce=100, ce_fed_back_hi=3)
    assert isinstance(found, Finding)
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.HIGH)
    assert "VXLAN tunnel loses congestion marks" in found.message


def test_fires_on_a_part_of_them_with_less_confidence():
    (found,) = findings(outer_ce=100, ce=20, ce_fed_back_hi=80)
    assert isinstance(found, Finding)
    assert found.confidence is Confidence.MEDIUM


def test_fires_under_classic_ecn_without_any_ece():
    (found,) = findings("classic", outer_ce=100, ece_acks=0)
    assert isinstance(found, Finding)
    assert findings("classic", outer_ce=100, ece_acks=30) == []


def test_fires_on_hidden_ect():
    (found,) = findings(outer_not_ect=1000)
    assert isinstance(found, Finding)
    assert found.severity is Severity.WARNING


def test_silent_where_the_marks_arrive():
    assert findings(outer_ce=100, ce_fed_back_hi=99) == []


@pytest.mark.parametrize("few", [{"outer_ce": 9, "ce_fed_back_hi": 0}, {"outer_not_ect": 5}])
def test_silent_on_single_packets(few: dict[str, int]):
    assert findings(**few) == []


def test_skipped_without_feedback():
    (skipped,) = findings(outer_ce=100)
    assert isinstance(skipped, Skipped)


def over_udp(**columns: object) -> list[Finding | Skipped]:
    plain = {"ce": 0, "outer_ce": 0, "outer_not_ect": 0, "ce_fed_back_hi": None}
    directions = frame("directions", **(plain | columns))
    flows = frame("flows", mode=None, tunnel="gre", transport="udp-prague")
    return check(evidence(udp_flows=flows, udp_directions=directions))


def test_fires_on_a_flow_over_udp_whose_ect_the_tunnel_hides():
    (found,) = over_udp(outer_not_ect=1000)
    assert isinstance(found, Finding)
    assert found.message.startswith("The GRE tunnel hides that packets are ECN-capable")
    assert over_udp(outer_not_ect=1) == []


def test_fires_on_marks_that_a_receiver_over_udp_does_not_report():
    (found,) = over_udp(outer_ce=100, ce_fed_back_hi=3)
    assert isinstance(found, Finding)
    assert "100 packets carry CE" in found.message
    assert over_udp(outer_ce=100, ce_fed_back_hi=99) == []


def test_skipped_over_udp_without_feedback():
    (skipped,) = over_udp(outer_ce=100)
    assert isinstance(skipped, Skipped)
