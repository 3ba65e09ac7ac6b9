"""What loading adds to the tables of the tracker."""

from pathlib import Path

import pytest

from l4strace.errors import InputError
from l4strace.ingest import load
from l4strace.ingest.load import _placed
from tests.support.frames import frame


def test_a_flow_takes_the_place_that_its_neighbours_show():
    flows = frame("flows", flow=[0, 1, 2], vantage=["unknown", "server", "server"])
    assert _placed(flows)["vantage"].to_list() == ["server"] * 3


def test_neighbours_that_differ_and_other_hosts_show_nothing():
    mixed = frame("flows", flow=[0, 1, 2], vantage=["unknown", "server", "client"])
    assert _placed(mixed)["vantage"][0] == "unknown"
    hosts = frame("flows", flow=[0, 1], vantage=["unknown", "server"], server=["10.0.3.2", "::1"])
    assert _placed(hosts)["vantage"].to_list() == ["unknown", "server"]


def test_results_of_iperf3_are_left_out_and_stop_nothing(
    fixtures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = tmp_path / "run.json"
    rates.write_text('{\n\t"start":\t{\n\t\t"connected":\t[]}, "intervals": [], "end": {}}')
    capture = load.load([str(fixtures / "accecn-clean/sender.pcap.xz"), str(rates)])
    assert capture.sources["kind"].to_list().count("pcap") == 1
    assert "run.json: results of iperf3, left out" in capsys.readouterr().err
    with pytest.raises(InputError, match="no packets") as refused:
        load.load([str(rates)])
    assert "sweep" in refused.value.hint
