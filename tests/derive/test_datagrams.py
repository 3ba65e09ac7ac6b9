"""Which flows over UDP take much of a link."""

import polars as pl

from l4strace.derive import datagrams
from tests.support import frames

SECOND = 10**9


def direction(flow: int, payload_bytes: int, seconds: int, source: int = 0) -> pl.DataFrame:
    return frames.frame(
        "directions", source=source, flow=flow, payload_bytes=payload_bytes,
        first_ns=0, last_ns=seconds * SECOND,
    )  # fmt: skip


def beside(udp: pl.DataFrame, **flow: object) -> list[int]:
    """Flows over UDP that take much beside a flow of 8 Mbit/s over TCP."""
    flows = frames.frame(
        "flows",
        source=udp["source"].to_list(),
        flow=udp["flow"].to_list(),
        transport="quic",
        **flow,
    )
    capture = frames.capture(
        flows=frames.frame("flows", flow=0), directions=direction(0, 10_000_000, 10),
        udp_flows=flows, udp_directions=udp,
    )  # fmt: skip
    return datagrams.large(capture)["flow"].to_list()


def test_a_flow_counts_by_its_rate_while_it_sends() -> None:
    """A burst of 1 s takes as much as one that lasts."""
    udp = frames.stack(direction(1, 100_000, 1), direction(2, 100_000, 10), direction(3, 0, 5))
    assert beside(udp) == [1]


def test_a_flow_in_another_capture_or_on_another_path_does_not_count() -> None:
    assert beside(direction(1, 100_000, 1)) == [1]
    assert beside(direction(1, 100_000, 1, source=1)) == []
    assert beside(direction(1, 100_000, 1), server="192.0.2.1") == []
