"""Queue delay at which packets are lost."""

import polars as pl
import pytest

from tests.support.queues import PRAGUE, of, sawtooth, verdict


@pytest.mark.parametrize(("behind", "idle"), [(300.0, True), (20_000.0, False)])
def test_losses_are_where_the_packets_behind_them_waited(behind: float, idle: bool) -> None:
    """The packet before a hole is answered up to 40 ms late; those behind it, which SACK shows, at
    once. Simulated run s8103-128: 0.7 ms of queue at most, and 40 ms of RTT around a loss."""
    at = [59, 99, 139, 179]
    rounds = of(sawtooth(50, 300), retransmits=[int(i in at) for i in range(200)])
    lost, base = pl.col("retransmits") > 0, pl.col("rtt_min_us").min()
    held = rounds.with_columns(
        rtt_max_us=pl.when(lost).then(base + 40_000.0).otherwise("rtt_max_us"),
        sacked_rtt_max_us=pl.when(lost).then(base + behind),
    )
    row = verdict(directions=PRAGUE, rounds=held)
    assert row["loss_delay_us"] == pytest.approx(behind, abs=60.0)
    assert row["idle_loss"] is idle


def test_packets_that_overtook_show_no_delay_of_a_loss():
    """Recorded run s2501-030: "6 packets retransmitted at -91.3 ms of queue delay"."""
    at = range(40, 200, 12)
    rounds = of(sawtooth(50, 300), retransmits=[int(i in at) for i in range(200)])
    base = pl.col("rtt_min_us").min()
    fast = rounds.with_columns(sacked_rtt_max_us=base / 2)
    rows = [verdict(directions=PRAGUE, rounds=one) for one in (rounds, fast)]
    assert rows[0]["loss_delay_us"] == rows[1]["loss_delay_us"]
    assert rows[0]["loss_delay_us"] is not None


def test_losses_without_an_rtt_have_the_delay_that_sack_shows():
    """Simulated run s8201-113: it left a run without any bottleneck."""
    at = range(40, 200, 12)
    rounds = of(sawtooth(50, 300), retransmits=[2 * int(i in at) for i in range(200)])
    near = pl.any_horizontal(
        (pl.col("retransmits").shift(n) > 0).fill_null(False) for n in range(-2, 3)
    )
    base = pl.col("rtt_min_us").min()
    held = rounds.with_columns(
        rtt_max_us=pl.when(~near).then("rtt_max_us"),
        sacked_rtt_max_us=pl.when(near).then(base + 20_000.0),
    )
    assert verdict(directions=PRAGUE, rounds=held)["kind"] == "fifo"
