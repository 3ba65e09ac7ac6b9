"""Inputs behind public bug reports: the terminal shows the right answer of each.

Those that the repository holds, too, are in `tests/test_reports.py`, those over UDP in
`test_over_udp.py`.
"""

from pathlib import Path

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.errors import InputError
from l4strace.evidence import Evidence
from l4strace.model import Analysis, Severity
from l4strace.output import text

PRAGUE = "0    10.0.0.1:40001 10.0.1.1:5201 AccECN ECT(1)"
LOG = "No packets, and the log shows no fault"


def judged(path: Path) -> tuple[Evidence, Analysis]:
    evidence = pipeline.derive(pipeline.read([str(path)], companions=False), strict=True)
    return evidence, pipeline.judge(evidence, strict=True)


def terminal(path: Path) -> str:
    return text.render(*judged(path), width=1000)


def weighty(analysis: Analysis) -> dict[str, Severity]:
    """Findings from NOTICE on."""
    return {one.rule: one.severity for one in analysis.findings if one.severity >= Severity.NOTICE}


CAPTURES = {
    "cubic-with-ect1.pcap.xz": (
        {"L4S308": Severity.WARNING},
        "Prague's fallback misfired, or the sender is not Prague (CUBIC reduces so)",
    ),
    "cut-with-original-length-lost.pcap": (
        {"L4S102": Severity.ERROR, "L4S007": Severity.NOTICE},
        "808 data packets carry ECT(1) although the handshake negotiated classic ECN",
    ),
    "idle-browser.pcap": ({"L4S003": Severity.NOTICE}, "L4S:        No: none of 2 flows"),
    **{
        f"link-{name}.pcap.xz": ({"L4S007": Severity.NOTICE} if cut else {}, PRAGUE)
        for name, cut in (
            ("erspan1", True),
            ("erspan3", True),
            ("tzsp", True),
            ("pktap", False),
            ("radiotap", False),
        )
    },
    "nat-twice.pcap.xz": ({}, "Sharing:    Flow 0 is the only flow with data"),
}
"""Findings from NOTICE on, and what stands in the terminal."""


@pytest.mark.parametrize("name", CAPTURES)
def test_a_capture_gets_its_answer(shared_data: Path, name: str) -> None:
    found, words = CAPTURES[name]
    evidence, analysis = judged(shared_data / "reports" / name)
    assert weighty(analysis) == found
    assert words in text.render(evidence, analysis, width=1000)


LOGS = {
    "bpftrace-plain-fields.txt": (
        "10.0.0.1:40001 10.0.0.2:5201",
        {"snd_cwnd": (10, 60), "srtt_us": (2750, 4000)},
    ),
    "siftr.log": (
        "10.0.0.1:40001 10.0.0.2:5201",
        {"snd_cwnd": (10, 60), "srtt_us": (22_000, 32_000)},
    ),
    "trace-cmd-failed-to-parse.trace.txt": (
        "10.0.0.1:40001 10.0.0.2:5201",
        {"snd_cwnd": (10, 60), "srtt_us": (22_000, 32_000)},
    ),
    "ss-date-style.ss.txt": ("10.77.0.1:34684 10.77.0.2:5201", {"min_rtt_us": (13, 25)}),
    "ss-flent-style.ss.txt": ("10.77.0.1:34684 10.77.0.2:5201", {"min_rtt_us": (21, 25)}),
    "ss-dctcp-alpha.ss.txt": (
        "10.0.0.1:40001 10.0.0.2:5201 dctcp",
        {"alpha": (300 / 1024, 680 / 1024), "delivered_ce": (0, 393)},
    ),
}
"""A flow as the terminal shows it, and the least and the most of what the file holds."""


@pytest.mark.parametrize("name", LOGS)
def test_a_log_alone_shows_its_numbers(shared_data: Path, name: str) -> None:
    flow, bounds = LOGS[name]
    evidence, analysis = judged(shared_data / "reports" / name)
    shown = text.render(evidence, analysis, width=1000)
    assert weighty(analysis) == {}
    assert shown.startswith(LOG)
    assert flow in shown
    for column, values in bounds.items():
        numbers = evidence.kernel[column].cast(pl.Float64)
        assert (numbers.min(), numbers.max()) == values


def test_prague_that_runs_as_reno_is_the_verdict(shared_data: Path) -> None:
    path = shared_data / "reports" / "ss-prague-reno-fallback.ss.txt"
    shown = terminal(path)
    assert shown.startswith("Prague runs as Reno: AccECN was not negotiated\n")
    assert "Set net.ipv4.tcp_ecn=3 on both hosts" in shown


def test_polls_without_a_time_are_refused_with_the_command_that_adds_it(shared_data: Path) -> None:
    with pytest.raises(InputError, match=r"ss without a time; record it with: .*date \+%s\.%N"):
        pipeline.read([str(shared_data / "reports" / "ss-none-style.ss.txt")])


def test_polls_of_a_qdisc_show_its_drops_and_its_backlog(shared_data: Path) -> None:
    shown = terminal(shared_data / "reports" / "tc-stats-loop.txt")
    assert "Qdisc tbf 8002: 7,871 of 14,657 packets dropped (54 %); backlog of 15.8 ms" in shown
