"""CE in packets over UDP as they leave."""

import lzma
import struct
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.evidence import Evidence
from l4strace.rules.l4s212_ce_at_the_sender import RULE
from tests.support.ends import CLIENT, findings, recorded
from tests.support.places import FIXTURES


def probing(folder: Path, every: int, ends: str = "ab") -> Evidence:
    """The recorded QUIC run; at ``ends``, each so many packets of the data's sender have CE."""
    captures = []
    for end in "ab":
        packed = (FIXTURES / "user-space" / f"qg1-{end}.pcap.xz").read_bytes()
        data = bytearray(lzma.decompress(packed))
        at, sent = 24, 0
        while at < len(data):
            (held,) = struct.unpack_from("<I", data, at + 8)
            if data[at + 28 : at + 32] == CLIENT and end in ends:
                sent += 1
                data[at + 17] |= 3 * (sent % every == 0)
            at += 16 + held
        (capture := folder / f"run-{end}.pcap").write_bytes(data)
        captures.append(str(capture))
    return pipeline.derive(pipeline.read(captures, companions=False), strict=True)


@pytest.mark.parametrize(
    ("every", "cause"), [(110, "The stack probes"), (20, "The stack probes"), (4, "are no probe")]
)
def test_fires_on_ce_that_leaves_the_sender(tmp_path: Path, every: int, cause: str):
    (found,) = findings(RULE, probing(tmp_path, every))
    assert cause in found.message
    assert found.frames[0] > 0


def test_silent_on_marks_of_the_path(tmp_path: Path):
    assert findings(RULE, probing(tmp_path, 4, "b")) == []
    assert findings(RULE, recorded("pq1")) == []


def test_silent_on_what_may_be_a_tunnel(tmp_path: Path):
    """It copies the CE of the flow that it carries."""
    probed = probing(tmp_path, 4)
    udp = probed.udp_flows.with_columns(transport=pl.lit("udp"))
    assert findings(RULE, replace(probed, udp_flows=udp)) == []
