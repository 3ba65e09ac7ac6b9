"""Whose congestion control it is."""

from typing import Any

from l4strace.evidence import Capture
from l4strace.ingest.join.controls import named
from tests.support.frames import capture, frame

BOTH = {"flow": [0, 0, 1, 1], "forward": [True, False, True, False]}


def run(**tables: Any) -> Capture:
    """Two flows to port 5201."""
    flows = frame("flows", flow=[0, 1], client_port=[40001, 40002])
    return capture(**({"flows": flows, "directions": frame("directions", **BOTH)} | tables))


def controls(run: Capture) -> list[str | None]:
    return named(run).directions["cc"].to_list()


def sockets(*rows: dict[str, object]) -> dict[str, Any]:
    return {"host_files": ({"path": "run.host.json", "sockets": list(rows)},)}


def test_a_log_names_it_in_the_order_of_use() -> None:
    log = frame("kernel", flow=[0, 0, 1, None], cc=["cubic", "prague", None, "bbr"])
    assert controls(run(kernel=log)) == ["cubic, prague", None, None, None]


def test_a_log_names_it_of_a_sender_over_udp() -> None:
    log = frame("kernel", flow=2, forward=True, cc="scream")
    ways = frame("directions", flow=2, forward=[True, False])
    found = named(run(udp_kernel=log, udp_directions=ways))
    assert found.udp_directions["cc"].to_list() == ["scream", None]
    assert found.directions["cc"].null_count() == 4


def test_a_host_file_names_it_by_local_and_remote_port() -> None:
    client = {"sport": 40001, "dport": 5201, "cc": "bbr"}
    server = {"sport": 5201, "dport": 40002, "cc": "cubic"}
    assert controls(run(**sockets(client, server))) == ["bbr", None, None, "cubic"]


def test_a_log_is_nearer_than_a_host_file() -> None:
    log = frame("kernel", flow=0, cc="prague")
    here = sockets({"sport": 40001, "dport": 5201, "cc": "prague-reno"})
    assert controls(run(kernel=log, **here))[0] == "prague"


def test_ports_of_two_flows_or_of_two_names_decide_nothing() -> None:
    twice = frame("flows", flow=[0, 1], client_port=40001)
    one = {"sport": 40001, "dport": 5201, "cc": "bbr"}
    assert controls(run(flows=twice, **sockets(one))) == [None] * 4
    assert controls(run(**sockets(one, one | {"cc": "cubic"}))) == [None] * 4
    assert controls(run(**sockets(one, one)))[0] == "bbr"


def test_a_hostile_host_file_names_nothing() -> None:
    odd = ({"sport": "x", "dport": 1, "cc": "a"}, {"sport": 1, "dport": 2, "cc": 3}, {})
    assert controls(run(host_files=({"sockets": 4}, {"sockets": [7, *odd]}))) == [None] * 4
