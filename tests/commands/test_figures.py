"""`figures`: files that open, and nothing of others replaced."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from l4strace.errors import OutputError, UsageError


def test_every_chart_is_a_file_that_later_runs_replace(call, sample: Path) -> None:
    first = call("figures", sample, "-o", "charts")
    written = [Path(name) for name in first.stdout.split()]
    assert {path.name for path in written} >= {"traffic-throughput.svg", "goodput-flow-0.svg"}
    for path in written:
        assert ElementTree.parse(path).getroot().tag.endswith("}svg")  # noqa: S314 - our own
    assert set(written) == set(Path("charts").iterdir())
    assert call("figures", sample, "-o", "charts").stdout == first.stdout


def test_flows_and_times_are_chosen(call, sample: Path) -> None:
    written = call("figures", sample, "-o", "charts", "--port", "1").stdout.split()
    assert written == []


def test_a_file_of_another_stays(call, sample: Path) -> None:
    foreign = sample.parent / "traffic-throughput.svg"
    foreign.write_text("<svg/>")
    assert isinstance(call("figures", sample, "-o", sample.parent).exception, UsageError)
    assert foreign.read_text() == "<svg/>"
    assert list(sample.parent.glob("*.svg")) == [foreign]


def test_a_file_is_no_folder(call, sample: Path) -> None:
    assert isinstance(call("figures", sample, "-o", sample).exception, OutputError)


def test_unrelated_runs_have_a_folder_each(call, two: tuple[str, str]) -> None:
    written = [Path(name) for name in call("figures", *two, "-o", "charts").stdout.split()]
    alone = [call("figures", path, "-o", f"one{n}").stdout.split() for n, path in enumerate(two)]
    for folder, own in zip(("1-mon", "2-tue"), alone, strict=True):
        names = {path.name for path in written if path.parent == Path("charts") / folder}
        assert "traffic-throughput.svg" in names
        assert len(names) == len(own)
    assert len(written) == sum(map(len, alone))
