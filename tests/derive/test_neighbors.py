"""Which directions share a path."""

from __future__ import annotations

import polars as pl
import pytest

from l4strace.derive import neighbors
from tests.support.frames import capture, frame


@pytest.mark.parametrize(
    ("client", "server", "path"),
    [
        ("10.0.1.2", "10.0.3.2", "10.0.1.0/24>10.0.3.0/24"),
        ("2001:db8:1:2::5", "2001:db8:9:9::1", "2001:db8:1:2::/64>2001:db8:9:9::/64"),
        ("fd00::1", "fd00::1:2", "fd00::/64>fd00::/64"),
        ("::ffff:10.0.1.2", "fe80::1%eth0", "10.0.1.0/24>fe80::/64"),
        ("host-1", "10.0.3.2", "host-1>10.0.3.0/24"),
    ],
)
def test_path_joins_the_two_networks(client: str, server: str, path: str) -> None:
    flows = frame("flows", client=client, server=server)
    made = capture(flows=flows, directions=frame("directions", forward=[True, False]))
    forward, reverse = neighbors.directions(made)["path"].to_list()
    assert forward == path
    assert reverse == ">".join(reversed(path.split(">")))


def test_two_addresses_of_one_ipv6_network_share_a_path() -> None:
    """By text, fd00::1 and fd00::1:2 differ before the fourth colon."""
    flows = frame("flows", flow=[0, 1], client=["fd00::1", "fd00::1:2"], server="fd00:1::9")
    made = capture(flows=flows, directions=frame("directions", flow=[0, 1]))
    assert neighbors.directions(made)["path"].n_unique() == 1


def test_codepoint_of_most_data_names_the_class() -> None:
    directions = frame(
        "directions",
        flow=[0, 1, 2],
        data_ect1=[9, 0, 0],
        data_ect0=[1, 9, 0],
        data_not_ect=[0, 1, 9],
    )
    table = neighbors.directions(
        capture(flows=frame("flows", flow=[0, 1, 2]), directions=directions)
    )
    assert table["marked_as"].to_list() == ["ect1", "ect0", "not_ect"]


def test_what_many_ask_for_is_made_once() -> None:
    made = capture(flows=frame("flows"), directions=frame("directions"))
    assert neighbors.directions(made) is neighbors.directions(made)


def test_networks_are_those_of_the_parsed_addresses() -> None:
    odd = ["?", "", "host-1", "fe80::1%eth0", "64:ff9b::192.0.2.1", "2001:db8::1::2", "a\0b"]
    zeros = ["::", "::1", "::1.2.3.4", "::ffff:0:1.2.3.4", "1::2", "0:0:1:2:3::", "1:0:0:0:1::2"]
    mapped = ["fd00::1", "::ffff:10.0.1.9", "2001:db8:0:ff::1", "2001:0db8:0:0:a::1"]
    addresses = pl.Series(["10.0.1.2", "192.168.255.254", None, *odd, *zeros, *mapped])
    near, far = neighbors._networks(
        pl.DataFrame({"client": addresses, "server": addresses.reverse()})
    )
    assert near.to_list() == [a if a is None else neighbors.network(a) for a in addresses]
    assert far.to_list() == near.to_list()[::-1]
