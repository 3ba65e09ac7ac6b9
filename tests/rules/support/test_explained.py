"""Facts of the host files stand in the findings that they explain."""

from dataclasses import replace

from l4strace import rules
from l4strace.model import Confidence, Finding, Measure, Severity
from l4strace.rules.support.explained import EXPLAINS, MAX_FACTS, explained

HOST = {
    "path": "runs/run.host.json",
    "kernel": {"release": "6.18.44"},
    "sysctls": {"net.ipv4.tcp_ecn": "2"},
    "modules": {
        "tcp_prague": {"parameters": {"prague_ecn_fallback": "1"}, "srcversion": "0F75644C"}
    },
    "interfaces": {"e0": {"offloads": {"tso": True, "gro": False, "rx_checksum": True}}},
}
OWN = Measure("ACE of the SYN", "111")
REFUSED = Finding(Severity.NOTICE, Confidence.HIGH, "Refused.", rule="L4S101", measures=(OWN,))


def facts(finding: Finding, *hosts: dict[str, object]) -> list[tuple[str, object]]:
    return [(measure.name, measure.value) for measure in explained(finding, hosts).measures]


def test_the_setting_follows_the_numbers_of_the_rule() -> None:
    assert facts(REFUSED, HOST) == [
        ("ACE of the SYN", "111"),
        ("net.ipv4.tcp_ecn (host file)", "2"),
    ]


def test_the_fallback_is_explained_by_module_and_kernel() -> None:
    misfire = replace(REFUSED, rule="L4S301", measures=())
    assert facts(misfire, HOST) == [
        ("kernel (host file)", "Linux 6.18.44"),
        ("prague_ecn_fallback (host file)", "1"),
        ("srcversion of tcp_prague (host file)", "0F75644C"),
    ]


def test_only_offloads_that_merge_packets_are_named() -> None:
    merged = replace(REFUSED, rule="L4S003", measures=())
    assert facts(merged, HOST) == [("segmentation offloads of e0 (host file)", "TSO")]


def test_two_hosts_are_named_and_bounded() -> None:
    hosts = [{**HOST, "path": f"runs/{name}.host.json"} for name in "abcdef"]
    assert facts(replace(REFUSED, measures=()), *hosts)[0][0] == "net.ipv4.tcp_ecn (a.host.json)"
    assert len(facts(replace(REFUSED, measures=()), *hosts)) == MAX_FACTS


def test_information_strange_files_and_other_rules_stay_as_they_are() -> None:
    assert explained(replace(REFUSED, severity=Severity.INFO), [HOST]).measures == (OWN,)
    assert explained(REFUSED, []) == REFUSED
    assert explained(REFUSED, [{"path": "x", "sysctls": 3, "modules": []}]) == REFUSED
    assert explained(replace(REFUSED, rule="L4S401"), [HOST]).measures == (OWN,)


def test_every_entry_names_a_rule() -> None:
    codes = [rule.code for rule in rules.RULES]
    assert [code for code in EXPLAINS if not any(c.startswith(code) for c in codes)] == []
