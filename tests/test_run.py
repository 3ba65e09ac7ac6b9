"""The Python API on a sample that the repository holds."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import l4strace
from l4strace.model import Analysis, Confidence, Finding, Severity
from l4strace.run import DATE, TABLES, Run
from tests.support.frames import evidence, frame


@pytest.fixture(scope="module")
def misfire(fixtures: Path) -> Run:
    return l4strace.open(fixtures / "misfire" / "misfire.pcap.xz")


def test_every_table_is_a_polars_frame(misfire: Run):
    for table in TABLES:
        assert isinstance(getattr(misfire, table), pl.DataFrame)
    assert misfire.rounds.height > 100
    assert misfire.kernel.height > 1000


def test_findings_are_a_frame_worst_first(misfire: Run):
    assert misfire.findings["rule"].to_list()[0] == "L4S301"
    assert misfire.findings["severity"].to_list()[0] == "error"
    assert misfire.verdict == f"Flow 1: {misfire.findings['message'][0]}"
    assert misfire.findings["file"][0].endswith("misfire.pcap.xz")
    assert "(expected " in misfire.findings["measures"][0][0]
    delays = misfire.measures.filter(rule="L4S301", name="queue delay at a score above 8, median")
    assert delays["value"].to_list() == [pytest.approx(396, abs=5)]
    assert misfire.skipped.columns == ["rule", "reason", "flow"]


def test_figures_are_those_of_the_largest_flow_or_of_one(misfire: Run):
    assert {"rtt", "goodput"} <= misfire.figures().keys()
    assert "classic_ecn" in {name.replace("-", "_") for name in misfire.figures(flow=1)}
    with pytest.raises(l4strace.UsageError, match="no flow 999"):
        misfire.figures(flow=999)


def test_every_table_is_declared_for_type_checkers():
    assert set(TABLES) == Run.__annotations__.keys(), "the fields of Run in l4strace/run.py"
    assert not hasattr(Run, "__getattr__")


def test_a_notebook_shows_verdict_and_findings(misfire: Run):
    shown = misfire._repr_html_()
    assert misfire.verdict.replace("'", "&#x27;") in shown
    assert "<td>L4S301</td>" in shown


def test_names_in_a_notebook_are_text():
    sources = frame("sources", path="<script>x</script>.pcap")
    message = Finding(Severity.ERROR, Confidence.HIGH, "<img src=x>", rule="L4S104")
    shown = Run(evidence(sources=sources), Analysis((message,)))._repr_html_()
    assert "<script>" not in shown
    assert "<img" not in shown
    assert "&lt;script&gt;" in shown


def test_dates_where_a_person_looks(misfire: Run):
    table = l4strace.dated(misfire.rounds)
    assert table["start"].dtype == pl.Datetime("ns", "UTC")
    assert table["start"].dt.epoch("ns").to_list() == misfire.rounds["start_ns"].to_list()
    assert "start_ns" not in table.columns


def test_dates_of_every_moment_and_of_no_duration(misfire: Run):
    assert l4strace.dated(misfire.fallback)["since"].dtype == DATE
    assert l4strace.dated(misfire.directions)["without_ect_since"].dtype == DATE
    assert l4strace.dated(misfire.findings)["span"].dtype == pl.List(DATE)
    phases = l4strace.dated(misfire.phases)
    assert (phases["start"].dtype, phases["low_ns"].dtype) == (DATE, pl.Int64)
    assert l4strace.dated(misfire.measures).equals(misfire.measures)


def test_rules_companions_and_progress_are_the_callers(fixtures: Path):
    calls: list[tuple[int, int]] = []
    run = l4strace.open(
        fixtures / "misfire" / "misfire.pcap.xz",
        select=["L4S5"],
        ignore=["L4S502"],
        companions=False,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert {finding.rule[:4] for finding in run.analysis.findings} == {"L4S5"}
    assert "L4S502" not in {rule.code for rule in run.analysis.rules}
    assert run.kernel.is_empty()
    assert calls
    with pytest.raises(l4strace.UsageError):
        l4strace.open("no-such.pcap", select=["L4S999"])


def test_one_word_is_one_rule_or_prefix(fixtures: Path):
    sample = fixtures / "accecn-all-ce" / "sender.pcap.xz"
    one, listed = (l4strace.open(sample, select=words) for words in ("L4S4", ["L4S4"]))
    assert one.findings.equals(listed.findings)
    assert set(one.findings["rule"].str.head(4)) == {"L4S4"}
    assert l4strace.open(sample, ignore="L4S").findings.is_empty()


def test_a_list_of_files_is_not_a_file(fixtures: Path):
    files = [fixtures / "accecn-all-ce" / f"{name}.pcap.xz" for name in ("sender", "receiver")]
    with pytest.raises(l4strace.UsageError, match="not by a list") as refused:
        l4strace.open(files)  # type: ignore[arg-type]
    assert "l4strace.open(*files)" in refused.value.hint
    assert l4strace.open(*files, select="L4S0").sources.height == 2


def test_unrelated_captures_are_runs_of_their_own(fixtures: Path):
    files = [fixtures / name / "sender.pcap.xz" for name in ("accecn-bleached", "accecn-all-ce")]
    with pytest.raises(l4strace.UsageError, match="2 unrelated runs: ") as refused:
        l4strace.open(*files)
    assert "l4strace.open_all(*files)" in refused.value.hint
    for run, path in zip(l4strace.open_all(*files, select="L4S1"), files, strict=True):
        assert run.sources["path"].to_list() == [str(path)]
        assert run.verdict == l4strace.open(path, select="L4S1").verdict
        assert "The packets" not in run.page()


def test_open_all_of_one_run_is_that_run(fixtures: Path):
    folder = fixtures / "accecn-all-ce"
    (run,) = l4strace.open_all(folder / "sender.pcap.xz", folder / "receiver.pcap.xz")
    assert run.sources.height == 2


def test_nothing_to_open():
    with pytest.raises(l4strace.UsageError):
        l4strace.open()


def test_the_package_loads_nothing_heavy_and_exports_what_it_says():
    code = "import sys, l4strace; print(sum(m in sys.modules for m in ('polars', 'plotly')))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "0\n"
    assert all(hasattr(l4strace, name) for name in l4strace.__all__)
    assert l4strace.Run is Run
