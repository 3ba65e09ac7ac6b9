"""Flows: one row per direction that carried data, as the capture nearest to its sender saw it."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from l4strace.derive.senders import sender_logs
from l4strace.model import Severity
from l4strace.page.case import Case
from l4strace.page.figures.codepoints import CODEPOINTS
from l4strace.page.transports import drawn
from l4strace.schema.keys import DIRECTION
from l4strace.schema.words import BOTTLENECKS
from l4strace.wording import vantages
from l4strace.wording.amounts import bit_rate, data_size, duration, number
from l4strace.wording.names import FANCY_ARROW, direction_key, direction_name, negotiated
from l4strace.wording.names import dscp as named_dscp
from l4strace.wording.quantities import count
from l4strace.wording.sender_logs import named

TITLE = "Flows"

PAGE_ROWS = 25
"""Rows that are shown at once, as in `reports/table.js`."""


class Codepoint(NamedTuple):
    """Data packets of one codepoint; ``name`` is the stroke's name in the palette."""

    name: str
    label: str
    packets: int
    percent: float


class Amount(NamedTuple):
    """A number in words, and the ``value`` that orders its column (null: there is none)."""

    text: str
    value: float | None


class FlowRow(NamedTuple):
    """One direction in words; ``charted``: the page has its charts."""

    flow: int
    key: str
    name: str
    mode: str
    reason: str
    sender: str
    payload: Amount
    goodput: Amount
    codepoints: tuple[Codepoint, ...]
    dscp: str
    """As it left and arrived, where that is not best effort."""
    ce: Amount
    retransmits: Amount
    rtt: Amount
    """Smallest and mean."""
    bottleneck: str
    bottleneck_reason: str
    worst: str
    charted: bool


class FlowsSection(NamedTuple):
    """``left_out`` counts what the table does not show, or is empty."""

    rows: tuple[FlowRow, ...]
    left_out: str
    logged: tuple[str, ...] = ()
    """What logs of user-space senders say, one sentence each."""

    @property
    def first(self) -> tuple[FlowRow, ...]:
        """What the page shows at first, and without scripts."""
        return self.rows[:PAGE_ROWS]


OF_FLOWS = (
    *("source", "flow", "client", "client_port", "server", "server_port", "network"),
    *("vantage", "transport", "mode", "mode_reason"),
)
"""Columns of `flows` that a row of the table is made of."""
OF_DIRECTIONS = (
    *("source", "flow", "forward", "cc", "first_ns", "last_ns", "worst"),
    *("payload_bytes", "acked_bytes", "retransmits", "rtt_min_us", "rtt_mean_us", "data_packets"),
    *("data_ect1", "data_ect0", "data_not_ect", "data_ce"),
    *("ce_fed_back_best", "ce_fed_back_lo", "ce_fed_back_hi", "dscp", "arrived_dscp"),
)
"""Columns of `directions` that the list of flows reads."""


def build(case: Case) -> FlowsSection:
    """The directions that matter most first."""
    everything = drawn(case.evidence)
    arrived = everything.directions.select(*DIRECTION, far="source", arrived_dscp="dscp")
    listed = case.listed.join(arrived, on=[*DIRECTION, "far"], how="left", maintain_order="left")
    charted = {(d.flow, d.forward) for d in case.charted}
    flows = _by(everything.flows.select(OF_FLOWS), listed, "source", "flow")
    bottlenecks = case.evidence.bottlenecks.select(*DIRECTION, "kind", "reason")
    necks = _by(bottlenecks, listed, *DIRECTION)
    rows = []
    for totals in listed.select(OF_DIRECTIONS).iter_rows(named=True):
        key = totals["flow"], totals["forward"]
        row = flows[totals["source"], totals["flow"]]
        rows.append(_row(totals, row, necks.get(key), key in charted))
    logs = map(named, sender_logs.summary(case.evidence).to_dicts())
    left_out = _left_out(case, listed.height)
    return FlowsSection(tuple(rows), left_out, tuple(filter(None, logs)))


def _retransmits(totals: dict[str, Any], row: dict[str, Any]) -> str:
    """`at least 720`, where the capture does not stand at the sender."""
    if totals["retransmits"] is None:
        return "\N{EN DASH}"
    far = vantages.of_direction(row, totals["forward"]) in ("receiver", "middle")
    return f"{'at least ' * bool(far and totals['retransmits'])}{number(totals['retransmits'])}"


def _by(table: pl.DataFrame, listed: pl.DataFrame, *key: str) -> dict[Any, dict[str, Any]]:
    """Rows of the listed flows by ``key``; the first where there are several."""
    own = table.filter(pl.col("flow").is_in(listed["flow"].implode()))
    # Of several rows the dictionary keeps the last.
    return own.reverse().rows_by_key(key, named=True, unique=True)


def _row(
    totals: dict[str, Any],
    row: dict[str, Any],
    neck: dict[str, Any] | None,
    charted: bool,
) -> FlowRow:
    flow, forward = totals["flow"], totals["forward"]
    seconds = (totals["last_ns"] - totals["first_ns"]) / 1e9
    acked = totals["acked_bytes"]
    # What nobody reports over UDP is known as it was sent.
    if acked is None and row["transport"] not in (None, "tcp"):
        acked = totals["payload_bytes"]
    # Within one round trip nothing but the first window was sent, and no rate was reached.
    lasts = seconds * 1e6 > (totals["rtt_min_us"] or 0)
    rate = 8 * acked / seconds if acked is not None and lasts else None
    return FlowRow(
        flow=flow,
        key=direction_key(flow, forward),
        name=direction_name(row, forward, FANCY_ARROW),
        mode=negotiated(row),
        reason=row["mode_reason"] or "",
        sender=totals["cc"] or "",
        payload=Amount(data_size(totals["payload_bytes"]), totals["payload_bytes"]),
        goodput=Amount("" if rate is None else bit_rate(rate), rate and round(rate)),
        codepoints=_codepoints(totals),
        dscp=_dscp(totals["dscp"], totals["arrived_dscp"]),
        ce=_ce(totals),
        retransmits=Amount(_retransmits(totals, row), totals["retransmits"]),
        rtt=_rtt(totals, row),
        bottleneck=_bottleneck(neck),
        bottleneck_reason=(neck or {}).get("reason") or "",
        worst=Severity(totals["worst"]).name.lower() if totals["worst"] >= 0 else "",
        charted=charted,
    )


def _rtt(totals: dict[str, Any], row: dict[str, Any]) -> Amount:
    """Smallest and mean; none at the receiver, where data to ACK is the host's own delay."""
    if vantages.of_direction(row, totals["forward"]) == "receiver":
        return Amount("not seen at the receiver", None)
    if (least := totals["rtt_min_us"]) is None:
        return Amount("\N{EN DASH}", None)
    return Amount(f"{duration(least)} / {duration(totals['rtt_mean_us'])}", least)


def _codepoints(totals: dict[str, Any]) -> tuple[Codepoint, ...]:
    total = totals["data_packets"]
    return tuple(
        Codepoint(name.replace("_", "-"), label, count, round(100 * count / total, 2))
        for name, label, _ in CODEPOINTS
        if (count := totals["data_" + name])
    )


def _dscp(left: int | None, arrived: int | None) -> str:
    """`DSCP 45 (NQB) -> DSCP 0 (best effort)`; nothing where it is best effort all the way."""
    known = [value for value in dict.fromkeys((left, arrived)) if value is not None]
    return FANCY_ARROW.join(map(named_dscp, known)) if any(known) else ""


def _ce(totals: dict[str, Any]) -> Amount:
    """Marks that the receiver reported, with their bounds where they are not one number."""
    best, low, high = (totals[f"ce_fed_back_{bound}"] for bound in ("best", "lo", "hi"))
    if best is None:
        return Amount("\N{EN DASH}", None)
    bounds = "" if low == high else f" ({low:,}\N{EN DASH}{high:,})"
    return Amount(f"{best:,}{bounds}", best)


def _bottleneck(row: dict[str, Any] | None) -> str:
    if row is None or row["kind"] is None:
        return "\N{EN DASH}"
    return BOTTLENECKS.get(row["kind"], str(row["kind"]))


def _left_out(case: Case, shown: int) -> str:
    total = case.sending.height
    facts = []
    if total > shown:
        more = count(total - shown, "more flow direction")
        facts.append(f"{more} with less data and no worse finding")
    if without := case.without_data:
        facts.append(f"{count(without, 'flow')} without data")
    return f"Not listed: {'; '.join(facts)} (l4strace flows lists all)." if facts else ""
