"""The benchmark measures what it names: its inputs are what they are called, its parts run."""

import itertools
from pathlib import Path

import polars as pl
import pytest

import l4strace
from tests.support.bench import costs, figures, instructions, measures, shapes, workloads
from tests.support.bench.figures import Figure
from tests.support.bench.records import records
from tests.support.bench.workloads import Workload

CLEAN = workloads.captured("accecn-clean/sender.pcap.xz")
"""One flow of 6,673 packets in 2.8 s."""
PACKETS = 1500


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "ROUNDS", 1)


@pytest.fixture
def small(tmp_path: Path) -> Workload:
    path = tmp_path / "small.pcap"
    path.write_bytes(workloads.cut(CLEAN, 200))
    return Workload("small", 200, (path,))


def test_a_repeated_run_has_flows_rounds_and_time_in_proportion(tmp_path: Path):
    piece, path = workloads.cut(CLEAN, 500), tmp_path / "run.pcap"
    assert shapes.repeated(piece, PACKETS, path) == 3
    run = l4strace.open(str(path))
    assert run.sources["records"].to_list() == [PACKETS]
    assert run.flows.height == 3
    assert run.flows["mode"].unique().to_list() == ["accecn"]
    begun = run.flows["first_ns"].sort().diff().drop_nulls().unique().to_list()
    assert begun == [shapes.period_s(piece) * 10**9]


def test_a_continued_flow_is_one_flow_without_losses(tmp_path: Path):
    path = tmp_path / "flow.pcap"
    assert shapes.continued(workloads.cut(CLEAN, 500), PACKETS, path) == 4
    run = l4strace.open(str(path))
    one = workloads.cut(CLEAN, 500)
    (tmp_path / "one.pcap").write_bytes(one)
    single = l4strace.open(str(tmp_path / "one.pcap"))
    assert run.flows["mode"].to_list() == ["accecn"]
    data, alone = (
        table.sort("payload_bytes").tail(1) for table in (run.directions, single.directions)
    )
    assert data["retransmits"].to_list() == alone["retransmits"].to_list() == [0]
    assert data["payload_bytes"].item() > 2.9 * alone["payload_bytes"].item()
    assert data["rtt_min_us"].item() == alone["rtt_min_us"].item()
    assert data["ce_fed_back_best"].item() == 3 * alone["ce_fed_back_best"].item()


def test_a_mix_has_plain_flows_and_datagrams_around_the_recorded_ones(tmp_path: Path):
    piece, path = workloads.cut(CLEAN, 100), tmp_path / "mix.pcap"
    path.write_bytes(shapes.mixed(piece))
    run = l4strace.open(str(path))
    assert run.sources["records"].to_list() == [100 * (1 + shapes.OTHERS + shapes.DATAGRAMS)]
    assert run.sources["tcp_packets"].to_list() == [100 * (1 + shapes.OTHERS)]
    tcp = run.flows.filter(pl.col("transport") == "tcp")
    assert sorted(tcp["mode"]) == ["accecn", *["none"] * shapes.OTHERS]
    assert run.directions.filter(pl.col("data_ect1") > 0).height == 1


def test_a_repeated_log_belongs_to_the_repeated_run(tmp_path: Path):
    for shape in itertools.islice(workloads.ends(CLEAN, 7000, tmp_path), 1):
        run = l4strace.open(*map(str, shape.paths))
        assert run.flows.height == 2
        assert run.kernel["flow"].null_count() == 0
        assert run.kernel["flow"].n_unique() == 2


@pytest.mark.slow
def test_repeated_trace_events_belong_to_the_repeated_run(tmp_path: Path):
    misfire = workloads.captured("misfire/misfire.pcap.xz")
    whole = len(list(records(misfire)))
    for shape in workloads._events(misfire, whole * 3, tmp_path):
        run = l4strace.open(*map(str, shape.paths))
        assert run.flows.height == 3 * 4
        kernel = run.kernel.filter(pl.col("flow").is_not_null())
        assert kernel.height > 0.95 * run.kernel.height
        bulk = kernel.filter(pl.col("classic_ecn_raw") > 0)
        assert bulk["flow"].n_unique() == 3
        assert (
            bulk["ts_ns"]
            .is_between(*run.rounds.select(pl.min("start_ns"), pl.max("end_ns")).row(0))
            .all()
        )


def test_every_workload_is_made_and_removed(tmp_path: Path):
    names = []
    for shape in workloads.made(tmp_path, PACKETS):
        assert all(path.stat().st_size for path in shape.paths)
        names.append(shape.name)
    assert names[0] == "real"
    assert names[-2:] == ["kernel log", "both ends"]
    assert len(names) == len(set(names))
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("once")
def test_a_shape_is_held_against_a_walk_and_cat(small: Workload):
    found = {figure.name: figure for figure in measures.of_shape(small, constant_s=0.0)}
    assert found["small: cpu"].value > 0
    assert found["small: cpu / cat"].value > 1
    assert found["small: memory"].value > 10
    assert small.paths[0].with_suffix(".html").exists()


@pytest.mark.usefixtures("once")
def test_what_watch_costs_is_measured(small: Workload):
    names = [figure.name for figure in measures.of_watch(small)]
    assert names == ["watch: follow / walk", "watch: M packets a second"]


@pytest.mark.usefixtures("once")
def test_another_tool_is_held_against_diagnose(
    small: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "peers", lambda path: {"tcptrace": ["cat", str(path)]})
    names = [figure.name for figure in measures.of_peers(small, "tcptrace")]
    assert names == ["diagnose / tcptrace, cpu", "diagnose / tcptrace, time"]
    assert list(measures.of_peers(small, "tshark")) == []


@pytest.mark.usefixtures("once")
def test_a_sweep_reads_every_run(tmp_path: Path):
    assert len(list(measures.of_sweep(tmp_path, 1.0, runs=2))) == 2
    assert pl.read_parquet(tmp_path / "sweep" / "runs").height == 2


def test_a_command_that_fails_has_no_cost():
    with pytest.raises(RuntimeError, match="exit code 3"):
        costs.l4strace("diagnose", "no-such.pcap")


def test_a_regression_of_five_percent_is_seen(tmp_path: Path):
    path = tmp_path / "kept.json"
    slow, fast, clock = (
        Figure("cpu / walk", 5.0),
        Figure("tshark / diagnose", 60.0, at_least=True),
        Figure("cpu", 2.0, unit="s", kept=False),
    )
    figures.keep([slow, fast, clock], 1000, "0.1.0", path)
    before = figures.kept(1000, path)
    assert before == {"cpu / walk": 5.0, "tshark / diagnose": 60.0}
    assert figures.kept(2000, path) == {}
    now = [Figure("cpu / walk", 5.3), Figure("tshark / diagnose", 56.0, at_least=True)]
    assert figures.worse(now, before) == now
    alike = [Figure("cpu / walk", 5.2), Figure("tshark / diagnose", 58.0, at_least=True)]
    assert figures.worse(alike, before) == []
    assert "| cpu / walk | 5.30 x |  | 5.00 **worse** |" in list(figures.table(now, before))


def test_the_page_has_a_row_for_each_shape_and_one_for_each_figure_that_stands_alone():
    shape = [figures.Figure(f"real: {name}", 2.0) for name in figures.SHAPE]
    shape[4] = figures.Figure(shape[4].name, 6.0, 5.0)
    lines = list(figures.page([*shape, figures.Figure("sweep: time", 8.0, unit="s")]))
    assert lines[2] == "| real | 2 x | 2 x | 2 x | 2 x | 6 x | 2 x |"
    assert lines[6:] == [
        f"| {shape[4].name} | 6.00 x | <= 5 **missed** |",
        "| sweep: time | 8.00 s |  |",
    ]


def test_figures_are_written_between_their_marks():
    text = f"head\n{figures.BEGIN}\nold\n{figures.END}\ntail\n"
    assert figures.written(text, ["new"]) == f"head\n{figures.BEGIN}\nnew\n{figures.END}\ntail\n"
    assert figures.BEGIN in figures.PAGE.read_text()


def test_instructions_are_those_of_a_packet_of_either_transport():
    shown = "900 100 37\n==7== \n==7== Collected : 1500400\n"
    assert instructions.instructions(shown) == 1500


def test_instructions_are_worse_from_three_percent_on_and_of_one_compiler(tmp_path: Path):
    before = instructions.Counted("rustc 1", {"QUIC": 1000, "DCTCP": 1000, "gone": 1})
    instructions.keep(before, tmp_path / "kept.json")
    before = instructions.kept(tmp_path / "kept.json")
    after = instructions.Counted("rustc 1", {"QUIC": 1030, "DCTCP": 1031, "new": 9})
    assert after.worse_than(before) == ["DCTCP"]
    assert instructions.Counted("rustc 2", after.shapes).worse_than(before) == []


def test_the_page_shows_the_instructions_that_are_kept():
    kept = instructions.kept()
    assert f"\n\n{instructions.table(kept)}\n" in figures.PAGE.read_text()
    assert "| QUIC (`user-space/qg1-a.pcap.xz`) | 1,000 |\n" in instructions.table(
        instructions.Counted(kept.compiler, {"QUIC": 1000})
    )


def test_instructions_are_kept_of_every_recorded_shape():
    assert list(instructions.kept().shapes) == list(instructions.SHAPES)
    assert all((workloads.FIXTURES / file).is_file() for file in instructions.SHAPES.values())
