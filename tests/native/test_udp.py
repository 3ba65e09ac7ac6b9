"""UDP is counted as dpkt counts it, to the packet."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import dpkt
import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from l4strace import pipeline
from l4strace.core import _native
from tests.support import files
from tests.support.places import FIXTURES
from tests.support.wrappings import ethernet

ENOUGH = 8
CODEPOINTS = ("not_ect", "ect1", "ect0", "ce")


def datagram(version: int, ports: tuple[int, int], ecn: int, payload: bytes) -> bytes:
    """UDP between two hosts in an IP packet."""
    udp = dpkt.udp.UDP(sport=ports[0], dport=ports[1], data=payload)
    udp.ulen = len(udp)
    size = 4 if version == 4 else 16
    hosts = {"src": bytes(size - 1) + b"\x01", "dst": bytes(size - 1) + b"\x02"}
    if version == 4:
        return bytes(dpkt.ip.IP(**hosts, p=17, tos=ecn, data=udp, len=20 + len(udp)))
    ip6 = dpkt.ip6.IP6(**hosts, nxt=17, data=udp, plen=len(udp))
    ip6.fc = ecn
    return bytes(ip6)


def read(frame: bytes) -> tuple[object, bool, int, int]:
    """Flow, whether its lower port is asked, codepoint and payload, as dpkt reads them."""
    ip = dpkt.ethernet.Ethernet(frame).data
    udp, tos = ip.data, ip.tos if isinstance(ip, dpkt.ip.IP) else ip.fc
    ends = (ip.src, udp.sport), (ip.dst, udp.dport)
    return frozenset(ends), udp.dport < udp.sport, tos & 3, len(udp.data)


PACKETS = st.lists(
    st.builds(
        datagram,
        st.sampled_from((4, 6)),
        st.sampled_from(((1000, 2000), (2000, 1000), (1001, 2000), (2000, 1001))),
        st.integers(0, 3),
        st.binary(max_size=40),
    ),
    max_size=120,
)


def counted(frames: list[bytes]) -> Iterator[tuple[object, bool, Counter[str]]]:
    """Directions of the flows that are long enough."""
    flows: dict[object, dict[bool, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for frame in frames:
        flow, forward, ecn, size = read(frame)
        flows[flow][forward].update({CODEPOINTS[ecn]: 1, "packets": 1, "payload_bytes": size})
    for flow, ways in flows.items():
        if sum(way["packets"] for way in ways.values()) >= ENOUGH:
            yield from ((flow, forward, way) for forward, way in ways.items())


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(packets=PACKETS)
def test_random_datagrams_are_counted_as_dpkt_counts_them(
    packets: list[bytes], tmp_path: Path
) -> None:
    frames = [ethernet(packet) for packet in packets]
    path = tmp_path / "made.pcap"
    path.write_bytes(files.pcap(frames))
    tables = _native.track([str(path)])
    rows = pl.DataFrame(tables["udp_directions"])
    columns = ("packets", "payload_bytes", *CODEPOINTS)
    found = sorted(rows.select("forward", *columns).iter_rows())
    expected = [(forward, *(way[name] for name in columns)) for _, forward, way in counted(frames)]
    assert found == sorted(expected)
    stats = dict(pl.DataFrame(tables["stats"]).select("name", "count").iter_rows())
    assert stats.get("udp_short", 0) == len(frames) - rows["packets"].sum()
    assert pl.DataFrame(tables["sources"])["udp_packets"].item() == len(frames)


def test_a_snapshot_or_a_fragment_changes_no_count(tmp_path: Path) -> None:
    frame = ethernet(datagram(4, (2000, 1000), 1, bytes(1200)))
    fragment = bytearray(frame)
    fragment[20] |= 0x20
    path = tmp_path / "cut.pcap"
    path.write_bytes(files.pcap([frame] * 6 + [bytes(fragment)] * 2, snaplen=60))
    (row,) = pl.DataFrame(_native.track([str(path)])["udp_directions"]).to_dicts()
    assert (row["ect1"], row["payload_bytes"], row["super_packets"]) == (8, 8 * 1200, 0)


def test_a_super_packet_is_one_packet_that_is_named(tmp_path: Path) -> None:
    frames = [ethernet(datagram(4, (2000, 1000), 1, bytes(size))) for size in (1472, 1473)] * 4
    path = tmp_path / "long.pcap"
    path.write_bytes(files.pcap(frames))
    (row,) = pl.DataFrame(_native.track([str(path)])["udp_directions"]).to_dicts()
    assert (row["packets"], row["super_packets"], row["max_payload"]) == (8, 4, 1473)


def test_what_a_tunnel_carries_is_the_flow(tmp_path: Path) -> None:
    inner = ethernet(datagram(6, (2000, 1000), 3, b"inside"))
    frame = ethernet(datagram(4, (9, 4789), 1, b"\x08\0\0\0\0\0\x07\0" + inner))
    path = tmp_path / "vxlan.pcap"
    path.write_bytes(files.pcap([frame] * 9))
    tables = _native.track([str(path)])
    (flow,) = pl.DataFrame(tables["udp_flows"]).to_dicts()
    (row,) = pl.DataFrame(tables["udp_directions"]).to_dicts()
    assert (flow["tunnel"], flow["network"], flow["server_port"]) == ("vxlan", "vni 7", 1000)
    assert (row["ce"], row["outer_inner_differ"], row["outer_ce"]) == (9, 9, 0)


def test_round_trips_have_the_numbers_of_their_rounds() -> None:
    """Table `udp_round_trips` adds what only UDP has; `rounds` has the rows as well."""
    run = pipeline.read([str(FIXTURES / "user-space" / "up1-a.pcap.xz")])
    # Of `rounds` it is estimated later.
    trips = run.udp_round_trips.drop("queue_delay_us")
    shared = [name for name in trips.columns if name in run.rounds.columns]
    assert {"sent_packets", "rtt_max_us", "marked_rtt_min_us", "alpha"} <= set(shared)
    assert trips.height > 50
    assert_frame_equal(trips.select(shared), run.rounds.select(shared), check_row_order=False)
