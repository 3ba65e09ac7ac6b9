"""Addresses that leave the house."""

from ipaddress import ip_address

from hypothesis import given
from hypothesis import strategies as st

from l4strace.anonymize import anonymized, in_text, mapping
from tests.support.frames import capture, frame

KEY = b"k" * 32


def common_prefix(one: int, other: int, bits: int) -> int:
    return bits - (one ^ other).bit_length()


@given(st.ip_addresses(v=4), st.ip_addresses(v=4))
def test_common_prefixes_stay_as_long_as_they_were(one, other):
    mapped = mapping(KEY)
    before = common_prefix(int(one), int(other), 32)
    after = [int(ip_address(mapped(str(address)))) for address in (one, other)]
    assert common_prefix(*after, 32) == before


def test_ipv6_stays_ipv6_and_text_around_stays():
    mapped = mapping(KEY)
    assert ip_address(mapped("2001:db8::1")).version == 6
    text = in_text("10.0.0.1:80 > 2001:db8::1 at 12:30", mapped)
    assert "10.0.0.1" not in text
    assert "2001:db8::1" not in text
    assert text.endswith(" at 12:30")


def test_no_trace_of_addresses_folders_or_comments():
    run = capture(
        sources=frame("sources", path="/home/ann/secret/run.pcap", comment="of ann at 10.0.1.2"),
        flows=frame("flows"),
        kernel=frame("kernel", sk="10.0.1.2:40001 10.0.3.2:5201", extra='{"daddr": "10.0.3.2"}'),
        stats=frame("stats", detail="First at 10.0.1.2."),
        host_files=({"path": "/home/ann/run.host.json", "routes": ["10.0.3.2", 7]},),
    )
    hidden = anonymized(run)
    shown = f"{hidden.sources.to_dicts()}{hidden.flows.to_dicts()}{hidden.kernel.to_dicts()}"
    shown += f"{hidden.stats.to_dicts()}{hidden.host_files}"
    for secret in ("10.0.1.2", "10.0.3.2", "ann", "secret"):
        assert secret not in shown
    assert hidden.sources["path"].to_list() == ["run.pcap"]
    assert hidden.flows["client"].item() in hidden.kernel["sk"].item()
    assert hidden.flows.schema == run.flows.schema
