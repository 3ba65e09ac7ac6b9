"""Filters that Wireshark takes."""

from l4strace.wording.display_filters import flow_filter, frames_filter


def test_frames():
    assert frames_filter((3, 9)) == "frame.number in {3, 9}"
    assert frames_filter(()) == ""


def test_a_flow_by_what_is_known_of_it():
    row = {"client": "fd00::1", "client_port": 5, "server": None, "server_port": 6}
    for transport, protocol in ((None, "tcp"), ("tcp", "tcp"), ("quic", "udp"), ("udp", "udp")):
        assert flow_filter({**row, "transport": transport}) == (
            f"ipv6.addr == fd00::1 && {protocol}.port == 5 && {protocol}.port == 6"
        )
