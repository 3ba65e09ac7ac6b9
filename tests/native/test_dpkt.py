"""Every field of packets that Hypothesis makes equals what dpkt reads."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import files, segments
from tests.support.wrappings import LINKS, MIRRORS, TUNNELS, ethernet, outer_v4, outer_v6

PATIENT = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def _decoded(folder: Path, content: bytes) -> list[dict[str, object]]:
    path = folder / "made.pcap"
    path.write_bytes(content)
    return files.packets(path).to_dicts()


def _assert_equal(row: dict[str, object], expected: dict[str, object]) -> None:
    assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize("link", LINKS)
@PATIENT
@given(datagrams=st.lists(segments.datagram(), min_size=1, max_size=4))
def test_fields_equal_under_every_link_layer(
    link: str, datagrams: list[bytes], tmp_path: Path
) -> None:
    link_type, wrap = LINKS[link]
    rows = _decoded(tmp_path, files.pcap([wrap(d) for d in datagrams], link_type))
    assert len(rows) == len(datagrams)
    for row, datagram in zip(rows, datagrams, strict=True):
        _assert_equal(row, segments.read(datagram) | {"tunnel": None, "outer_ecn": None})


@pytest.mark.parametrize("tunnel", TUNNELS)
@PATIENT
@given(datagram=segments.datagram(), ecn=st.integers(0, 3), version=st.sampled_from((4, 6)))
def test_fields_equal_inside_tunnels(
    tunnel: str, datagram: bytes, ecn: int, version: int, tmp_path: Path
) -> None:
    name, wrap = TUNNELS[tunnel]
    outer = (outer_v4 if version == 4 else outer_v6)(*wrap(datagram), ecn)
    (row,) = _decoded(tmp_path, files.pcap([ethernet(outer)]))
    _assert_equal(row, segments.read(datagram) | {"tunnel": name, "outer_ecn": ecn})


@pytest.mark.parametrize("mirror", MIRRORS)
@PATIENT
@given(datagram=segments.datagram(), ecn=st.integers(0, 3))
def test_fields_equal_in_copies_whose_carrier_does_not_count(
    mirror: str, datagram: bytes, ecn: int, tmp_path: Path
) -> None:
    frame = ethernet(outer_v4(*MIRRORS[mirror](datagram), ecn))
    (row,) = _decoded(tmp_path, files.pcap([frame]))
    _assert_equal(row, segments.read(datagram) | {"tunnel": None, "outer_ecn": None})


@PATIENT
@given(datagram=segments.datagram(), snaplen=st.integers(14, 140))
def test_a_short_snapshot_keeps_the_payload_length(
    datagram: bytes, snaplen: int, tmp_path: Path
) -> None:
    frame = ethernet(datagram)
    rows = _decoded(tmp_path, files.pcap([frame], snaplen=snaplen))
    expected = segments.read(datagram)
    header = len(datagram) - int(str(expected["payload_len"]))
    if snaplen >= 14 + header:
        _assert_equal(rows[0], expected)
    for row in rows:
        for name in ("payload_len", "ip_ecn", "tcp_flags", "seq_raw", "ack_raw", "window"):
            assert row[name] == expected[name]
        assert row["wire_len"] == len(frame)
