"""`diagnose`: streams, formats, exit codes, and what it writes where."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from l4strace.commands.answer import Expect
from l4strace.core import _native
from l4strace.errors import InputError, OutputError, UsageError
from l4strace.wording.expectations import EXPECTATIONS

GENERATOR = '<meta name="generator" content="l4strace'


def headline(text: str) -> str:
    """The verdict of a summary as one line: what stands between its headline and its remedy."""
    verdict, status = text.split("\n\n")[:2]
    assert status.startswith("L4S: ")
    return " ".join(" ".join(verdict.splitlines()[1:]).split()).partition(" Do: ")[0]


@pytest.fixture
def sentence(call, sample: Path) -> str:
    """The verdict on the sample, as JSON has it."""
    verdict = json.loads(call("diagnose", sample, "--json").stdout)["verdict"]
    assert verdict["rule"] == "L4S104"
    return verdict["sentence"]


def test_summary_on_stdout_page_beside_the_input_and_exit_1_for_errors(
    call, sample: Path, sentence: str
):
    result = call("diagnose", sample)
    assert result.exit_code == 1
    assert headline(result.stdout) == sentence
    assert f"wrote {sample.parent / 'run.html'}" in result.stderr
    assert GENERATOR in (sample.parent / "run.html").read_text()


@pytest.mark.parametrize(
    ("run", "worst", "fails_on"),
    [
        ("accecn-bleached/sender.pcap.xz", "error", {"error", "warning", "notice", "info"}),
        ("accecn-unmarked/sender.pcap.xz", "warning", {"warning", "notice", "info"}),
        ("healthy/healthy.pcap.xz", "info", {"info"}),
    ],
)
def test_fail_on_decides_the_exit_code(
    call, fixtures: Path, run: str, worst: str, fails_on: set[str]
):
    for severity in ("error", "warning", "notice", "info", "never"):
        asked = ("diagnose", fixtures / run, "--no-html", "--json", "--fail-on", severity)
        result = call(*asked)
        assert json.loads(result.stdout)["findings"][0]["severity"] == worst
        assert result.exit_code == int(severity in fails_on), severity


def test_json_is_all_of_stdout_and_writes_no_page(call, sample: Path):
    result = call("diagnose", sample, "--json")
    document = json.loads(result.stdout)
    assert document["verdict"]["rule"] == "L4S104"
    assert document["flows"][0]["mode"] == "accecn"
    assert list(sample.parent.glob("*.html")) == []


def test_sarif_never_fails(call, sample: Path):
    result = call("diagnose", sample, "--format", "sarif")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["version"] == "2.1.0"


@pytest.mark.parametrize("name", ["markdown", "junit"])
def test_other_formats(call, sample: Path, name: str):
    assert "L4S104" in call("diagnose", sample, "--format", name).stdout


def test_select_and_ignore(call, sample: Path):
    chosen = json.loads(call("diagnose", sample, "--json", "--select", "L4S1").stdout)
    assert {f["rule"][:4] for f in chosen["findings"]} == {"L4S1"}
    rest = json.loads(call("diagnose", sample, "--json", "--ignore", "ecn-bleached,L4S4").stdout)
    assert not {"L4S104", "L4S401"} & {f["rule"] for f in rest["findings"]}
    assert isinstance(call("diagnose", sample, "--select", "L4S999").exception, UsageError)


def test_its_own_page_is_overwritten_and_nothing_else(call, sample: Path):
    page = sample.parent / "run.html"
    call("diagnose", sample)
    assert call("diagnose", sample).exit_code == 1
    page.write_text("my notes")
    refused = call("diagnose", sample)
    assert isinstance(refused.exception, UsageError)
    assert "did not write it" in str(refused.exception)
    assert page.read_text() == "my notes"
    assert call("diagnose", sample, "--force").exit_code == 1
    assert GENERATOR in page.read_text()


def test_a_bad_place_fails_before_the_work(call, sample: Path):
    result = call("diagnose", sample, "-o", "no/such/folder/x.html")
    assert isinstance(result.exception, OutputError)
    assert result.stdout == ""


def without_page(sample: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What `diagnose -` prints where the page would go into ``folder``."""
    command = [sys.executable, "-I", "-m", "l4strace", "diagnose", "-", *words]
    script = 'cd "$0" && { [ "$0" = /proc ] || rmdir "$0"; } && exec "$@"'
    with sample.open("rb") as capture:
        return subprocess.run(
            ["/bin/sh", "-c", script, str(folder), *command],
            stdin=capture,
            capture_output=True,
            text=True,
        )


@pytest.mark.parametrize("place", ["gone", "/proc"])
def test_a_folder_that_takes_no_page_costs_no_verdict(sample: Path, sentence: str, place: str):
    """Root may write anywhere but into a folder that is gone, and nobody into /proc."""
    folder = sample.parent / place
    folder.mkdir(exist_ok=True)
    result = without_page(sample, folder)
    assert headline(result.stdout) == sentence
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("no page: stdin.html: ")
    named = without_page(sample, Path("/proc"), "-o", "run.html")
    assert named.returncode == 3
    assert named.stderr.startswith("error: run.html: ")


def test_a_missing_file_is_the_only_line_where_no_page_has_a_place():
    command = [sys.executable, "-I", "-m", "l4strace", "diagnose", "no-such.pcap"]
    result = subprocess.run(command, cwd="/proc", capture_output=True, text=True)
    assert result.returncode == 3
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: no-such.pcap: ")


def test_the_page_on_stdout_moves_the_summary_to_stderr(call, sample: Path, sentence: str):
    result = call("diagnose", sample, "-o", "-")
    assert result.stdout.startswith("<!doctype html>")
    assert headline(result.stderr) == sentence
    assert list(sample.parent.glob("*.html")) == []


def test_quiet_prints_results_only(call, sample: Path):
    result = call("diagnose", sample, "-q")
    assert result.stderr == ""
    assert "L4S104" in result.stdout


def test_verbose_times_the_stages(call, sample: Path):
    assert "derive: " in call("diagnose", sample, "--no-html", "-v").stderr


def test_timings_account_for_every_second(call, sample: Path):
    shown = call("diagnose", sample, "--timings").stderr
    rows = re.findall(r"^(\S[\w -]*?)(?: +[\d.]+ s)? +([\d.]+) s$", shown, re.MULTILINE)
    cpu = {name: float(seconds) for name, seconds in rows}
    assert {"import", "read", "derive", "judge", "summary", "page", "in all"} <= cpu.keys()
    total = cpu.pop("in all")
    assert sum(cpu.values()) == pytest.approx(total, abs=0.01)
    assert re.search(r"^  L4S\d{3} ", shown, re.MULTILINE)


def test_logs_beside_a_capture_are_found(call, fixtures: Path, tmp_path: Path):
    shutil.copytree(fixtures / "misfire", tmp_path, dirs_exist_ok=True)
    result = call("diagnose", "misfire.pcap.xz", "--no-html")
    assert "error L4S301 " in result.stdout
    assert "misfire.trace.txt.zst" in result.stdout


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"hello\n" * 50, b"\x1f\x8b broken"])
def test_what_is_no_capture_is_one_line(call, tmp_path: Path, content: bytes):
    odd = tmp_path / "<script>.pcap"
    odd.write_bytes(content)
    result = call("diagnose", odd)
    assert isinstance(result.exception, InputError)
    assert "\n" not in str(result.exception)
    assert str(odd) in str(result.exception)
    # "error: empty.pcap: is empty" is no sentence.
    assert ": is " not in str(result.exception)


def test_a_host_file_alone_is_judged(call, fixtures: Path, tmp_path: Path):
    """It is no source: a run without one has a page, too."""
    shutil.copy(fixtures / "dctcp" / "dctcp.host.json", tmp_path / "run.host.json")
    result = call("diagnose", "run.host.json", "-o", "run.html")
    assert result.exit_code == 0
    assert GENERATOR in (tmp_path / "run.html").read_text()


def test_a_folder_is_one_line(call, tmp_path: Path):
    assert "a folder, not a file" in str(call("diagnose", tmp_path).exception)


def test_a_cut_capture_is_analyzed_and_reported(call, sample: Path, sentence: str):
    import lzma

    cut = sample.with_name("cut.pcap")
    cut.write_bytes(lzma.decompress(sample.read_bytes())[:-50])
    result = call("diagnose", cut, "--no-html")
    assert "L4S001" in result.stdout
    assert headline(result.stdout) == sentence


def test_standard_input(call, sample: Path, monkeypatch: pytest.MonkeyPatch):
    import subprocess

    with sample.open("rb") as file:
        run = subprocess.run(
            [sys.executable, "-m", "l4strace", "diagnose", "-", "--json"],
            stdin=file, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
    assert json.loads(run.stdout)["verdict"]["rule"] == "L4S104"
    assert run.returncode == 1


def test_a_log_that_names_no_address_still_shows_the_misfire(call, fixtures: Path, tmp_path: Path):
    # Kprobes of Prague's functions print ports alone; tcp_probe would name the addresses.
    whole = b"".join(_native.read_text(str(fixtures / "misfire" / "misfire.trace.txt.zst")))
    kept = [line for line in whole.splitlines(keepends=True) if b" tcp_probe: " not in line]
    log = tmp_path / "trace.txt"
    log.write_bytes(b"".join(kept))
    result = call("diagnose", log)
    assert "error L4S301 " in result.stdout
    assert "?:40001 > ?:5201" in result.stdout
    assert result.exit_code == 1
    assert "?:40001 > ?:5201" in call("diagnose", log, "--format", "sarif").stdout


def test_a_page_without_addresses_carries_no_packets_to_download(call, sample: Path):
    marker = "data:application/octet-stream"
    assert marker in call("diagnose", sample, "-o", "-").stdout
    hidden = call("diagnose", sample, "--anonymize", "-o", "-").stdout
    assert marker not in hidden
    assert 'id="packets-' in hidden


def test_what_is_expected_and_not_so_is_the_headline_and_exit_code_1(call, fixtures: Path) -> None:
    healthy = fixtures / "healthy/healthy.pcap.xz"
    met = call("diagnose", healthy, "--no-html", "--expect", "l4s", "--expect", "no-misfire")
    assert met.exit_code == 0
    ect0 = fixtures / "accecn-ect0/sender.pcap.xz"
    asked = ("diagnose", ect0, "--no-html", "--fail-on", "never", "--expect", "accecn")
    assert call(*asked).exit_code == 0
    result = call(*asked, "--expect", "ect1")
    assert result.exit_code == 1
    assert headline(result.stdout).startswith("Expected ect1, which is not so.")
    document = json.loads(call(*asked, "--expect", "ect1", "--json").stdout)
    assert [one["expectation"] for one in document["unmet"]] == ["ect1"]


def test_every_expectation_has_an_option() -> None:
    assert tuple(one.value for one in Expect) == EXPECTATIONS
