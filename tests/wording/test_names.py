"""Names of endpoints, directions and inputs."""

from l4strace.wording import names

ROW = {"client": "10.0.0.1", "client_port": 40001, "server": "2001:db8::1", "server_port": None}


def test_an_endpoint_is_an_address_with_its_port():
    assert names.endpoint("10.0.0.1", 80) == "10.0.0.1:80"
    assert names.endpoint("2001:db8::1", 80) == "[2001:db8::1]:80"
    assert names.endpoint(None, 40001) == "?:40001"
    assert names.endpoint(None, None) == "?:?"


def test_a_direction_goes_from_its_sender_to_its_receiver():
    assert names.ends(ROW) == ("10.0.0.1:40001", "[2001:db8::1]:?")
    assert names.direction_name(ROW, forward=False) == "[2001:db8::1]:? > 10.0.0.1:40001"


def test_accecn_is_written_in_tables_as_in_sentences():
    modes = {"accecn": "AccECN", "classic": "classic", None: "unknown"}
    for mode, name in modes.items():
        assert names.negotiated({"transport": "tcp", "mode": mode}) == name
    assert names.negotiated({"transport": "quic", "mode": None}) == "QUIC"


def test_file_names_keep_their_folder_only_where_they_need_it():
    assert names.short_names(["a/x.pcap", "b/x.pcap", "b/y.pcap"]) == [
        "a/x.pcap", "b/x.pcap", "y.pcap"
    ]  # fmt: skip


def test_a_transport_that_names_its_control_is_named_once():
    assert names.sender("UDP Prague", "prague") == "UDP Prague"
    assert names.sender("QUIC", "prague") == "QUIC, prague"
    assert names.sender("RTP", None) == "RTP"
