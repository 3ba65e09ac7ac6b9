"""What loading adds to the tables of the tracker."""

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
