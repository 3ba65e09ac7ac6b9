"""Short flows between two hosts, judged together."""

from __future__ import annotations

from typing import Any

import pytest

from l4strace.derive import short_flows
from l4strace.evidence import Capture
from tests.support.frames import MS, capture, frame

COUNT = 9


def run(**columns: Any) -> Capture:
    """Nine flows of 200 kB that take 100, 110 .. 180 ms."""
    numbers = list(range(COUNT))
    plain = {
        "payload_bytes": 200_000,
        "data_packets": 139,
        "last_ns": [(100 + 10 * n) * MS for n in numbers],
        "data_ect1": 130,
        "data_ce": 9,
    }
    return capture(
        flows=frame("flows", flow=numbers, client_port=[40001 + n for n in numbers]),
        directions=frame("directions", flow=numbers, **(plain | columns)),
    )


def test_completion_time_and_marks_of_all() -> None:
    (row,) = short_flows.groups(run()).iter_rows(named=True)
    assert (row["flows"], row["port"], row["marked_as"]) == (COUNT, 5201, "ect1")
    assert row["completion_us"] == pytest.approx(140_000)
    assert row["completion_p99_us"] == pytest.approx(180_000)
    assert row["marked"] == pytest.approx(9 / 139)


def test_one_sentence_with_what_their_user_feels() -> None:
    assert short_flows.sentence(run(retransmits=1)) == (
        "9 short flows of 200 kB (port 5201) completed in 140 ms (median), 180 ms (P99), 6.5 % of "
        "packets marked, 9 packets retransmitted"
    )


@pytest.mark.parametrize("size", [300, 50_000_000])
def test_control_connections_and_long_flows_are_no_short_flows(size: int) -> None:
    assert short_flows.groups(run(payload_bytes=size)).is_empty()
    assert short_flows.is_long(run(payload_bytes=size), 0) is (size > 300)
