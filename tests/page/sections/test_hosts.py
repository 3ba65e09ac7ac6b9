"""Hosts as the page shows them."""

from __future__ import annotations

import dataclasses

import pytest

from l4strace.derive import hosts as derive_hosts
from l4strace.page.case import Case
from l4strace.page.sections import hosts
from tests.support import synthetic


@pytest.fixture(scope="module")
def case() -> Case:
    return Case(synthetic.misfire(), synthetic.misfire_analysis())


@pytest.mark.parametrize("name", ["ecn_mark", "ecn-mark", "step-mark"])
def test_a_host_shows_its_settings_and_what_its_counters_grew_by(case: Case, name: str) -> None:
    def at(packets: int, marks: int) -> dict[str, object]:
        counters = {"packets": packets, "drops": 0, "statistics": {name: marks}}
        qdisc = {"kind": "dualpi2", "handle": "1:0", "options": {"limit": 10000}, **counters}
        return {"interfaces": {"e0": {"qdiscs": [qdisc]}}, "netstat": {"TCPDeliveredCE": marks}}

    host = {
        "path": "runs/run.host.json",
        "kernel": {"release": "6.18.44", "machine": "x86_64"},
        "sysctls": {"net.ipv4.tcp_ecn": "2", "net.ipv4.tcp_sack": "1"},
        "modules": {"tcp_prague": {"parameters": {"prague_ecn_fallback": "1"}}},
        "interfaces": {"e0": {"offloads": {"tso": True, "gro": False}}},
        "sockets": [{"sport": 1, "dport": 2, "cc": "prague", "pacing_rate_bps": 1e6}] * 8,
        "before": at(7, 3),
        "after": at(1_007, 40),
        "capture": {
            "command": "iperf3 -c server -C prague",
            "command_exit": 0,
            "packets": {"backend": "tcpdump", "packets": 98163},
        },
    }
    table = derive_hosts.table(dataclasses.replace(case.evidence, host_files=(host,)))
    section = hosts.build(Case(dataclasses.replace(case.evidence, hosts=table), case.analysis))
    (row,) = section.hosts
    assert (row.name, section.absent) == ("run.host.json", "")
    assert {fact.name: fact.value for fact in row.facts} == {
        "kernel": "Linux 6.18.44, x86_64",
        "tcp_ecn": "2 (accepts classic ECN, requests none)",
        "offloads of e0": "tso",
        "packets": "98,163 by tcpdump",
        "command": "iperf3 -c server -C prague (exit code 0)",
    }
    (qdisc,) = row.qdiscs
    assert (qdisc.kind, qdisc.packets, qdisc.drops, qdisc.marks) == ("dualpi2", "1,000", "0", "37")
    assert row.sockets[0].value.endswith("(paced at 1 Mbit/s) and 2 more")
    assert [fact.value for fact in row.modules] == ["prague_ecn_fallback 1"]
    assert [fact.name for fact in row.sysctls] == ["net.ipv4.tcp_sack"]
    assert [(fact.name, fact.value) for fact in row.counters] == [("TCPDeliveredCE", "37")]


def test_without_a_host_file_the_hosts_section_shows_how_to_get_one(case: Case) -> None:
    assert "l4strace capture writes one" in hosts.build(case).absent
