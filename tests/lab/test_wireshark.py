"""Every field of every packet of the real captures equals Wireshark's, but for a listed few."""

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from l4strace.verify import wireshark
from tests.support import files

pytestmark = pytest.mark.needs("tshark", "xz")

CAPTURES = {
    "formats": "*pcap*",
    "ecn-path": "*.pcap",
    "packetdrill-accecn": "*.pcap",
    "prague-wifi-2020": "prague_dualpi2_wifi.pcap.gz",
    "lab": "[bi]/receiver.pcap.xz",
    "prague-2020": "*codel1q*srv.pcap.xz",
}
PACKETS = 10_000
"""Of the long captures the first so many are compared."""

EXPLAINED = {
    # The PPPoE header claims four or six bytes less than there are. Wireshark cuts the IP packet
    # there; we believe IP's own length and count the packet under `odd_lengths`.
    ("zeek__pppoe-over-qinq.pcap", "payload_len"): 6,
}


def _dissected(path: Path, folder: Path) -> Iterator[wireshark.Dissected]:
    if path.suffix == ".xz":
        # tshark 4.0 reads gz only.
        plain = folder / path.stem
        with plain.open("wb") as out:
            subprocess.run(["xz", "-dc", str(path)], stdout=out, check=True)
        path = plain
    command = ["tshark", "-n", "-r", str(path), "-c", str(PACKETS), "-T", "fields"]
    command += ["-E", "occurrence=a", "-E", "separator=/t", "-E", "aggregator=;"]
    for name, value in wireshark.OPTIONS.items():
        command += ["-o", f"{name}:{value}"]
    for field in wireshark.FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        values = zip(wireshark.FIELDS, line.split("\t"), strict=False)
        yield {field: value.split(";") for field, value in values if value}


@pytest.mark.parametrize("folder", CAPTURES)
def test_fields_equal_wiresharks(shared_data: Path, folder: str, tmp_path: Path) -> None:
    for path in sorted((shared_data / folder).glob(CAPTURES[folder])):
        ours = {row["frame"]: row for row in files.packets(path, PACKETS).to_dicts()}
        seen = [p for p in _dissected(path, tmp_path) if "tcp.seq_raw" in p]
        assert [int(p["frame.number"][0]) for p in seen] == list(ours), path.name
        found = [d for p in seen for d in wireshark.compare(ours[int(p["frame.number"][0])], p)]
        counts = Counter((path.name, d.column) for d in found)
        expected = {key: n for key, n in EXPLAINED.items() if key[0] == path.name}
        assert counts == expected, found[:5]
