"""JSON: a contract. Within a schema number keys are only ever added."""

from __future__ import annotations

import json
from typing import Any

from l4strace.core import _native
from l4strace.derive import marked
from l4strace.derive.senders import sender_logs
from l4strace.derive.vantage import nearest
from l4strace.evidence import Capture, traffic
from l4strace.model import Analysis, Checklist, Finding, Measure, Proof, Skipped, VerdictLines
from l4strace.schema.keys import KEY
from l4strace.wording import collector_notes, mark_bounds
from l4strace.wording.verdict import counted, verdict

SCHEMA = 1

FLOW_KEYS = (
    "source", "flow", "transport", "version", "client", "client_port", "server", "server_port",
    "mode", "mode_reason",
    "handshake", "initiator", "vantage", "syn_ace", "syn_ecn", "synack_ace", "synack_ecn",
    "syn_arrived_ecn", "synack_arrived_ecn", "tunnel", "network", "ended", "first_ns",
    "last_ns",
)  # fmt: skip
DIRECTION_KEYS = (
    "cc", "packets", "data_packets", "data_segments", "payload_bytes", "acked_bytes",
    "not_ect", "ect1", "ect0", "ce", "ce_segments", "marked_share", "dscp", "other_dscps",
    "retransmits", "lost_before", "out_of_order", "rtt_min_us", "rtt_mean_us", "rtt_max_us",
    "rtt_samples",
    "ceb_bytes", "e0b_bytes", "e1b_bytes", "ece_acks", "first_frame", "last_frame", "first_ce_ns",
)  # fmt: skip
FED_BACK = {"ce_fed_back_lo": "lo", "ce_fed_back_hi": "hi", "ce_fed_back_best": "best"}


def render(capture: Capture, analysis: Analysis) -> str:
    """The whole diagnosis as one JSON object."""
    return dumps(document(capture, analysis))


def document(capture: Capture, analysis: Analysis) -> dict[str, Any]:
    """The JSON document as plain data."""
    return {
        "schema": SCHEMA,
        "tool": tool(),
        "status": analysis.status._asdict() if analysis.status else None,
        "verdict": _verdict(capture, analysis) if analysis.rules else None,
        "sources": [
            row | {"notes": collector_notes.of_source(capture, row["source"])}
            for row in capture.sources.to_dicts()
        ],
        "flows": _flows(traffic(capture)),
        "sender_logs": sender_logs.summary(capture).to_dicts(),
        "paths": capture.paths.to_dicts(),
        "findings": [
            finding_value(finding) | {"packets": _packets(analysis.proof, place)}
            for place, finding in enumerate(analysis.findings)
        ],
        "unmet": [one._asdict() for one in analysis.unmet],
        "checklists": [_checklist(checklist) for checklist in analysis.checklists],
        "skipped": [_skipped(skipped) for skipped in analysis.skipped],
    }


def _verdict(capture: Capture, analysis: Analysis) -> dict[str, Any]:
    opening = verdict(analysis, counted(capture))
    return {
        "headline": opening.headline,
        "sentence": opening.sentence,
        "severity": opening.severity.name.lower() if opening.severity is not None else None,
        "rule": opening.finding.rule if opening.finding else None,
        "frame": _frame(opening.frame) if opening.frame else None,
    }


def _checklist(checklist: Checklist) -> dict[str, Any]:
    return checklist._asdict() | {"checks": [check._asdict() for check in checklist.checks]}


def _frame(frame: VerdictLines) -> dict[str, str]:
    return {"limits": frame.limits, "sharing": frame.sharing, "fallback": frame.fallback}


def tool() -> dict[str, str]:
    """Name and version of this program."""
    return {"name": "l4strace", "version": _native.__version__}


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def _encode(value: Any) -> str:
    """JSON whose text drives no terminal: C1 and bidirectional controls are escaped too."""
    text = _encoder.encode(value)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def dumps(document: dict[str, Any]) -> str:
    """JSON with a line per flow, finding and the like; numbers that JSON has not become null.

    Indenting each of them would take ten times as long: Python does that without its C encoder.
    """
    lines = (f"  {_encode(key)}: {_member(value)}" for key, value in document.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def _member(value: Any) -> str:
    if not isinstance(value, list) or not value:
        return _line(value)
    return "[\n    " + ",\n    ".join(map(_line, value)) + "\n  ]"


def _line(value: Any) -> str:
    try:
        return _encode(value)
    except ValueError:
        return _encode(_finite(value))


def finding_value(finding: Finding) -> dict[str, Any]:
    """One finding as plain data."""
    return {
        "rule": finding.rule,
        "severity": finding.severity.name.lower(),
        "confidence": finding.confidence.name.lower(),
        "headline": finding.headline,
        "message": finding.message,
        "action": finding.action,
        "source": finding.source,
        "flow": finding.flow,
        "forward": finding.forward,
        "span_ns": list(finding.span_ns) if finding.span_ns else None,
        "frames": list(finding.frames),
        "measures": [_measure(measure) for measure in finding.measures],
        "variant": finding.variant or None,
        "cause": finding.cause._asdict() if finding.cause else None,
    }


def _packets(proof: Proof | None, place: int) -> list[dict[str, Any]] | None:
    """The packets that prove the finding at ``place``; null where they were not looked up."""
    if proof is None or place not in proof.packets:
        return None
    return [
        {
            "source": packet.source,
            "frame": packet.frame,
            "ts_ns": packet.ts_ns,
            "flow": packet.flow,
            "forward": packet.forward,
            "ip_ecn": packet.ip_ecn,
            "tcp_flags": packet.tcp_flags,
            "ace": packet.ace,
            "accecn_option": packet.counters
            and dict(zip(("e0b", "ceb", "e1b"), packet.counters, strict=True)),
            "seq": packet.seq,
            "ack": packet.ack,
            "number": packet.number,
            "reported": packet.reported,
            "payload_bytes": packet.payload_bytes,
            "named": packet.named,
            "shows": packet.shows,
        }
        for packet in proof.packets[place]
    ]


def _measure(measure: Measure) -> dict[str, Any]:
    return {
        "name": measure.name,
        "value": measure.value,
        "unit": measure.unit,
        "expected": measure.expected,
    }


def _skipped(skipped: Skipped) -> dict[str, Any]:
    return {"rule": skipped.rule, "reason": skipped.reason, "flow": skipped.flow}


def _flows(capture: Capture) -> list[dict[str, Any]]:
    """One object per conversation and input, with both directions.

    ``nearest`` marks the input that terminal, page and rules take for a direction.
    """
    near = set(nearest(capture).select(KEY).iter_rows())
    shown = capture.directions.with_columns(marked_share=marked.share()).select(
        *KEY, *DIRECTION_KEYS, *FED_BACK, "accecn_options"
    )
    rows = {(row["source"], row["flow"], row["forward"]): row for row in shown.to_dicts()}
    directions = {
        (source, flow, forward): _direction(row, rows.get((source, flow, not forward)))
        | {"nearest": (source, flow, forward) in near}
        for (source, flow, forward), row in rows.items()
    }
    silent = _silent()
    return [
        row
        | {
            name: directions.get((row["source"], row["flow"], forward), silent)
            for name, forward in (("forward", True), ("reverse", False))
        }
        for row in capture.flows.select(FLOW_KEYS).iter_rows(named=True)
    ]


def _direction(row: dict[str, Any], back: dict[str, Any] | None) -> dict[str, Any]:
    values: dict[str, Any] = {key: row[key] for key in DIRECTION_KEYS}
    bounds = {bound: row[key] for key, bound in FED_BACK.items()}
    return values | {"ce_fed_back": bounds | {"why": mark_bounds.why(row, back) or None}}


def _silent() -> dict[str, Any]:
    """A direction without packets: counters 0, the rest null."""
    counted = ("packets", "payload_bytes", "not_ect", "ect1", "ect0", "ce", "retransmits")
    row = dict.fromkeys((*DIRECTION_KEYS, *FED_BACK)) | dict.fromkeys(counted, 0)
    return _direction(row, None) | {"nearest": False}


def _finite(value: Any) -> Any:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
