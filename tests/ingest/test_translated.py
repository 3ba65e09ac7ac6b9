"""One conversation in front of and behind address translation."""

from typing import Any

import polars as pl

from l4strace.ingest import translated
from tests.support import frames

MS = 1_000_000


def tables(**columns: Any) -> dict[str, pl.DataFrame]:
    """Three flows; the second begins 25 us after the first, the third 3 ms after it."""
    values = {
        "flow": [0, 1, 2],
        "client": ["10.0.0.1", "203.0.113.7", "10.0.0.2"],
        "client_port": [40001, 61001, 40001],
        "server": "10.0.1.1",
        "server_port": 5201,
        "client_isn": [7, 7, 9],
        "first_ns": [0, 25_000, 3 * MS],
    }
    flows = frames.frame("flows", **(values | columns))
    directions = frames.frame("directions", flow=[0, 1, 2], forward=True, handshake_rtt_us=20_000.0)
    rounds = frames.frame("rounds", flow=[0, 1, 2])
    return {
        "flows": flows,
        "directions": directions,
        "rounds": rounds,
        "stats": frames.capture().stats,
    }


def left(**columns: Any) -> list[int]:
    found = translated.once(tables(**columns))
    flows = [found[name]["flow"].to_list() for name in ("flows", "directions", "rounds")]
    assert flows[0] == flows[1] == flows[2]
    return flows[0]


def test_the_second_address_of_a_client_is_the_same_flow() -> None:
    assert left() == [0, 2]
    (stat,) = translated.once(tables())["stats"].to_dicts()
    assert (stat["name"], stat["count"], stat["severity"]) == ("flows_translated", 1, "info")
    assert stat["detail"] == (
        "203.0.113.7:61001 to 10.0.1.1:5201 is flow 0 with a translated address."
    )


def test_a_server_may_be_translated_too() -> None:
    assert left(client="10.0.0.1", client_port=40001, server=["a", "b", "c"]) == [0, 2]


def test_flows_that_only_share_the_number_stay() -> None:
    assert left(server=["10.0.1.1", "10.0.9.9", "10.0.1.1"]) == [0, 1, 2]
    assert left(first_ns=[0, 21 * MS, 3 * MS]) == [0, 1, 2]
    assert left(client_isn=[None, None, 9]) == [0, 1, 2]


def test_many_flows_of_one_number_are_made_by_a_generator() -> None:
    assert left(client_isn=7) == [0, 1, 2]


def test_a_port_that_is_used_again_with_the_same_number_is_another_conversation() -> None:
    assert left(client="10.0.0.1", client_port=40001) == [0, 1, 2]
