"""Sockets of a log: which of them are one connection."""

from typing import Any

import polars as pl

from l4strace.ingest.join import sockets
from tests.support.frames import frame

S = 1_000_000_000


def life(sk: str | None, sport: int, dport: int, first_s: int, last_s: int, **ends: Any):
    addresses = {"saddr": "10.0.0.1", "daddr": "10.0.0.2"}
    if sport < dport:
        addresses = {"saddr": "10.0.0.2", "daddr": "10.0.0.1"}
    row = {"sk": sk, "sport": sport, "dport": dport, **addresses, **ends}
    return row | {"first_ns": first_s * S, "last_ns": last_s * S}


def own(*lives: dict[str, Any]) -> tuple[pl.DataFrame, dict[str | None, tuple[int, bool]]]:
    types = {"sk": pl.String, "sport": pl.UInt16, "dport": pl.UInt16}
    types |= {"saddr": pl.String, "daddr": pl.String}
    flows, keys = sockets.own_flows(pl.DataFrame(list(lives), schema_overrides=types), 0, 3, 0)
    return flows, {sk: (flow, way) for sk, *_, flow, way in keys.iter_rows()}


def test_both_ends_and_samples_without_pointer_are_one_flow():
    flows, keys = own(
        life(None, 40001, 5201, 0, 0),
        life("a", 40001, 5201, 0, 9),
        life("b", 5201, 40001, 1, 9),
    )
    assert keys == {None: (3, True), "a": (3, True), "b": (3, False)}
    assert flows.select("flow", "client", "vantage").rows() == [(3, "10.0.0.1", "unknown")]
    assert flows.select("first_ns", "last_ns").rows() == [(0, 9 * S)]


def test_ports_used_again_after_a_pause_are_another_flow():
    flows, keys = own(life("a", 40001, 5201, 0, 2), life("b", 40001, 5201, 60, 62))
    assert keys == {"a": (3, True), "b": (4, True)}
    assert flows["vantage"].to_list() == ["client", "client"]


def test_without_addresses_every_socket_stands_alone():
    nowhere = {"saddr": None, "daddr": None}
    _, keys = own(life("a", 40001, 5201, 0, 9, **nowhere), life("b", 40001, 5201, 0, 9, **nowhere))
    assert keys == {"a": (3, True), "b": (4, True)}


def test_a_sample_without_ports_has_those_of_its_pointer():
    """A return probe shows no ports, a closed socket shows source port 0."""
    types = {"sport": pl.UInt16, "dport": pl.UInt16, "saddr": pl.String, "daddr": pl.String}
    rows = [
        {"sk": "a", "sport": None, "dport": None, "saddr": None, "daddr": None},
        {"sk": "a", "sport": 40001, "dport": 5201, "saddr": "10.0.0.1", "daddr": "10.0.0.2"},
        {"sk": "a", "sport": 0, "dport": 5201, "saddr": None, "daddr": None},
        {"sk": "b", "sport": None, "dport": None, "saddr": None, "daddr": None},
        {"sk": "a", "sport": 40007, "dport": 5201, "saddr": None, "daddr": None},
    ]
    filled = sockets.with_ports(pl.DataFrame(rows, schema_overrides=types))
    assert filled["sport"].to_list() == [40001, 40001, 40001, None, 40007]
    assert filled["saddr"].to_list() == ["10.0.0.1"] * 3 + [None] * 2


def by_bytes(first_s: float, last_s: float, sent: dict[str, int]) -> dict[str, int]:
    """Flows of sockets without ports that were polled from ``first_s`` to ``last_s``."""
    lives = pl.DataFrame(
        [
            {"sk": sk, "sport": None, "dport": None, "saddr": "10.0.1.2", "daddr": "10.0.3.2",
             "first_ns": round((first_s + late) * S), "last_ns": round(last_s * S)}
            for sk, late in zip(sent, (0, 10), strict=False)
        ],
        schema_overrides={"sport": pl.UInt16, "dport": pl.UInt16},
    )  # fmt: skip
    flows = frame(
        "flows",
        flow=[0, 1, 2],
        first_ns=[0, 10 * S, 0],
        last_ns=[20 * S, 20 * S, 20 * S],
    )
    directions = frame("directions", flow=[0, 1, 2], acked_bytes=[60_000_000, 50_000_000, 656])
    found = sockets.by_bytes(lives, flows, directions, sent)
    return dict(found.select("sk", "flow").iter_rows())


def test_a_log_that_ends_with_the_capture_is_assigned_by_its_bytes():
    assert by_bytes(0.05, 20, {"a": 59_000_000, "b": 51_000_000}) == {"a": 0, "b": 1}
    assert by_bytes(0.05, 20, {"a": 30_000_000}) == {}


def test_a_log_that_outlives_the_capture_is_assigned_by_time_and_rate():
    """The capture ends at 20 s, the log at 40 s: it counts twice the bytes, and more."""
    assert by_bytes(0.05, 40, {"a": 90_000_000, "b": 160_000_000}) == {"a": 0, "b": 1}


def test_a_flow_of_another_start_or_rate_is_another_flow():
    assert by_bytes(3, 40, {"a": 120_000_000}) == {}
    assert by_bytes(0.05, 40, {"a": 4_000_000_000}) == {}


def joined(handshake: str, last_s: int, **ends: Any) -> int:
    """Sockets that are the flow from t=10 s to 20 s, of one logged from 0 to ``last_s``."""
    types = {"saddr": pl.String, "daddr": pl.String, "sport": pl.UInt16, "dport": pl.UInt16}
    lives = pl.DataFrame([life("a", 40001, 5201, 0, last_s, **ends)], schema_overrides=types)
    flows = frame(
        "flows", client="10.0.0.1", client_port=40001, server="10.0.0.2", server_port=5201,
        first_ns=10 * S, last_ns=20 * S, handshake=handshake,
    )  # fmt: skip
    return sockets.chosen(sockets.candidates(lives, flows), 0).height


def test_a_log_may_end_before_a_capture_that_started_late():
    assert joined("none", last_s=2) == 1
    assert joined("complete", last_s=2) == 0, "another connection with these ports"
    assert joined("complete", last_s=12) == 1
    assert joined("none", last_s=2, saddr=None, daddr=None) == 0, "ports alone agree by chance"
