"""Sockets of a log: which of them are one connection."""

from typing import Any

import polars as pl

from l4strace.ingest.join import sockets

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
