"""The fixed lines of a verdict: what limits the traffic, how it is shared, what the fallback does.

It rests on derived tables, whichever rules were asked, and stands in each output beside the worst
finding, so that no verdict leaves one of the three questions open.
"""

from collections.abc import Sequence

import polars as pl

from l4strace.derive import datagrams, neighbors, short_flows
from l4strace.derive.coexistence import HELD_BACK
from l4strace.evidence import Evidence, Row, traffic
from l4strace.model import VerdictLines
from l4strace.rules.support import subjects
from l4strace.rules.support.datagrams import may_be_fixed
from l4strace.rules.support.datagrams import named as of_transport
from l4strace.rules.support.fallback_line import fallback_line
from l4strace.schema.keys import PATH
from l4strace.schema.vantage import receiver
from l4strace.schema.words import BOTTLENECKS
from l4strace.wording.quantities import at_delay, count, marking_delay, quantity, share

LARGE_SHARE = 0.1
"""Share of the largest flow's bytes from which a flow counts as traffic that something limits; one
that starves counts however small it is. By eye."""
UNKNOWN = {"unknown": 1, "no-ecn": 2}
"""Kinds that are none, in the order in which they follow the others."""
NAMED = 3
"""Flows that one line names; the table of flows has all."""


def verdict_lines(evidence: Evidence) -> VerdictLines | None:
    """The three lines; null without a flow whose feedback or bottleneck is known.

    Of a kernel log alone it is the line on the fallback, where the log holds Prague's score.
    """
    alone = evidence.directions.is_empty() and evidence.bottlenecks.is_empty()
    if alone and evidence.kernel["classic_ecn"].is_null().all():
        return None
    fallback = _sentence(fallback_line(evidence, _flows))
    if alone:
        return VerdictLines("", "", fallback)
    starves = evidence.coexistence["starved_since_ns"].is_not_null().any()
    # What both ends show of QUIC says where its marks begin, though no feedback is read.
    seen = traffic(evidence) if evidence.directions.is_empty() else evidence
    return VerdictLines(_limits(seen), _sharing(seen), fallback, starves)


def _limits(evidence: Evidence) -> str:
    """`L4S AQM (flows 0 and 1)`, by what most bytes met first."""
    sent = neighbors.directions(evidence).select(*subjects.KEY, "payload_bytes", "marked_as")
    rows = subjects.once(evidence, evidence.bottlenecks).join(sent, on=subjects.KEY, how="left")
    starved = subjects.once(evidence, evidence.coexistence).filter(
        pl.col("starved_since_ns").is_not_null()
    )
    counts = (pl.col("payload_bytes") >= LARGE_SHARE * pl.col("payload_bytes").max()) | (
        pl.col("flow").is_in(starved["flow"].implode())
    )
    rows = rows.filter(counts).sort("payload_bytes", "flow", descending=[True, False])
    if rows.is_empty():
        return _at_receiver(evidence) or "Unknown: no flow has enough round trips with data."
    kinds: dict[str, list[Row]] = {}
    for row in rows.iter_rows(named=True):
        kinds.setdefault(_kind(row), []).append(row)
    ordered = sorted(kinds.items(), key=lambda kind: UNKNOWN.get(kind[0], 0))
    return _sentence("; ".join(_limit(kind, rows, len(kinds) > 1) for kind, rows in ordered))


def _at_receiver(evidence: Evidence) -> str:
    """What a capture at the receiver shows of the bottleneck: marks."""
    counted = evidence.directions.select(
        *subjects.KEY, "data_segments", "ce_segments", "payload_bytes"
    )
    views = subjects.once(evidence, counted.filter(pl.col("data_segments") > 0)).join(
        evidence.flows.select("source", "flow", "vantage"), on=["source", "flow"], how="left"
    )
    far = views.filter(
        pl.col("vantage") == receiver(),
        pl.col("payload_bytes") >= LARGE_SHARE * pl.col("payload_bytes").max(),
    )
    if far.is_empty():
        return ""
    shares = [
        f"{share(row['ce_segments'] / row['data_segments'])} of flow {row['flow']}"
        for row in far.sort("flow").head(NAMED).iter_rows(named=True)
    ]
    return (
        "Unknown: a capture at the receiver holds no queue delay. Data packets that arrive "
        f"marked: {', '.join(shares)}."
    )


def _kind(row: Row) -> str:
    """The row's kind; `no-ecn` for packets without ECN, whose reason holds for no other flow."""
    kind: str = row["kind"] or "unknown"
    return "no-ecn" if kind == "unknown" and row["marked_as"] == "not_ect" else kind


def _limit(kind: str, rows: list[Row], several: bool) -> str:
    sure = max(row["confidence"] or 0.0 for row in rows)
    if kind in UNKNOWN:
        reason = (rows[0]["reason"] or "the packets do not show it").rstrip(".")
        text = f"unknown: {_inline(reason)}"
    else:
        text = f"{subjects.hedge(sure)}{BOTTLENECKS[kind]}{_marks(rows)}"
    return f"{text} ({_flows([row['flow'] for row in rows])})" if several else text


def _marks(rows: list[Row]) -> str:
    """`, marking at 0.28 ms of queue delay`: as the flow with the shortest queue meets it."""
    known = [row for row in rows if row["marking_delay_us"] is not None]
    if not known:
        return ""
    shortest = min(known, key=lambda row: float(row["marking_delay_us"]))
    return f", marking {at_delay(marking_delay(shortest))} of queue delay"


def _inline(reason: str) -> str:
    """With a small letter, unless the first word is a name: `Not-ECT`, `RTT`."""
    is_name = any(letter.isupper() for letter in reason.split(" ")[0][1:])
    return reason if is_name else reason[0].lower() + reason[1:]


def _sharing(evidence: Evidence) -> str:
    """Who has what: the worst starvation, the rates of a pair, or one flow and its neighbors."""
    pairs = subjects.once(evidence, evidence.coexistence)
    short = short_flows.sentence(evidence)
    starved = pairs.filter(pl.col("starved_since_ns").is_not_null()).sort("starved_share")
    if starved.height:
        return _sentence(_starvation(evidence, starved), short)
    if pairs.height:
        return _sentence(_shares(evidence, pairs), short)
    return _sentence(_alone(evidence, short), short)


def _starvation(evidence: Evidence, starved: pl.DataFrame) -> str:
    row = starved.row(0, named=True)
    own, other = (
        quantity(row[name], "bit/s") for name in ("starved_rate_bps", "starved_other_rate_bps")
    )
    since = subjects.moment(evidence, row["starved_since_ns"])
    more = starved["flow"].n_unique() - 1
    also = f"; {count(more, 'more flow')} starve{'s' if more == 1 else ''}" if more else ""
    return (
        f"{of_transport(evidence, row['flow'])} starves from {since}: {own} beside {other} of "
        f"{of_transport(evidence, row['other_flow'])} ({share(row['starved_share'])} of both){also}"
    )


def _shares(evidence: Evidence, pairs: pl.DataFrame) -> str:
    """The most unequal pair of all; one of which the path sets both rates, where there is any."""
    fixed = [flow for flow in pairs["flow"].unique().sort() if may_be_fixed(evidence, flow)]
    needs = pl.col("flow").is_in(fixed) | pl.col("other_flow").is_in(fixed)
    row = pairs.sort(needs, "jain", "flow").row(0, named=True)
    flows = pairs["flow"].n_unique()
    which = "" if flows == 2 else f"{count(flows, 'flow')}, the most unequal pair: "
    both = pl.col("flow").is_in([row["flow"], row["other_flow"]]) & pl.col("other_flow").is_in(
        [row["flow"], row["other_flow"]]
    )
    held = pairs.filter(both & (pl.col("held_back") >= HELD_BACK))["flow"].to_list()
    # What asks for no more has no unfair share.
    index = f"Jain's index {row['jain']:.2f}"
    why = f"application or receive window limits {_flows(held)}" if held else index
    if unknown := [flow for flow in (row["flow"], row["other_flow"]) if flow in fixed]:
        why = f"what sets the rate of {_flows(unknown)} is not known"
    own, other = (of_transport(evidence, row[name]) for name in ("flow", "other_flow"))
    return (
        f"{which}{own} has {quantity(row['rate_bps'], 'bit/s')}, {other} "
        f"{quantity(row['other_rate_bps'], 'bit/s')} while both send ({why})"
    )


def _alone(evidence: Evidence, short: str) -> str:
    sent = evidence.directions.select(
        *subjects.KEY, "payload_bytes", "acked_bytes", "first_ns", "last_ns"
    )
    sending = subjects.once(evidence, sent.filter(evidence.directions["data_packets"] > 0))
    carried = sending.sort("payload_bytes", descending=True)
    if carried.is_empty():
        return "no flow carried data"
    first = carried.row(0, named=True)
    if short and carried.height > 1 and not short_flows.is_long(evidence, first["flow"]):
        return ""
    # Both directions of one flow carry data: that is no neighbor.
    others = carried.filter(pl.col("flow") != first["flow"])
    ours = neighbors.directions(evidence).filter(pl.col("flow") == first["flow"])
    over_udp = datagrams.large(evidence).join(ours, on=PATH, how="semi")["flow"].n_unique()
    beside = f", beside {count(over_udp, 'large flow')} over UDP" * bool(over_udp)
    only = "is the only one over TCP with data" if over_udp else "is the only flow with data"
    if short:
        only = "sends beside short flows"
    elif others.height and first["payload_bytes"] < short_flows.FEW_BYTES:
        return f"no flow carried more than {quantity(first['payload_bytes'], 'byte')}"
    elif others.filter(pl.col("payload_bytes") >= LARGE_SHARE * first["payload_bytes"]).height:
        only = "carried most, and no other large one sent beside it for long"
    elif others.height:
        only = "is the only large flow"
    return f"flow {first['flow']} {only}{_goodput(first)}{beside}"


def _goodput(row: Row) -> str:
    """`, 18.2 Mbit/s`, as wherever a flow's rate stands; without ACKs what was sent."""
    seconds = (row["last_ns"] - row["first_ns"]) / 1e9
    carried = row["acked_bytes"] or row["payload_bytes"]
    return f", {quantity(8 * carried / seconds, 'bit/s')}" if seconds > 0 else ""


def _flows(flows: Sequence[int]) -> str:
    """`flow 0`, `flows 0, 1 and 4`, `12 flows`."""
    known = sorted(set(flows))
    if len(known) > NAMED:
        return count(len(known), "flow")
    if len(known) == 1:
        return f"flow {known[0]}"
    return f"flows {', '.join(map(str, known[:-1]))} and {known[-1]}"


def _sentence(*parts: str) -> str:
    """Clauses as one sentence with a capital letter and a full stop."""
    text = "; ".join(part for part in parts if part)
    return text[0].upper() + text[1:].rstrip(".") + "." if text else ""
