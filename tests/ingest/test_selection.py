"""A part of a run: flows by number, port, host and DSCP; a stretch of time."""

from pathlib import Path

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.errors import UsageError
from l4strace.evidence import Evidence
from l4strace.ingest.selection import Selection, findings_of, in_time, of_flows
from tests.support import frames
from tests.support.ends import recorded
from tests.support.frames import frame, stack

FLOWS = frame(
    "flows",
    flow=[0, 1, 2],
    client=["10.0.1.2", "10.0.1.9", "2001:db8::1"],
    client_port=[40000, 40001, 40002],
    server_port=[5201, 5202, 5201],
)
DIRECTIONS = frame(
    "directions",
    flow=[0, 1, 1, 2],
    forward=[True, True, False, True],
    dscp=[0, 0, 45, 46],
)


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({}, [0, 1, 2]),
        ({"flows": [2, 0]}, [0, 2]),
        ({"ports": [5201]}, [0, 2]),
        ({"ports": [40001]}, [1]),
        ({"hosts": ["10.0.1.2"]}, [0]),
        ({"hosts": ["10.0.0.0/16"]}, [0, 1]),
        ({"hosts": ["2001:db8::/32"]}, [2]),
        ({"hosts": ["10.0.0.0/16"], "ports": [5201]}, [0]),
        ({"ports": [9]}, []),
        ({"dscps": [45]}, [1]),
        ({"dscps": [45, 46]}, [1, 2]),
        ({"dscps": [45], "hosts": ["2001:db8::/32"]}, []),
        ({"dscps": [7]}, []),
    ],
)
def test_flows_are_chosen_by_number_port_host_and_dscp(options: dict, chosen: list[int]):
    v6 = FLOWS.with_columns(
        server=pl.when(pl.col("flow") == 2)
        .then(pl.lit("2001:db8::2"))
        .otherwise(pl.lit("10.9.3.2"))
    )
    assert Selection.of(**options).chosen(v6, DIRECTIONS).to_list() == chosen


def test_runs_and_flows_over_udp_are_chosen_too(fixtures: Path):
    captures = [str(fixtures / "user-space" / f"pq1-{end}.pcap.xz") for end in "ab"]
    run = pipeline.read([*captures, str(fixtures / "misfire" / "misfire.pcap.xz")])
    over_udp = Selection.of(ports=run.udp_flows["server_port"].unique().to_list())
    (chosen,) = pipeline.unrelated(run, over_udp)
    assert of_flows(chosen, over_udp).udp_flows.height


@pytest.mark.parametrize("options", [{"hosts": ["server"]}, {"from_s": 2.0, "to_s": 1.0}])
def test_what_means_nothing_is_refused(options: dict):
    with pytest.raises(UsageError):
        Selection.of(**options)


@pytest.mark.parametrize("moment_s", [float("nan"), float("inf"), -float("inf"), 1e308, 1e10])
@pytest.mark.parametrize("option", ["from", "to"])
def test_what_is_no_moment_of_a_run_is_refused(option: str, moment_s: float):
    with pytest.raises(UsageError, match=rf"--{option} .*: not a number of seconds"):
        Selection.of(**{f"{option}_s": moment_s})


@pytest.fixture(scope="module")
def misfire(fixtures: Path) -> Evidence:
    return pipeline.derive(pipeline.read([str(fixtures / "misfire" / "misfire.pcap.xz")]))


def test_chosen_flows_keep_their_findings_and_numbers(misfire: Evidence):
    everything = pipeline.judge(misfire)
    shown = of_flows(misfire, Selection.of(ports=[5202]))
    assert (
        set(shown.flows["flow"])
        == set(shown.rounds["flow"])
        == {2, 3} - {2} | {3} | ({2} & set(shown.rounds["flow"]))
    )
    found = findings_of(everything, shown)
    assert found.findings == tuple(f for f in everything.findings if f.flow in (None, 2, 3))
    assert len(found.findings) < len(everything.findings)
    with pytest.raises(UsageError, match="no flow matches"):
        of_flows(misfire, Selection.of(ports=[9]))


def test_a_stretch_of_time_counts_its_rounds(misfire: Evidence):
    cut = in_time(misfire, Selection.of(from_s=2.0, to_s=4.0))
    first = misfire.sources["first_ns"].min()
    assert cut.rounds["start_ns"].min() >= first + 2 * 10**9
    assert cut.rounds["start_ns"].max() < first + 4 * 10**9
    assert cut.kernel.height < misfire.kernel.height
    row = cut.directions.filter(flow=1, forward=True).row(0, named=True)
    rounds = cut.rounds.filter(flow=1, forward=True)
    assert row["payload_bytes"] == rounds["sent_bytes"].sum()
    assert row["ce_fed_back_best"] == rounds["ce_best"].sum()
    assert row["rtt_min_us"] == rounds["rtt_min_us"].min()
    assert cut.directions.schema == misfire.directions.schema


def test_parts_add_up_to_the_whole(misfire: Evidence):
    def sent(selection: Selection) -> int:
        return in_time(misfire, selection).directions.filter(flow=3)["payload_bytes"].sum()

    halves = [Selection.of(to_s=3.0), Selection.of(from_s=3.0)]
    whole = misfire.directions.filter(flow=3)["payload_bytes"].sum()
    assert sum(map(sent, halves)) == pytest.approx(whole, rel=0.01)


def test_the_share_of_marks_of_a_stretch_is_of_packets_on_the_wire() -> None:
    """Of super-packets the rounds hold as many as the capture, and marks as on the wire."""
    run = frames.capture(
        sources=frame("sources", first_ns=0, last_ns=1000 * frames.MS),
        flows=frame("flows", first_ns=0, last_ns=1000 * frames.MS),
        directions=frame(
            "directions", data_packets=4_000, data_segments=40_000, ce_fed_back_best=3_000
        ),
        rounds=frames.rounds(100, ce_best=30),
    )
    (row,) = in_time(run, Selection.of(to_s=0.5)).directions.to_dicts()
    assert (row["data_packets"], row["data_segments"], row["ce_fed_back_best"]) == (
        2_000,
        20_000,
        1_500,
    )


def test_a_direction_without_rounds_stays_and_nothing_in_time_is_refused():
    run = frames.capture(
        sources=frame("sources", first_ns=0, last_ns=20 * 10**9),
        flows=frame("flows"),
        directions=stack(frame("directions"), frame("directions", forward=False, packets=7)),
        rounds=frames.rounds(100),
    )
    cut = in_time(run, Selection.of(from_s=0.5, to_s=0.6))
    assert cut.directions["packets"].to_list() == [7, 400]
    with pytest.raises(UsageError, match="no flow between"):
        in_time(run, Selection.of(from_s=30.0))


def test_a_stretch_of_a_flow_over_udp_counts_what_was_reported_in_it() -> None:
    run = recorded("up1", "a")
    cut = in_time(run, Selection.of(to_s=0.3))
    rounds = cut.rounds.filter(forward=True)
    (whole, row) = (
        one.directions.row(by_predicate=pl.col("forward"), named=True) for one in (run, cut)
    )
    assert 0 < row["reported_packets"] == rounds["acked_packets"].sum() < whole["reported_packets"]
    assert row["ce_fed_back_best"] == rounds["ce_best"].sum()
    assert row["retransmits"] is None
    assert row["from_start"]
    later = in_time(run, Selection.of(from_s=0.1)).directions
    assert later.filter(forward=True)["from_start"].to_list() == [False]
