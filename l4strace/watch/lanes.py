"""State of each flow direction that sends data: newest values and a minute of history."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from l4strace.ingest.selection import Selection
from l4strace.prague.constants import CLASSIC_THRESHOLD, SCALABLE_THRESHOLD
from l4strace.watch.kernel_tail import Ends, KernelTail
from l4strace.wording.names import direction_name, negotiated

HISTORY = 40
"""Points of a sparkline: one a second."""
CODEPOINTS = ("not_ect", "ect0", "ect1", "ce")
IDLE_AFTER_S = 10.0


@dataclass
class Lane:
    """One flow direction."""

    name: str
    ends: Ends
    mode: str = "unknown"
    """What was negotiated, as it is shown."""
    accecn: bool = False
    cc: str = ""
    mix: dict[str, int] = field(default_factory=dict)
    """Data packets by codepoint since the last update."""
    ce_share: float | None = None
    """Share of the packets acknowledged since the last update that were marked."""
    alpha: float | None = None
    alpha_source: str = ""
    classic_ecn: float | None = None
    classic_source: str = ""
    cwnd: float | None = None
    rtt_us: float | None = None
    queue_us: float | None = None
    rate_bps: float = 0.0
    rates: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    queues: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    marks: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    totals: dict[str, int] = field(default_factory=dict)
    idle_s: float = 0.0

    @property
    def may_be_prague(self) -> bool:
        """The kernel names Prague; or names nothing, and the flow sends ECT(1) with AccECN."""
        if self.cc:
            return self.cc.startswith("prague")
        return self.accecn and self.mix.get("ect1", 0) > self.mix.get("ect0", 0)

    @property
    def zone(self) -> str:
        """The zone of the fallback's score: what Prague takes the bottleneck for."""
        if self.classic_ecn is None:
            return ""
        if self.classic_ecn < SCALABLE_THRESHOLD:
            return "scalable"
        return "classic" if self.classic_ecn > CLASSIC_THRESHOLD else "transition"


class Lanes:
    """All lanes, updated from the tables of a `Follower`."""

    def __init__(self, kernel: KernelTail, selection: Selection | None = None) -> None:
        self._kernel = kernel
        self._selection = selection or Selection()
        self._lanes: dict[tuple[int, bool], Lane] = {}

    def update(self, tables: dict[str, Any], seconds: float) -> None:
        """Takes in what came within the last ``seconds``."""
        self._kernel.update()
        frame = _all(tables, "flows")
        flows = {row["flow"]: row for row in frame.iter_rows(named=True)}
        directions = _all(tables, "directions")
        chosen = pl.col("flow").is_in(self._selection.chosen(frame, directions).implode())
        rounds = _summaries(pl.DataFrame(tables["rounds"]))
        sending = directions.filter(pl.col("data_packets") > 0, chosen)
        for row in sending.iter_rows(named=True):
            key = (row["flow"], row["forward"])
            lane = self._lanes.get(key) or _new_lane(flows[row["flow"]], row["forward"])
            self._lanes[key] = lane
            lane.mode = negotiated(flows[row["flow"]])
            lane.accecn = flows[row["flow"]]["mode"] == "accecn"
            _count(lane, row, seconds)
            _rounds(lane, rounds.get(key))
            self._add_kernel(lane)

    def busy(self) -> list[Lane]:
        """Lanes that sent within the last seconds; all lanes if none did."""
        busy = [lane for lane in self._lanes.values() if lane.idle_s < IDLE_AFTER_S]
        return busy or list(self._lanes.values())

    def __len__(self) -> int:
        return len(self._lanes)

    def _add_kernel(self, lane: Lane) -> None:
        state = self._kernel.newest.get(lane.ends)
        if not state:
            return
        lane.cc = state.get("cc", lane.cc)
        lane.cwnd = state.get("snd_cwnd", lane.cwnd)
        alpha, score = self._kernel.alpha(lane.ends), self._kernel.classic_ecn(lane.ends)
        if alpha is not None:
            lane.alpha, lane.alpha_source = alpha, "kernel"
        if score is not None:
            lane.classic_ecn, lane.classic_source = score, "kernel"


def _all(tables: dict[str, Any], name: str) -> pl.DataFrame:
    """The rows of TCP and of UDP, which has some of the columns."""
    frames = (pl.DataFrame(tables[of + name]) for of in ("", "udp_"))
    return pl.concat(frames, how="diagonal")


def _new_lane(flow: dict[str, Any], forward: bool) -> Lane:
    client = (flow["client"], flow["client_port"])
    server = (flow["server"], flow["server_port"])
    own, peer = (client, server) if forward else (server, client)
    return Lane(direction_name(flow, forward), (*own, *peer))


def _summaries(rounds: pl.DataFrame) -> dict[tuple[int, bool], dict[str, Any]]:
    """Sums and last values of the rounds that ended since the last update, per direction."""
    if rounds.is_empty():
        return {}
    last = ("rtt_mean_us", "cwnd_packets", "alpha", "classic_ecn")
    grouped = (
        rounds.sort("end_ns")
        .group_by("flow", "forward")
        .agg(
            pl.col("acked_packets", "ce_best").sum(),
            pl.col("queue_delay_us").mean(),
            *(pl.col(name).drop_nulls().last() for name in last),
        )
    )
    return {(row["flow"], row["forward"]): row for row in grouped.iter_rows(named=True)}


def _count(lane: Lane, row: dict[str, Any], seconds: float) -> None:
    """Steps of the direction's counters since the last update."""
    now = {name: row[f"data_{name}"] for name in CODEPOINTS} | {"bytes": row["payload_bytes"]}
    step = {name: value - lane.totals.get(name, 0) for name, value in now.items()}
    lane.totals = now
    sent = step.pop("bytes")
    lane.idle_s = 0.0 if sent else lane.idle_s + seconds
    if sent:
        lane.mix = step
    lane.rate_bps = 8 * sent / seconds if seconds > 0 else 0.0
    lane.rates.append(lane.rate_bps)


def _rounds(lane: Lane, row: dict[str, Any] | None) -> None:
    if row is None:
        lane.queues.append(0.0)
        lane.marks.append(0.0)
        return
    lane.ce_share = row["ce_best"] / row["acked_packets"] if row["acked_packets"] else None
    lane.rtt_us = row["rtt_mean_us"] or lane.rtt_us
    lane.queue_us = row["queue_delay_us"]
    lane.cwnd = row["cwnd_packets"]
    if row["alpha"] is not None:
        lane.alpha, lane.alpha_source = row["alpha"], "packets"
    if row["classic_ecn"] is not None and lane.may_be_prague:
        lane.classic_ecn, lane.classic_source = row["classic_ecn"], "packets"
    lane.queues.append(lane.queue_us or 0.0)
    lane.marks.append(lane.ce_share or 0.0)
