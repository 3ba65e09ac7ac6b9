"""What load generators print about themselves: `iperf3 --json` and flent data files.

Studies often keep these in place of captures. Where a run has packets, packets decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from l4strace.errors import InputError, reason
from l4strace.ingest import file_names, files, untrusted
from l4strace.schema.sweep import SWEEP_FLOWS
from l4strace.studies.measuring import flent_results
from l4strace.studies.planned import Row
from l4strace.studies.sources.names import FLENT, L4S

MOST_BYTES = 64 << 20
"""Decompressed; an hour of eight iperf3 streams, reported each second, takes 30 MB."""


@dataclass
class Made:
    """Files of one run: those that `diagnose` reads, and results among them."""

    inputs: list[str] = field(default_factory=list)
    iperf3: list[str] = field(default_factory=list)
    flent: list[str] = field(default_factory=list)
    """Data files of flent, which are also inputs: they hold polls of the kernel's socket."""

    @property
    def any(self) -> bool:
        """Whether there are results."""
        return bool(self.iperf3 or self.flent)

    def flows(self, run: str) -> tuple[str, pl.DataFrame]:
        """`iperf3` or `flent`, and the rows of `flows` that they give.

        Raises InputError for a file that is not what it seems.
        """
        made = [row for path in self.iperf3 for row in _of_iperf3(path)]
        origin = "iperf3" if made else "flent"
        made = made or [row for path in self.flent for row in flent_results.flows(_document(path))]
        total = sum(row["goodput_bps"] or 0.0 for row in made)
        rows = [
            {"run": run, "flow": number, "forward": True}
            | row
            | {"share": row["goodput_bps"] / total if total and row["goodput_bps"] else None}
            for number, row in enumerate(made)
        ]
        return origin, SWEEP_FLOWS.conform(pl.DataFrame(rows, infer_schema_length=None))

    def measures(self) -> dict[str, float | None]:
        """Numbers of the whole run that flent files show; of several files the largest."""
        found: dict[str, float | None] = {}
        for path in self.flent:
            for name, value in flent_results.measures(_document(path)).items():
                known = [one for one in (found.get(name), value) if one is not None]
                found[name] = max(known, default=None)
        return found


def sort(paths: Sequence[str]) -> Made:
    """``paths`` by what they are. Raises InputError for a path that cannot be opened."""
    made = Made()
    for path in paths:
        if is_iperf3(path):
            made.iperf3.append(path)
            continue
        made.inputs.append(path)
        if files.unpacked(path).endswith(FLENT):
            made.flent.append(path)
    return made


def is_iperf3(path: str) -> bool:
    """Whether the file is what `iperf3 --json` prints."""
    try:
        start = files.head(file_names.registered(path))
    except OSError as error:
        raise InputError(f"{file_names.shown(path)}: {reason(error)}") from error
    return files.IPERF3.match(start) is not None


def _document(path: str) -> dict[str, Any]:
    try:
        return untrusted.document(file_names.registered(path), MOST_BYTES)
    except (OSError, ValueError) as error:
        raise InputError(f"{file_names.shown(path)}: {reason(error)}") from error


def _of_iperf3(path: str) -> list[Row]:
    """One row per stream: rate that the receiver saw, RTT and retransmissions of the sender."""
    data = _document(path)
    if error := untrusted.text(data.get("error")):
        raise InputError(f"{file_names.shown(path)}: iperf3 reported: {error}")
    end = untrusted.mapping(data.get("end"))
    control = untrusted.text(end.get("sender_tcp_congestion"))
    streams = end.get("streams")
    return [
        _stream(untrusted.mapping(stream), control)
        for stream in (streams if isinstance(streams, list) else [])
    ]


def _stream(stream: dict[str, Any], control: str | None) -> Row:
    sender = untrusted.mapping(stream.get("sender"))
    receiver = untrusted.mapping(stream.get("receiver"))
    rate = untrusted.number(receiver.get("bits_per_second")) or untrusted.number(
        sender.get("bits_per_second")
    )
    return {
        "label": control,
        "l4s": bool(control and L4S.search(control)),
        "goodput_bps": rate,
        "rtt_min_us": untrusted.number(sender.get("min_rtt")) or None,
        "rtt_mean_us": untrusted.number(sender.get("mean_rtt")) or None,
        "losses": untrusted.whole(sender.get("retransmits"), least=0),
    }
