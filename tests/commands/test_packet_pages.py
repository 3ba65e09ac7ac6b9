"""`figures --packets`: a page for each flow, of the time that is asked for."""

from __future__ import annotations

from pathlib import Path

from l4strace.errors import UsageError
from l4strace.page.packet_page import SIGNATURE
from tests.support.places import FIXTURES

UDP = FIXTURES / "user-space/up1-a.pcap.xz"


def test_the_largest_flow_by_default_and_only_the_time_asked_for(call, sample: Path) -> None:
    whole = call("figures", sample, "-o", "charts", "--packets").stdout.split()
    assert whole == ["charts/packets-flow-0.html"]
    text = Path(whole[0]).read_text(encoding="utf-8")
    assert SIGNATURE in text
    part = call("figures", sample, "-o", "part", "--packets", "--from", "1", "--to", "1.5")
    assert len(Path(part.stdout.strip()).read_text(encoding="utf-8")) < len(text)
    again = call("figures", sample, "-o", "charts", "--packets", "--flow", "0")
    assert again.stdout.split() == whole


def test_a_page_of_another_stays(call, sample: Path) -> None:
    foreign = sample.parent / "packets-flow-0.html"
    foreign.write_text("<html>")
    assert isinstance(
        call("figures", sample, "-o", sample.parent, "--packets").exception, UsageError
    )
    assert foreign.read_text() == "<html>"


def test_without_a_packet_in_the_time_nothing_is_written(call, sample: Path) -> None:
    done = call("figures", sample, "-o", "charts", "--packets", "--from", "500")
    assert isinstance(done.exception, UsageError)
    assert not list(Path("charts").glob("*"))


def test_a_flow_over_udp_is_drawn_as_one_of_tcp(call) -> None:
    done = call("figures", UDP, "-o", "charts", "--packets", "--flow", "0")
    assert [Path(place).name for place in done.stdout.split()] == ["packets-flow-0.html"]
    assert "CE" in Path(done.stdout.strip()).read_text(encoding="utf-8")
