"""Which flow directions a rule judges, and how it names them."""

from collections.abc import Iterable

import polars as pl

from l4strace.derive import one_way
from l4strace.derive.measured import measured
from l4strace.derive.vantage import first as first
from l4strace.derive.vantage import once as once
from l4strace.derive.vantage import scalable as scalable
from l4strace.evidence import Evidence, Row, kept, traffic
from l4strace.fallback.place import ISOLATED_CONFIDENCE as ISOLATED_CONFIDENCE
from l4strace.fallback.place import LIKELY_CONFIDENCE as LIKELY_CONFIDENCE
from l4strace.fallback.place import Place
from l4strace.model import Finding, Skipped
from l4strace.schema.keys import DIRECTION as DIRECTION
from l4strace.schema.keys import KEY as KEY
from l4strace.schema.words import TRANSPORTS
from l4strace.wording.moments import moment as moment
from l4strace.wording.names import sender

HANDSHAKE = (
    (True, "SYN", "syn_ecn", "syn_arrived_ecn", "synack_frame"),
    (False, "SYN/ACK", "synack_ecn", "synack_arrived_ecn", "final_ack_frame"),
)
"""Direction and name of a packet; columns of `flows`: its ECN field at the capture and as it
arrived, and the frame that reflects this."""


def hedge(confidence: float | None) -> str:
    """What stands before a bottleneck class that is not shown: `probably `, `possibly `."""
    if (confidence or 0.0) >= ISOLATED_CONFIDENCE:
        return ""
    return "probably " if (confidence or 0.0) >= LIKELY_CONFIDENCE else "possibly "


def hedged(confidence: float | None, queue: str) -> str:
    """`an L4S AQM`, or `what is probably an L4S AQM`."""
    likely = hedge(confidence)
    return f"what is {likely}{queue}" if likely else queue


def l4s_aqm(place: Place) -> str:
    """The bottleneck of a place whose kind is L4S."""
    return hedged(place.confidence, "an L4S AQM")


@kept
def bottlenecks(evidence: Evidence) -> pl.DataFrame:
    """One bottleneck a direction, keyed by flow and direction only."""
    return once(evidence, evidence.bottlenecks).drop("source")


def begun(evidence: Evidence) -> pl.DataFrame:
    """`source` and `flow` of conversations with their handshake, or a part of it.

    Without it ECE may be a bit of AccECN's counter, and the first marks may lie before the capture.
    """
    return evidence.flows.filter(pl.col("handshake") != "none").select("source", "flow")


def strongest(findings: Iterable[Finding]) -> list[Finding | Skipped]:
    """One finding a flow direction, the first: ``findings`` are in the order of their evidence."""
    first: dict[tuple[int | None, bool | None], Finding] = {}
    for found in findings:
        first.setdefault((found.flow, found.forward), found)
    return list(first.values())


def noise(evidence: Evidence) -> pl.DataFrame:
    """Jitter, bursts and reordering of each direction, from the capture nearest to its sender."""
    return once(evidence, evidence.noise)


def of_each_path(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per `path`: the direction with most `rounds`. What a path does is found once."""
    ranked = rows.sort("rounds", *DIRECTION, descending=[True, False, False], nulls_last=True)
    return ranked.unique(["source", "path"], keep="first", maintain_order=True)


def lost_between(evidence: Evidence) -> pl.DataFrame:
    """Packets of each direction that left the first capture and never reached the receiver's."""
    whole = evidence.paths.join(one_way.end_to_end(evidence), on=DIRECTION, how="semi")
    return whole.group_by(DIRECTION).agg(pl.col("lost").sum())


def control(evidence: Evidence, flow: int | None, forward: bool | None) -> str:
    """The congestion control of a direction's sender, as a log or a host file names it; or none."""
    return "" if flow is None or forward is None else _controls(evidence).get((flow, forward), "")


@kept
def _controls(evidence: Evidence) -> dict[tuple[int, bool], str]:
    """Congestion controls by flow and direction, of those that something names."""
    known = evidence.directions.drop_nulls("cc").group_by(DIRECTION).agg(pl.col("cc").max())
    return {(flow, forward): cc for flow, forward, cc in known.iter_rows()}


def named(evidence: Evidence, flow: int) -> str:
    """`flow 3 (port 40002, cubic, ECT(0))`: enough to distinguish the two of a comparison.

    Of one over UDP `flow 2 (UDP Prague, ECT(1))`.
    """
    everything = traffic(evidence)
    row = _first(everything.flows.filter(pl.col("flow") == flow))
    if row is None:
        return f"flow {flow}"
    sent = everything.directions.filter(pl.col("flow") == flow).sum()
    counts = {
        name: int(sent[column][0] or 0)
        for name, column in (
            ("ECT(1)", "data_ect1"),
            ("ECT(0)", "data_ect0"),
            ("Not-ECT", "data_not_ect"),
        )
    }
    larger = evidence.directions.filter(pl.col("flow") == flow).sort("payload_bytes")
    cc = control(evidence, flow, larger["forward"][-1]) if larger.height else ""
    over_tcp = row["transport"] in (None, "tcp")
    who = f"port {row['client_port']}" if over_tcp else TRANSPORTS[row["transport"]]
    return f"flow {flow} ({sender(who, cc)}, {max(counts, key=lambda c: counts[c])})"


def span(begin_ns: int | None, end_ns: int) -> tuple[int, int] | None:
    """The time of a finding; null where its start is not known."""
    return None if begin_ns is None else (begin_ns, end_ns)


def at(evidence: Evidence, flow: int | None, forward: bool | None, ns: int | None) -> Row:
    """`source` and `frames` of the round that contains time `ns`, as arguments of a finding."""
    near = once(evidence, evidence.directions.select(KEY)).filter(flow=flow, forward=forward)
    if ns is None or near.is_empty():
        return {}
    frames = measured(evidence).frames_at(near.row(0), ns)
    return {"source": near["source"][0], "frames": frames} if frames else {}


def titled(evidence: Evidence, flow: int) -> str:
    """`named` with a capital letter, for the start of a sentence."""
    name = named(evidence, flow)
    return name[0].upper() + name[1:]


def _first(frame: pl.DataFrame) -> Row | None:
    return frame.row(0, named=True) if frame.height else None


def starved_by(evidence: Evidence, flow: int | None) -> str:
    """`; flow 3 (port 40002, ECT(0)) starves from t=0.6 s with 8 % of both rates`, or nothing."""
    victims = once(evidence, evidence.coexistence).filter(
        (pl.col("other_flow") == flow) & pl.col("starved_since_ns").is_not_null()
    )
    row = _first(victims.sort("starved_share"))
    if row is None:
        return ""
    since = moment(evidence, row["starved_since_ns"])
    share = f"{100 * row['starved_share']:.0f} % of both rates"
    return f"; {named(evidence, row['flow'])} starves from {since} with {share}"
