"""What all rounds of a direction show, in one row: `measure/overall.rs` looks at them."""

from __future__ import annotations

import polars as pl

from l4strace.derive.measured import measured
from l4strace.evidence import Capture, kept


@kept
def directions(capture: Capture) -> pl.DataFrame:
    """One row per direction with rounds, by `KEY`; in the order of `directions`.

    `start_ns` and `end_ns` of all; how many have bursts (`bursts`), of these the median
    `burst_bytes`, and `burst_max_bytes` with its `burst_frame`; `by_window`, the share that the
    window limits; `with_holes`, the share of those with retransmissions in which SACK reports
    holes; how many have ECE (`echoed`), and `echo_went_on`, the share of these, but for the first,
    in which no ACK lacks it; whether AccECN options show the CE bytes of any (`ce_bytes_known`).

    Of the first round with marks times and frames (`mark_start_ns`, `mark_end_ns`,
    `mark_first_frame`, `mark_last_frame`); whether its data in flight is the window of UDP Prague
    (`mark_windowed`); packets in flight in it (`mark_inflight`), two rounds before (`mark_before`)
    and two rounds later (`mark_later`).
    """
    return pl.DataFrame(measured(capture).overall())
