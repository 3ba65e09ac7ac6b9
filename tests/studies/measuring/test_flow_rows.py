"""What flows that did not last equally long come to in the numbers of a run."""

import polars as pl
import pytest

from l4strace.studies import measures
from l4strace.studies.measuring import flow_rows
from tests.support import frames
from tests.support.frames import MS, ROUND_NS, frame, rounds

SHORT = 72
LONG_ROUNDS = 800
ROUND_BYTES = 40 * 1448
ROUND_BPS = ROUND_BYTES * 8e9 / ROUND_NS
CAPACITY_BPS = 60e6


@pytest.fixture(scope="module")
def flows() -> pl.DataFrame:
    """A long L4S flow, and one after the other 72 classic ones of one round trip each."""
    numbers = list(range(1 + SHORT))
    short = [rounds(1, flow=flow, begin_ns=flow * 100 * MS) for flow in numbers[1:]]
    run = frames.evidence(
        sources=frame("sources"),
        flows=frame("flows", flow=numbers, client_port=[40000 + flow for flow in numbers]),
        directions=frame(
            "directions",
            flow=numbers,
            data_ect1=[1000] + [0] * SHORT,
            data_ect0=[0] + [1000] * SHORT,
            rtt_mean_us=[10_000.0] + [90_000.0] * SHORT,
        ),
        rounds=frames.stack(rounds(LONG_ROUNDS), *short),
        phases=frame(
            "phases",
            path="10.0.1.0/24>10.0.3.0/24",
            end_ns=LONG_ROUNDS * ROUND_NS,
            capacity_bps=CAPACITY_BPS,
            capacity_shown=True,
        ),
    )
    return flow_rows.table(run, "r")


def of_run(flows: pl.DataFrame, rate_bps: float | None = None) -> dict[str, float]:
    rates = pl.DataFrame(
        {"run": ["r"], "rate_bps": [rate_bps]}, schema={"run": pl.String(), "rate_bps": pl.Float64}
    )
    return dict(measures.of_flows(flows, rates).select("name", "value").iter_rows())


def test_rates_that_are_added_up_are_those_over_the_time_of_the_run(flows: pl.DataFrame):
    assert flows["goodput_bps"].to_list() == pytest.approx([ROUND_BPS] * (1 + SHORT))
    whole = (LONG_ROUNDS + SHORT) / LONG_ROUNDS
    found = of_run(flows)
    assert found["l4s_goodput"] == pytest.approx(ROUND_BPS)
    assert found["classic_goodput"] == pytest.approx(ROUND_BPS * SHORT / LONG_ROUNDS)
    assert found["utilization"] == pytest.approx(ROUND_BPS * whole / CAPACITY_BPS)
    assert of_run(flows, 50e6)["utilization"] == pytest.approx(ROUND_BPS * whole / 50e6)


def test_a_share_is_one_of_the_payload(flows: pl.DataFrame):
    ours = LONG_ROUNDS / (LONG_ROUNDS + SHORT)
    assert of_run(flows)["l4s_share"] == pytest.approx(ours)
    assert flows["share"].to_list() == pytest.approx([ours, *[(1 - ours) / SHORT] * SHORT])


def test_means_are_weighted_by_payload(flows: pl.DataFrame):
    ours = LONG_ROUNDS / (LONG_ROUNDS + SHORT)
    assert of_run(flows)["rtt"] == pytest.approx(ours * 10_000 + (1 - ours) * 90_000)


def test_short_flows_are_no_part_of_fairness(flows: pl.DataFrame):
    assert "jain" not in of_run(flows)
    second = pl.when(pl.col("flow") == 1).then(3.0 * ROUND_BPS)
    lasting = flows.with_columns(
        average_bps=second.otherwise("average_bps"), goodput_bps=second.otherwise("goodput_bps")
    )
    assert of_run(lasting)["jain"] == pytest.approx((1 + 3) ** 2 / (2 * (1 + 9)))


def test_where_only_goodput_is_known_it_adds_up(flows: pl.DataFrame):
    known = flows.head(2).with_columns(average_bps=pl.lit(None, pl.Float64))
    found = of_run(known)
    assert (found["l4s_share"], found["jain"]) == (pytest.approx(0.5), pytest.approx(1.0))
