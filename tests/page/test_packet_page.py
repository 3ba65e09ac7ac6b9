"""The packet chart in a real browser: on its own page, and on that of a run."""

from __future__ import annotations

import re
from pathlib import Path

import axe_core_python
import polars as pl
import pytest

import l4strace
from l4strace import pipeline
from l4strace.evidence import over_udp
from l4strace.evidence_packets.stretches import MOST_ROWS
from l4strace.ingest import datagrams
from l4strace.ingest.datagrams import Span
from l4strace.model import Stretch
from l4strace.page import packet_page
from l4strace.page.packet_page import Shown
from tests.support import chromium
from tests.support.places import FIXTURES

MOST_BYTES = 1_500_000
"""What all packet charts may add to a page."""
CHART = "packetCharts[0]"


@pytest.fixture(scope="module")
def run() -> l4strace.Run:
    return l4strace.open(FIXTURES / "misfire/misfire.pcap.xz")


@pytest.fixture(scope="module")
def report(run: l4strace.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "run.html"
    path.write_text(run.page(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def alone(run: l4strace.Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    """A page of one flow's packets, and these."""
    rows = run.packets.filter(flow=1).collect()
    path = tmp_path_factory.mktemp("alone") / "packets.html"
    write(path, run, rows, forward=True)
    return path, rows


def write(path: Path, run: l4strace.Run, rows: pl.DataFrame, *, forward: bool) -> None:
    span = rows["ts_ns"].min(), rows["ts_ns"].max()
    stretch = Stretch(0, 1, forward, *span, {}, rows)
    flow = run.flows.row(by_predicate=pl.col("flow") == 1, named=True)
    path.write_bytes(packet_page.encoded(stretch, Shown("Packets", "all", span[0], flow)))


def opened(browser: chromium.Chromium, page: Path) -> None:
    browser.complaints.clear()
    browser.call("Page.navigate", url=page.resolve().as_uri())
    browser.wait_until("document.querySelector('details[data-drawn]') !== null")


def named(browser: chromium.Chromium, frame: int) -> str:
    """What the chart says of a packet that is clicked where it is drawn."""
    browser.evaluate(f"chart = {CHART}; row = chart.rows.find((r) => r.frame === {frame}); 0")
    browser.evaluate("chart.show([row.t - 2e5, row.t + 2e5]); chart.draw(); 0")
    browser.evaluate(
        "chart.choose(chart.nearest(chart.x(row.t), chart.y((row.low + row.high) / 2))); 0"
    )
    return str(browser.evaluate("document.querySelector('.says').textContent"))


def test_a_click_names_the_packet(
    browser: chromium.Chromium, alone: tuple[Path, pl.DataFrame]
) -> None:
    path, rows = alone
    opened(browser, path)
    assert browser.evaluate(f"{CHART}.rows.length") == rows.height
    data = rows.filter(pl.col("payload_len") > 0, forward=True)
    for row in (data.row(100, named=True), data.row(2000, named=True)):
        text = named(browser, row["frame"])
        assert text.startswith(f"frame {row['frame']} · ")
        assert f"seq {row['seq']:,} · to {row['seq'] + row['payload_len']:,}" in text
        assert text.endswith(f"frame.number == {row['frame']}")
    acks = rows.filter(pl.col("payload_len") == 0, forward=False)
    ack = acks.row(500, named=True)
    assert f"ack {ack['ack']:,}" in named(browser, ack["frame"])
    assert not browser.complaints


def test_the_code_of_the_handshake_is_no_mark(
    browser: chromium.Chromium, run: l4strace.Run, tmp_path: Path
) -> None:
    """No packet of the server is CE; the client's first ACK repeats how the SYN/ACK arrived."""
    rows = run.packets.filter(flow=1).collect()
    assert rows.filter(forward=False, ip_ecn=3).is_empty()
    assert rows.filter(pl.col("tcp_flags") & 2 == 0, forward=True)["ace"].n_unique() == 2
    write(page := tmp_path / "reverse.html", run, rows, forward=False)
    opened(browser, page)
    assert browser.evaluate(f"{CHART}.rows.filter((row) => row.step > 0).length") == 0


def test_keys_zoom_to_the_microsecond_and_name_the_next_packet(
    browser: chromium.Chromium, alone: tuple[Path, pl.DataFrame]
) -> None:
    opened(browser, alone[0])
    press = (
        f"key => {CHART}.canvas.dispatchEvent(new KeyboardEvent('keydown', {{key, bubbles: true}}))"
    )
    browser.evaluate(f"press = {press}; for (let i = 0; i < 40; i++) press('+'); 0")
    assert browser.evaluate(f"{CHART}.shown[1] - {CHART}.shown[0]") == pytest.approx(1000)
    before = browser.evaluate(f"{CHART}.chosen")
    browser.evaluate("press('ArrowDown'); 0")
    assert browser.evaluate(f"{CHART}.chosen") == before + 1
    browser.evaluate("press('0'); 0")
    whole = browser.evaluate(f"{CHART}.full")
    assert browser.evaluate(f"{CHART}.shown") == pytest.approx(whole)


def test_what_is_put_together_shows_all_that_pixels_can(
    browser: chromium.Chromium, alone: tuple[Path, pl.DataFrame]
) -> None:
    """Fewer rows with the same heights, marks and last acknowledgement: 40 packets a column."""
    opened(browser, alone[0])
    browser.evaluate(
        f"""whole = {CHART}.rows; few = {CHART}.detail.together(Math.ceil(whole.length / 40));
        most = (rows, value) => rows.reduce((high, row) => Math.max(high, value(row) ?? 0), 0);
        kinds = (rows) => [...new Set(rows.flatMap((row) => row.marks))].sort().join();
        size = (row) => (row.segment ? row.high - row.low : 0);
        bytes = (rows) => rows.reduce((sum, row) => sum + size(row), 0);
        0"""
    )
    assert browser.evaluate("few.length < whole.length / 5")
    last = "most(rows, (row) => row.acks && row.ack)"
    for of in ("heightOf(rows)", "kinds(rows)", "bytes(rows)", last):
        few, whole = (browser.evaluate(f"((rows) => {of})({rows})") for rows in ("few", "whole"))
        assert few == whole, of
    assert browser.evaluate("few.every((row, i) => !i || row.t >= few[i - 1].t)")


def test_a_view_takes_the_packets_themselves_where_each_has_its_pixels(
    browser: chromium.Chromium, alone: tuple[Path, pl.DataFrame]
) -> None:
    opened(browser, alone[0])
    many = (
        "new Detail(Array.from({length: 40000}, (_, t) => "
        "({t, low: t, high: t + 1, segment: true, kind: 'segment', drawn: true, marks: []})), "
        "[0, 40000])"
    )
    browser.evaluate(f"many = {many}; 0")
    assert browser.evaluate("many.of([0, 40000], 1000).length") <= 4096
    assert browser.evaluate("many.of([0, 10000], 1000).length") <= 16384
    assert browser.evaluate("many.of([0, 2000], 1000).length") == 40000


def test_one_link_of_a_finding_leads_to_its_packets(
    browser: chromium.Chromium, report: Path
) -> None:
    browser.complaints.clear()
    browser.load(report)
    assert browser.evaluate("document.querySelectorAll('.packet-chart canvas').length") == 0
    browser.evaluate("document.querySelector('a[href=\"#chart-L4S301-flow-1\"]').click()")
    browser.wait_until("document.querySelector('details[data-drawn]') !== null")
    moment = browser.evaluate(f"{CHART}.rows[{CHART}.chosen].t - {CHART}.moment")
    assert 0 <= moment < 1_000_000
    drawn = f"{CHART}.canvas.getContext('2d').getImageData(0, 0, 600, 300).data.some((v) => v)"
    assert browser.evaluate(drawn)
    assert not browser.complaints


def test_charts_that_share_a_stretch_open_both(browser: chromium.Chromium, report: Path) -> None:
    browser.load(report)
    browser.evaluate("document.querySelectorAll('details[data-stretch]').forEach(d => d.open = 1)")
    browser.wait_until(
        "[...document.querySelectorAll('details[data-stretch]')].every(d => 'drawn' in d.dataset)"
    )
    assert browser.evaluate("packetCharts.length") >= 4


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_open_chart_fits_and_axe_finds_nothing(
    browser: chromium.Chromium, report: Path, width: int, scheme: str
) -> None:
    browser.size(width)
    browser.scheme(scheme)
    browser.load(report, "#chart-L4S301-flow-1")
    browser.wait_until("document.querySelector('details[data-drawn]') !== null")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    script = Path(axe_core_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    browser.evaluate(f"{script}; 0")
    found = browser.evaluate(
        "axe.run('#chart-L4S301-flow-1').then(r => r.violations.map(v => v.id))"
    )
    assert found == []
    browser.size(1280)
    browser.scheme("light")


def test_the_charts_keep_their_budget(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    found = re.findall(r'id="stretch-\d+">([^<]*)<', text)
    assert found
    assert sum(map(len, found)) < MOST_BYTES


def datagrams_of(name: str, path: Path, *, forward: bool) -> pl.DataFrame:
    """The page of the first flow over UDP of a fixture, and its datagrams."""
    run = pipeline.read([str(FIXTURES / "user-space" / name)])
    flow = over_udp(run).row(0, named=True)
    (rows,) = datagrams.within(run, flow["source"], [Span(flow["flow"], 0, 1 << 62)], 1 << 20)
    span = rows["ts_ns"].min(), rows["ts_ns"].max()
    stretch = Stretch(flow["source"], flow["flow"], forward, *span, {}, rows)
    path.write_bytes(packet_page.encoded(stretch, Shown("Datagrams", "all", span[0], flow)))
    return rows


COUNT = f"((test) => {CHART}.rows.filter(test).length)"


def test_datagrams_without_numbers_stand_in_their_order(
    browser: chromium.Chromium, tmp_path: Path
) -> None:
    """QUIC as its receiver got it: segments by codepoint, CE marked, what returns beside it."""
    rows = datagrams_of("pq1-b.pcap.xz", path := tmp_path / "quic.html", forward=False)
    opened(browser, path)
    out = rows.filter(forward=False)
    assert browser.evaluate(f"{COUNT}((row) => row.segment)") == out.height
    marked = out.filter(ip_ecn=3).height
    assert marked > 0
    assert browser.evaluate(f"{COUNT}((row) => row.marks.includes('ce'))") == marked
    assert browser.evaluate(f"{COUNT}((row) => row.back)") == rows.height - out.height
    row = out.row(out.height // 2, named=True)
    assert f"packet {row['order'] + 1:,} of those drawn" in named(browser, row["frame"])
    assert browser.complaints == []


def test_datagrams_stand_at_their_numbers_beside_what_is_reported_of_them(
    browser: chromium.Chromium, tmp_path: Path
) -> None:
    """UDP Prague at its sender: numbers, and the line of what is reported."""
    rows = datagrams_of("up1-a.pcap.xz", path := tmp_path / "prague.html", forward=True)
    opened(browser, path)
    acks = rows.filter(forward=False)
    assert browser.evaluate(f"{COUNT}((row) => row.acks)") == acks.height
    data = rows.filter(forward=True).row(100, named=True)
    assert f"packet number {data['number']:,}" in named(browser, data["frame"])
    ack = acks.row(20, named=True)
    assert f"reports up to {ack['reported']:,}" in named(browser, ack["frame"])
    assert browser.complaints == []


def test_findings_over_udp_have_their_stretch(browser: chromium.Chromium, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    run = l4strace.open(*(FIXTURES / f"user-space/pq1-{end}.pcap.xz" for end in "ab"))
    path.write_text(run.page(), encoding="utf-8")
    browser.complaints.clear()
    browser.load(path)
    browser.evaluate("document.querySelector('a[href^=\"#chart-L4S\"]').click()")
    browser.wait_until("document.querySelector('details[data-drawn]') !== null")
    assert 0 < browser.evaluate(f"{CHART}.rows.length") <= MOST_ROWS
    frame = browser.evaluate(f"{CHART}.rows[{CHART}.chosen].frame")
    assert f"frame {frame} ·" in browser.evaluate("document.querySelector('.says').textContent")
    assert not browser.complaints
