"""The packets that prove findings: looked up in the captures once more, decoded, and cut out.

`wanted` chooses what to look for, `search` finds it in one further pass over the captures,
`stretches` reads what lies around it for the packet chart, `over_udp` takes datagrams from there,
`shows` words each packet, `excerpt` copies the packets without payload into one pcapng file.
"""

from __future__ import annotations

from l4strace.errors import InputError
from l4strace.evidence import Capture
from l4strace.evidence_packets import excerpt, over_udp, search, stretches, wanted
from l4strace.model import Analysis, Proof


def prove(capture: Capture, analysis: Analysis, *, copy: bool = True) -> Proof:
    """The packets behind the findings of ``analysis``; with ``copy`` also the excerpt.

    A capture that cannot be read a second time gives no packets, and the proof states why.
    """
    lookups, absent = wanted.of_findings(capture, analysis)
    try:
        packets = search.packets(capture, lookups)
        around = stretches.of_findings(capture, analysis, lookups, packets)
        packets |= over_udp.packets(capture, around, lookups)
        cut = excerpt.of(capture, packets) if copy else b""
    except (InputError, OSError) as error:
        return Proof({}, absent=f"The packets could not be read a second time ({error}).")
    return Proof(packets, cut, absent, around)
