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


def test_a_flow_counts_by_its_rate_while_it_sends() -> None:
    """A burst of 1 s takes as much as one that lasts."""
    udp = frames.stack(direction(1, 100_000, 1), direction(2, 100_000, 10), direction(3, 0, 5))
    capture = frames.capture(directions=direction(0, 10_000_000, 10), udp_directions=udp)
    assert datagrams.large(capture).rows() == [(0, 1)]


def test_a_flow_in_another_capture_does_not_count() -> None:
    udp = direction(1, 100_000, 1, source=1)
    capture = frames.capture(directions=direction(0, 1_000_000, 10), udp_directions=udp)
    assert datagrams.large(capture).is_empty()
