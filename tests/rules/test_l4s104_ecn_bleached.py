"""Bleaching: reflection, counters, both ends."""

from pathlib import Path

import polars as pl
import pytest

from l4strace.model import Confidence, Severity
from l4strace.rules.l4s104_ecn_bleached import RULE, check
from tests.support.ends import altered, findings, path, sent
from tests.support.frames import evidence, frame


def syn(**columns: object) -> pl.DataFrame:
    plain = {"syn_ecn": 1, "syn_arrived_ecn": 0, "synack_frame": 2}
    return frame("flows", **(plain | columns))


def test_fires_on_the_reflection_of_the_syn():
    rows = frame("directions", data_ect1=1000)
    (found,) = check(evidence(flows=syn(), directions=rows))
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.MEDIUM)
    assert (found.forward, found.frames) == (True, (2,))


@pytest.mark.parametrize(
    ("counted", "severity"), [(0, Severity.ERROR), (1_448_000, Severity.NOTICE)]
)
def test_fires_with_certainty_where_counters_show_the_data(counted: int, severity: Severity):
    """A notice where they move: only the SYN is bleached."""
    rows = frame("directions", data_ect1=1000, e1b_bytes=counted, e0b_bytes=0, ceb_bytes=0)
    (found,) = check(evidence(flows=syn(), directions=rows))
    assert (found.severity, found.confidence) == (severity, Confidence.HIGH)


def both_directions(reports: int) -> pl.DataFrame:
    """ECT(1) data whose receiver sent so many options, none of which counts an ECT byte."""
    zero = {"e1b_bytes": 0, "e0b_bytes": 0, "ceb_bytes": 0}
    data = frame("directions", data_ect1=1000, data_ect0=0, accecn_options=0, **zero)
    back = frame("directions", forward=False, data_ect1=0, data_ect0=0, accecn_options=reports)
    return pl.concat([data, back])


def test_silent_when_the_synack_alone_carried_the_option():
    """Its counters are the initial ones; a path that strips the option leaves it at that."""
    assert check(evidence(flows=syn(syn_arrived_ecn=1), directions=both_directions(1))) == []


def test_fires_on_counters_alone():
    rows = both_directions(500)
    (found,) = check(evidence(flows=syn(syn_arrived_ecn=None), directions=rows))
    assert (found.measures[0].value, found.measures[0].expected) == (0, "1,448,000")


def test_fires_on_the_way_back():
    flows = syn(syn_ecn=0, synack_ecn=1, synack_arrived_ecn=0, final_ack_frame=3)
    (found,) = check(evidence(flows=flows, directions=frame("directions", forward=False)))
    assert (found.forward, found.frames) == (False, (3,))


def test_fires_once_with_the_strongest_evidence():
    paths = frame(
        "paths",
        near=0,
        far=1,
        matched=1000,
        ect1_to_not_ect=990,
        ect0_to_not_ect=0,
        first_change_frame_near=4,
    )
    (found,) = check(
        evidence(flows=syn(), directions=frame("directions", data_ect1=1000), paths=paths)
    )
    assert found.confidence is Confidence.HIGH
    assert found.measures[0].value == 990


@pytest.mark.parametrize(("cleared", "found"), [(1, 0), (11, 0), (12, 1)])
def test_silent_where_lost_packets_may_be_paired_with_their_retransmissions(
    cleared: int, found: int
) -> None:
    paths = frame("paths", near=0, far=1, matched=18_043, lost=11, ect0_to_not_ect=cleared)
    paths = paths.with_columns(ect1_to_not_ect=pl.lit(0, pl.UInt64))
    flows = syn(syn_arrived_ecn=1)
    assert len(check(evidence(flows=flows, directions=frame("directions"), paths=paths))) == found


def test_silent_on_a_synack_that_left_as_not_ect():
    """Prague of 2020: its SYN/ACK was never ECT, so it cannot have been bleached."""
    flows = syn(syn_arrived_ecn=1, synack_ecn=0, synack_arrived_ecn=0)
    assert check(evidence(flows=flows, directions=frame("directions", data_ect1=1000))) == []


def test_silent_when_codepoints_arrive():
    flows = syn(syn_arrived_ecn=1, synack_ecn=1, synack_arrived_ecn=1)
    rows = frame("directions", data_ect1=1000, e1b_bytes=1_400_000, e0b_bytes=0, ceb_bytes=10_000)
    assert check(evidence(flows=flows, directions=rows)) == []


WHOLE_BYTE = " It rewrites their DSCP too: a node sets the whole former ToS byte."


@pytest.mark.parametrize(("rewritten", "said"), [(990, True), (989, False), (0, False)])
def test_names_a_tos_byte_that_is_rewritten_as_a_whole(rewritten: int, said: bool):
    paths = path(ect1_to_not_ect=990, ect1_to_ect1=10, dscp_changed=rewritten)
    (found,) = findings(RULE, sent([1, 1000], "udp-prague", paths=paths))
    assert found.message.endswith(WHOLE_BYTE) == said


def test_claims_no_tos_byte_where_other_packets_may_have_lost_their_dscp():
    paths = path(matched=6010, ect0_to_not_ect=10, dscp_changed=5000)
    (found,) = findings(RULE, sent([0, 2, 2, 10, 0, 6000], paths=paths))
    assert found.message.endswith("the path bleaches ECN.")


def test_losses_over_udp_hide_no_cleared_probes():
    paths = path(matched=29_900, lost=100, ect0_to_not_ect=10)
    (found,) = findings(RULE, sent([0, 2, 2, 10, 0, 30_000], paths=paths))
    assert found.measures[0].value == 10


def test_fires_on_a_recording_whose_bytes_a_node_clears(tmp_path: Path):
    (found,) = findings(RULE, altered("up1", tmp_path, lambda tos: tos & ~3))
    assert found.forward
    cleared = "224 of 224 packets left as ECT and arrived as Not-ECT: the path bleaches ECN."
    assert found.message == cleared
    (whole,) = findings(RULE, altered("up1", tmp_path, lambda _: 10 << 2))
    assert whole.message == cleared + WHOLE_BYTE
