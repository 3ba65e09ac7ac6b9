"""Whether a clock was set, from the offsets that matched acknowledgements give."""

from __future__ import annotations

import polars as pl

from l4strace.ingest.join import matching

MS = 1_000_000


def judged(offsets: list[int]) -> matching.Match:
    """Acknowledgements 1 ms apart whose packets lie ``offsets`` after their samples."""
    rows = {"packet_ns": [i * MS for i in range(len(offsets))], "apart": offsets}
    return matching._judged(pl.DataFrame(rows, schema_overrides={"apart": pl.Int64}), len(offsets))


def test_a_clock_that_is_set_moves_all_that_follows() -> None:
    assert judged([0] * 250 + [80 * MS] * 150).step_ns == 80 * MS


def test_a_busy_host_delays_samples_and_sets_no_clock() -> None:
    """Two thirds of the samples of a tenth of the run were written 80 ms late."""
    busy = [-80 * MS if i % 3 else 0 for i in range(40)]
    assert judged([0] * 200 + busy + [0] * 160).step_ns == 0
