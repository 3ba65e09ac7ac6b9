"""The tables `bottlenecks` and `signs`: what limits each flow direction, from packets alone.

What the kernel believes must not feed them (the misfire verdict is the disagreement of the two), so
nothing here reads `capture.kernel`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from math import isnan
from typing import NamedTuple

import polars as pl

from l4strace.bottleneck import agreement, datagrams, evidence, verdict
from l4strace.bottleneck.agreement import Judged
from l4strace.bottleneck.evidence import Direction
from l4strace.bottleneck.signs import losses
from l4strace.derive import guard, neighbors, phases, queue_features
from l4strace.evidence import Capture, Row, kept
from l4strace.schema import TABLES
from l4strace.schema.keys import PATH

START_PACKETS = 10
"""ECT(1) packets of a direction that a second queue would have shown to: an initial window
(RFC 6928). Fewer are a control connection."""

MOST_PHASES = 8
"""Phases of a path that are asked, those with most marks: a link can change all day. By eye."""

At = tuple[int, str]


class Paths(NamedTuple):
    """What is known of each path (source and path) before its flows are judged."""

    phases: Counter[At]
    with_ect1: frozenset[At]

    def of_row(self, row: Row, *, one_phase: bool = False) -> Direction:
        at = _at(row)
        return evidence.of_row(
            row, phases=1 if one_phase else self.phases[at], ect1_on_path=at in self.with_ect1
        )

    def of_datagrams(self, row: Row) -> Direction:
        at = _at(row)
        return datagrams.of_row(row, phases=self.phases[at], ect1_on_path=at in self.with_ect1)


def bottlenecks(capture: Capture) -> pl.DataFrame:
    """One row per flow direction with enough data."""
    schema = TABLES["bottlenecks"]
    rows = [_row(measured, judged) for measured, judged in _judged(capture)]
    return pl.from_dicts(rows, schema.schema)


def signs(capture: Capture) -> pl.DataFrame:
    """One row per sign that decided what a direction's bottleneck is."""
    schema = TABLES["signs"]
    rows = [row for _, judged in _judged(capture) for row in _signs(judged)]
    return pl.from_dicts(rows, schema.schema)


@kept
def _judged(capture: Capture) -> list[tuple[Row, Judged]]:
    """Each direction as it was measured, and what its path and its phases make of it."""
    paths = _paths(capture)
    rows = datagrams.measured(capture)
    judged = guard.each(lambda row: _of_datagrams(row, paths), rows, _failed)
    return _of_rounds(capture, paths) + list(zip(rows, judged, strict=True))


def _of_rounds(capture: Capture, paths: Paths) -> list[tuple[Row, Judged]]:
    """The directions whose feedback is read."""
    if capture.rounds.is_empty():
        return []
    features = queue_features.features(capture)
    few = queue_features.few_rounds(capture, features).to_dicts()
    rows = features.to_dicts()
    judged = guard.each(lambda row: _own(row, paths.of_row(row)), rows, _failed)
    judged += [_too_short(row) for row in few]
    asked = {r.at for r in judged if agreement.leaves_open(r) and paths.phases[r.at] > 1}
    parts = (part for part in phases.table(capture).to_dicts() if _at(part) in asked)
    by_phase = _by_phase(capture, parts, paths)
    whole = [agreement.within(one, by_phase[one.key]) for one in judged]
    return list(zip([*rows, *few], agreement.agreed(whole), strict=True))


def _paths(capture: Capture) -> Paths:
    of_path = phases.table(capture)
    at = zip(of_path["source"], of_path["path"], strict=True)
    sent = neighbors.directions(capture).select(*PATH, "marked_as", "data_ect1")
    ect1 = sent.filter((pl.col("marked_as") == "ect1") & (pl.col("data_ect1") >= START_PACKETS))
    return Paths(Counter(at), frozenset(ect1.select(PATH).unique().rows()))


def _by_phase(
    capture: Capture, parts: Iterable[Row], paths: Paths
) -> dict[agreement.Key, list[Judged]]:
    """Verdicts on each direction in those ``parts`` of its path, the one with most marks first.

    A bottleneck that moves, or changes its rate, shows two kinds of queue in one average.
    """
    ranked: dict[At, list[int]] = defaultdict(list)
    for part in sorted(parts, key=lambda part: -part["marks"]):
        if part["marks"]:
            ranked[_at(part)].append(part["phase"])
    found: dict[agreement.Key, list[Judged]] = defaultdict(list)
    for place in range(MOST_PHASES):
        now = [(*at, parts[place]) for at, parts in ranked.items() if len(parts) > place]
        for one in _in_one_phase(capture, now, paths):
            found[one.key].append(one)
    return found


def _in_one_phase(capture: Capture, now: list[tuple[int, str, int]], paths: Paths) -> list[Judged]:
    """Verdicts on the directions of paths, each in one phase (source, path, phase)."""
    if not now:
        return []
    part = phases.table(capture).select(*PATH, "phase")
    chosen = pl.DataFrame(now, part.schema, orient="row")
    rows = queue_features.features(capture, chosen).to_dicts()
    judge = guard.each(lambda row: _own(row, paths.of_row(row, one_phase=True)), rows, _failed)
    return agreement.agreed(judge)


def _own(row: Row, d: Direction) -> Judged:
    return Judged(_key(row), _at(row), d, verdict.of(d))


def _of_datagrams(row: Row, paths: Paths) -> Judged:
    if row["begun"]:
        return _own(row, paths.of_datagrams(row))
    why = verdict.unknown(datagrams.NO_EMPTY_PATH)
    return Judged(_key(row), _at(row), _hardly_known(row, row["all_marks"]), why)


def _too_short(row: Row) -> Judged:
    """A direction that only the other flows of its path can identify."""
    why = verdict.unknown(f"{row['rounds']} round trips are too few")
    return Judged(_key(row), _at(row), _hardly_known(row, row["marks"]), why)


def _failed(row: Row) -> Judged:
    """In place of a direction whose verdict odd data broke."""
    why = verdict.unknown("a fault of l4strace; please report this")
    return Judged(_key(row), _at(row), _hardly_known(row, row["all_marks"]), why)


def _hardly_known(row: Row, all_marks: int) -> Direction:
    return Direction(marked_as=row["marked_as"], marks=row["marks"], all_marks=all_marks)


def _at(row: Row) -> At:
    return row["source"], row["path"]


def _key(row: Row) -> agreement.Key:
    return row["source"], row["flow"], row["forward"]


def _row(measured: Row, judged: Judged) -> Row:
    """A row of `bottlenecks`; what was measured keeps its name."""
    d, said = judged.direction, judged.verdict
    acked, policed = measured["acked"], said.kind == "policed"
    return measured | {
        "kind": said.kind,
        "confidence": said.confidence,
        "reason": said.reason,
        "marking_delay_us": _known(said.marking_delay_us),
        "serialisation_us": _known(d.serialisation_us),
        "noise_us": d.noise_us if "hides_us" in measured else None,
        "loss_delay_us": _known(d.lost_us),
        "idle_loss": losses.idle(d).true is True if "hides_us" in measured else None,
        "policed_bps": _known(d.policed_bps) if policed else None,
        "policed_burst_bytes": measured["policed_burst_bytes"] if policed else None,
        "ce_share": min(1.0, measured["marks"] / acked) if acked else None,
    }


def _signs(judged: Judged) -> list[Row]:
    source, flow, forward = judged.key
    return [
        {
            "source": source,
            "flow": flow,
            "forward": forward,
            "sign": sign.name,
            "value": _known(shown.value),
            "threshold": _known(shown.threshold),
            "bound": shown.bound or None,
            "unit": sign.unit,
            "words": shown.words or None,
        }
        for sign, shown in judged.verdict.signs
    ]


def _known(value: float | None) -> float | None:
    return None if value is None or isnan(value) else value
