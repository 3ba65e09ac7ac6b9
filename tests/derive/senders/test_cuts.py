"""Cuts from kernel samples and from packets, and the law that each is given."""

import polars as pl
import pytest

from l4strace.derive.senders import cuts
from l4strace.evidence import Capture
from tests.support.frames import MS, capture, frame, rounds, stack

PACKET = 1 << 20


def kernel_cut(before: float, after: float, **columns: object) -> pl.DataFrame:
    """A `cwr` sample and the `ack` sample of the same ACK, as the lab's probes log them."""
    return frame(
        "kernel",
        ts_ns=[100 * MS, 100 * MS + 10_000],
        event=["cwr", "ack"],
        sk="0x1",
        snd_cwnd=int(before),
        srtt_us=10_000.0,
        frac_cwnd=[int(before * PACKET), int(after * PACKET)],
        **columns,
    )


@pytest.mark.parametrize(
    ("after", "alpha", "score", "law"),
    [
        (9.9, 0.02, 0.0, "alpha/2"),
        (6.875, 0.02, 17.0, "floor"),
        (8.4375, 0.02, 8.5, "floor"),
        (5.0, 0.0, 0.0, "half"),
        (8.0, 0.02, 0.0, "none"),
        (6.0, 0.8, 17.0, "alpha/2"),
    ],
)
def test_kernel_cut_is_explained(after: float, alpha: float, score: float, law: str) -> None:
    table = cuts.table(capture(kernel=kernel_cut(10, after, alpha=alpha, classic_ecn=score)))
    row = table.row(0, named=True)
    assert (row["origin"], row["cause"], row["law"]) == ("kernel", "ce", law)
    assert row["fraction"] == pytest.approx(1 - after / 10, abs=1e-3)


def test_first_ce_halving_of_p7_shows_one_sample_later() -> None:
    kernel = frame(
        "kernel",
        ts_ns=[0, 10_000, 300_000],
        event=["cwr", "ack", "ack"],
        sk="0x1",
        snd_cwnd=16,
        frac_cwnd=[16 * PACKET, 16 * PACKET, 8 * PACKET],
        alpha=0.0,
    )
    assert cuts.table(capture(kernel=kernel))["law"].to_list() == ["half"]


def test_integer_window_is_read_a_round_trip_later() -> None:
    kernel = frame(
        "kernel",
        ts_ns=[0, 1 * MS, 5 * MS, 11 * MS],
        event=["cwr", "ack", "ack", "ack"],
        sk="0x1",
        srtt_us=10_000.0,
        snd_cwnd=[1488, 1489, 1800, 2100],
        alpha=0.0,
    )
    row = cuts.table(capture(kernel=kernel)).row(0, named=True)
    assert (row["cwnd_after"], row["fraction"]) == (2100.0, 0.0)


def seen(made: pl.DataFrame, **tables: pl.DataFrame) -> Capture:
    """Rounds of one direction."""
    known = {"flows": frame("flows", flow=[0]), "directions": frame("directions", flow=[0])}
    return capture(rounds=made, **(known | tables))


def test_packet_side_cut_is_measured_over_the_two_rounds_after() -> None:
    flight = [40] * 10 + [30, 28] + [29] * 8
    marks = [0] * 9 + [3] + [0] * 10
    table = cuts.table(seen(rounds(20, inflight_max_packets=flight, ce_best=marks, alpha=0.02)))
    row = table.row(0, named=True)
    assert (table.height, row["origin"], row["cause"], row["round"]) == (1, "packets", "ce", 9)
    assert row["law"] == "floor"
    assert row["fraction"] == pytest.approx(0.3)
    assert row["fraction_lo"] < row["fraction"] < row["fraction_hi"]


def test_classic_echo_and_loss_are_causes() -> None:
    echoes = [0, 0, 2, 0, 0, 0, 0, 0]
    lost = [0, 0, 0, 0, 0, 1, 0, 0]
    table = cuts.table(seen(rounds(8, ce_best=None, ece_acks=echoes, retransmits=lost)))
    assert table["cause"].to_list() == ["ece", "loss"]


def test_kernel_cuts_replace_those_of_packets() -> None:
    marks = [0] * 9 + [3] + [0] * 10
    table = cuts.table(seen(rounds(20, ce_best=marks), kernel=kernel_cut(10, 9.9, alpha=0.02)))
    assert table["origin"].to_list() == ["kernel"]


@pytest.mark.parametrize(("begin", "number"), [(95, 0), (100, 0), (101, None), (0, 9)])
def test_a_kernel_cut_is_in_the_round_that_began_last(begin: int, number: int | None) -> None:
    """At 100 ms; the last of ten rounds that begin at 0 is over by then."""
    made = rounds(10 if begin == 0 else 1, begin_ns=begin * MS)
    table = cuts.table(seen(made, kernel=kernel_cut(10, 9.9, alpha=0.02)))
    assert table["round"].to_list() == [number]


def test_rounds_of_kernel_cuts_are_those_of_the_capture_nearest_to_the_sender() -> None:
    """Those of the receiver's began later, and it counts others."""
    run = capture(
        flows=frame("flows", source=[0, 1], vantage=["client", "server"]),
        directions=frame("directions", source=[0, 1]),
        rounds=stack(rounds(20, begin_ns=-5 * MS), rounds(20, source=1, begin_ns=9 * MS)),
        kernel=kernel_cut(10, 9.9, alpha=0.02),
    )
    assert cuts.table(run)["round"].to_list() == [10]


def test_a_window_seen_late_has_the_law_that_regrowth_leaves() -> None:
    """Lab run s2501-115: "35 by none of Prague's laws", of 40 by the fallback."""
    late = cuts.table(capture(kernel=kernel_cut(24, 17.4, alpha=0.02, classic_ecn=17.0)))
    assert late["law"].to_list() == ["none"], "rules ask for it to the bit"
    assert cuts.with_regrowth(late)["law"].to_list() == ["floor"]
    other = cuts.table(capture(kernel=kernel_cut(24, 19.5, alpha=0.02, classic_ecn=17.0)))
    assert cuts.with_regrowth(other)["law"].to_list() == ["none"]


@pytest.mark.parametrize(
    ("transport", "causes"), [("tcp", ["ce", "loss"]), ("udp-prague", ["loss"]), ("rtp", [])]
)
def test_over_udp_only_the_window_of_udp_prague_shows(transport: str, causes: list[str]) -> None:
    """And its law at marks is not that of TCP."""
    run = capture(
        flows=frame("flows", transport=transport),
        directions=frame("directions", data_ect1=1000),
        rounds=rounds(
            20,
            ce_best=[2 * (n == 5) for n in range(20)],
            retransmits=[int(n == 12) for n in range(20)],
        ),
    )
    assert cuts.table(run)["cause"].to_list() == causes
