"""Logs of user-space senders find their flow by the ends that they name."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from l4strace.evidence import Capture
from l4strace.ingest.join import attach
from l4strace.ingest.logs.samples import SAMPLES, Log, shaped
from tests.support import frames

S = 1_000_000_000
ENDS = {"saddr": "10.0.0.1", "sport": 4433, "daddr": "10.0.0.2", "dport": 40001}


def log(**columns: Any) -> Log:
    """A log of Unix time, from t=1 s to t=9 s."""
    rows = pl.DataFrame({"ts_ns": [S, 9 * S], "sk": ["a", "a"], "event": ["poll", "poll"]})
    samples = shaped(rows).with_columns(
        pl.lit(value).cast(SAMPLES[name]).alias(name) for name, value in columns.items()
    )
    return Log("run.qlog", "qlog", samples, transport="quic", unix_offset_ns=0, clock="realtime")


def capture(*flows: dict[str, Any]) -> Capture:
    plain = {
        "transport": "quic", "client": "10.0.0.2", "client_port": 40001, "server": "10.0.0.1",
        "server_port": 4433, "first_ns": 0, "last_ns": 10 * S,
    }  # fmt: skip
    rows = pl.concat(
        [frames.frame("flows", **plain | {"flow": n} | one) for n, one in enumerate(flows)]
    )
    sent = frames.frame("directions", flow=list(range(len(flows))), payload_bytes=1000)
    return frames.capture(udp_flows=rows, udp_directions=sent, flows=rows.clear())


def joined(of: Capture, one: Log) -> list[tuple[int, bool]]:
    added = attach._sender_added(of, one)
    assert added.kernel.height == of.kernel.height
    return [*added.udp_kernel.select("flow", "forward").unique().rows()]


def test_a_log_that_names_both_ends_joins_the_direction_that_it_sends() -> None:
    other = {"client_port": 40002}
    assert joined(capture(other, {}), log(**ENDS)) == [(1, False)]


def test_a_socket_bound_to_every_address_names_the_rest() -> None:
    assert joined(capture({}, {"client_port": 7}), log(**ENDS | {"saddr": None})) == [(0, False)]


def test_a_log_of_another_time_or_host_joins_nothing() -> None:
    later = capture({"first_ns": 100 * S, "last_ns": 110 * S})
    for of, one in ((later, log(**ENDS)), (capture({}), log(**ENDS | {"daddr": "10.0.0.9"}))):
        added = attach._sender_added(of, one)
        assert added.udp_flows["flow"].to_list() == [0, 1]
        (stat,) = added.stats.filter(pl.col("name") == "kernel_log_not_joined").to_dicts()
        assert "10.0.0.1:4433" in stat["detail"]


def test_one_end_is_enough_where_one_flow_has_it() -> None:
    half = dict.fromkeys(("saddr", "sport")) | {"daddr": "10.0.0.2", "dport": 40001}
    assert joined(capture({}), log(**half)) == [(0, False)]
    two = capture({}, {"server": "10.0.0.3"})
    assert joined(two, log(**half)) == [(2, True)]


def test_a_clock_without_an_offset_is_not_guessed() -> None:
    one = log(**ENDS)
    one.unix_offset_ns = None
    added = attach._sender_added(capture({}), one)
    (stat,) = added.stats.filter(pl.col("name") == "kernel_log_not_joined").to_dicts()
    assert "no offset" in stat["detail"]


@pytest.mark.parametrize(
    ("ends", "client", "forward"),
    [
        (ENDS, "10.0.0.2", False),
        ({"daddr": "10.0.0.2", "dport": 8080}, None, True),
        ({}, None, True),
    ],
)
def test_a_log_alone_has_flows_of_its_own(ends: Any, client: str | None, forward: bool) -> None:
    added = attach._sender_added(frames.capture(), log(**ends))
    (row,) = added.udp_flows.to_dicts()
    assert (row["transport"], row["client"]) == ("quic", client)
    assert added.udp_kernel["forward"].unique().to_list() == [forward]
