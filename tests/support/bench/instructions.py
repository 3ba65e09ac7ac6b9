"""Instructions of the native crate a packet, on recorded shapes, as callgrind counts them.

They are the same in every run: a figure that grows by more than 3 % is a change of the code.
"""

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.places import REPOSITORY

NATIVE = REPOSITORY / "l4strace" / "native"
KEPT = REPOSITORY / "docs" / "instructions.json"
SHAPES = {
    "Prague and classic flows": "misfire/misfire.pcap.xz",
    "Prague, healthy": "healthy/healthy.pcap.xz",
    "AccECN at its sender": "accecn-clean/sender.pcap.xz",
    "AccECN at its receiver": "accecn-clean/receiver.pcap.xz",
    "DCTCP": "dctcp/dctcp.pcapng.xz",
    "QUIC": "user-space/qg1-a.pcap.xz",
    "UDP Prague": "user-space/up1-a.pcap.xz",
}
"""Fixtures by what they show."""
WORSE = 1.03
"""What counts as a regression."""
COUNTED = re.compile(r"Collected : (\d+)")


@dataclass(frozen=True)
class Counted:
    """Instructions a packet by shape, and the compiler whose code they are of."""

    compiler: str
    shapes: Mapping[str, int]

    def worse_than(self, before: "Counted") -> list[str]:
        """Shapes that cost more than 3 % more; none where another compiler made the code."""
        if self.compiler != before.compiler:
            return []
        kept = before.shapes
        return [name for name, now in self.shapes.items() if now > kept.get(name, now) * WORSE]


def kept(path: Path = KEPT) -> Counted:
    """The figures that others are compared with."""
    return Counted(**json.loads(path.read_text()))


def keep(found: Counted, path: Path = KEPT) -> None:
    """Makes these the figures that later ones are compared with."""
    path.write_text(json.dumps(vars(found), indent=2) + "\n")


def table(found: Counted) -> str:
    """The figures as docs/performance.md shows them."""
    rows = (f"| {name} (`{SHAPES[name]}`) | {now:,} |" for name, now in found.shapes.items())
    return "\n".join(("| shape | instructions a packet |", "|---|---|", *rows)) + "\n"


def counted() -> Counted:
    """Builds the example `track` as a release is built, and counts each shape."""
    compiler = _output("rustc", "--version").strip()
    _output(
        *("cargo", "build", "--quiet", "--release", "--no-default-features", "--example", "track"),
        *("--manifest-path", str(NATIVE / "Cargo.toml")),
    )
    return Counted(compiler, {name: a_packet(file) for name, file in SHAPES.items()})


def a_packet(file: str) -> int:
    """Instructions a packet for reading, decoding and following the packets of one fixture."""
    shown = _output(
        *("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"),
        *("--toggle-collect=follow", str(NATIVE / "target" / "release" / "examples" / "track")),
        str(REPOSITORY / "fixtures" / file),
    )
    return instructions(shown)


def instructions(shown: str) -> int:
    """Of what callgrind and the example print: packets of TCP, datagrams and rounds on one line."""
    packets, datagrams, _ = re.search(r"^(\d+) (\d+) (\d+)$", shown, re.MULTILINE).groups()
    return round(int(COUNTED.search(shown)[1]) / (int(packets) + int(datagrams)))


def _output(*command: str) -> str:
    done = subprocess.run(
        command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.stdout
