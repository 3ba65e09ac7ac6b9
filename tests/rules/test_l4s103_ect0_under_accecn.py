"""ECT(0) from an L4S sender."""

import polars as pl

from l4strace.model import Severity
from l4strace.rules.l4s103_ect0_under_accecn import check
from tests.support.frames import evidence, frame

ECT0 = {"data_ect0": 900, "data_ect1": 0, "data_not_ect": 0, "data_ce": 100}


def test_fires_when_the_syn_was_ect1():
    flows = frame("flows", syn_ecn=1)
    (found,) = check(evidence(flows=flows, directions=frame("directions", **ECT0)))
    assert found.severity is Severity.WARNING
    assert [m.value for m in found.measures] == [900, 0]


def test_fires_when_the_kernel_runs_prague():
    kernel = frame("kernel", cc="prague", flow=0)
    flows = frame("flows", syn_ecn=0)
    rows = frame("directions", **ECT0)
    assert len(check(evidence(flows=flows, directions=rows, kernel=kernel))) == 1


def test_silent_on_a_classic_controller_with_accecn():
    flows = frame("flows", syn_ecn=0, synack_ecn=0)
    assert check(evidence(flows=flows, directions=frame("directions", **ECT0))) == []


def test_silent_on_ect1_data():
    rows = frame("directions", data_ect0=0, data_ect1=1000, data_not_ect=0)
    assert check(evidence(flows=frame("flows", syn_ecn=1), directions=rows)) == []


def of_both(**sent):
    """A flow captured at its sender (`sent`) and at its receiver, which gets ECT(0)."""
    flows = [
        frame("flows", source=source, vantage=vantage, syn_ecn=0)
        for source, vantage in enumerate(("client", "server"))
    ]
    directions = [frame("directions", source=0, **sent), frame("directions", source=1, **ECT0)]
    return evidence(
        flows=pl.concat(flows),
        directions=pl.concat(directions),
        kernel=frame("kernel", cc="prague", flow=0),
    )


def test_silent_where_the_capture_at_the_sender_shows_ect1():
    assert check(of_both(data_ect0=0, data_ect1=900, data_not_ect=0, data_ce=0)) == []


def test_fires_once_where_both_captures_show_it():
    (found,) = check(of_both(**ECT0))
    assert found.source == 0


def test_fires_where_only_the_capture_at_the_receiver_has_the_handshake():
    both = of_both(**ECT0)
    late = both.flows.with_columns(
        mode=pl.when(pl.col("source") == 0).then(pl.lit("unknown")).otherwise("mode")
    )
    (found,) = check(evidence(flows=late, directions=both.directions, kernel=both.kernel))
    assert found.source == 0
