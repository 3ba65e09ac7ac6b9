"""What a host file says, however odd it is."""

from l4strace.rules.support import hosts


def test_a_file_of_the_collector():
    host = {
        "path": "runs/client.host.json",
        "sysctls": {"net.ipv4.tcp_ecn": "3", "net.ipv4.tcp_congestion_control": "cubic"},
        "sockets": [{"cc": "prague"}],
        "modules": {"tcp_prague": {"parameters": {"prague_ecn_fallback": "1"}}},
        "interfaces": {"eth0": {"offloads": {"gro": True, "tso": False}}},
        "before": {"interfaces": {"eth0": {"qdiscs": [{"kind": "fq", "drops": 3}]}}},
    }
    assert hosts.name(host) == "client.host.json"
    assert hosts.sysctl(host, "net.ipv4.tcp_ecn") == 3
    assert hosts.runs_prague(host)
    assert hosts.prague_parameter(host, "prague_ecn_fallback") == "1"
    assert list(hosts.offloads(host)) == [("eth0", ["gro"])]
    ((_, (row,)),) = hosts.qdiscs(host, "before")
    assert hosts.number(row, "drops") == 3


def test_garbage_is_nothing():
    for garbage in ({}, {"sysctls": 1, "sockets": 2, "modules": [], "interfaces": "x"}):
        assert hosts.sysctl(garbage, "net.ipv4.tcp_ecn") is None
        assert not hosts.runs_prague(garbage)
        assert list(hosts.offloads(garbage)) == []
        assert list(hosts.qdiscs({"before": {"interfaces": {"a": 1}}}, "before")) == [("a", [])]
