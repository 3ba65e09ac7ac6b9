"""The `builds` table: which published build of Prague a socket runs, from its log alone.

In order of proof: the residues that unclamped detector steps leave, where the build that they name
also reproduces the steps; the one build whose constants reproduce the steps; and the scale of alpha
with the presence of the detector's state. A handful of residues can arise by chance, or from
samples of another socket.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.derive.senders.steps import Logged, logged
from l4strace.evidence import Capture
from l4strace.prague import replay
from l4strace.schema.evidence import BUILDS

REPRODUCED = 0.99
"""Share of steps that a build must reproduce to be named by replay. By eye: the right build
reproduces every step of the lab runs, a wrong one under half of them."""


MIN_RESIDUES = 3
"""Residues that name a build where the log lacks the carry, so that no step can be reproduced to
the bit: one arises by chance in 2^19 steps, or 2^23 (prague_classic_ecn_detection)."""


def table(capture: Capture) -> pl.DataFrame:
    """One row per logged flow direction whose alpha scale is known."""
    rows = [_row(part, part.bits) for part in logged(capture) if part.bits is not None]
    return BUILDS.conform(pl.DataFrame(rows)) if rows else BUILDS.empty()


def _row(part: Logged, bits: int) -> dict[str, Any]:
    steps = part.steps.drop_nulls(["before", "after"])
    name, reason, reproduced = _named(part.samples, steps, bits)
    return {
        "source": part.source,
        "flow": part.flow,
        "forward": part.forward,
        "bits": bits,
        "build": name,
        "reason": reason,
        "steps": steps.height,
        "reproduced": reproduced,
    }


def _by_residue(steps: pl.DataFrame, hits: dict[str, int]) -> str | None:
    """The build that most residues name, if it reproduces the steps; None when it does not.

    Without the carry the residues themselves must agree: all unclamped steps have one.
    """
    named = steps["build"].drop_nulls()
    if named.is_empty():
        return None
    name = str(named.mode().sort()[0])
    exact = steps.filter("exact").height
    if exact:
        return name if hits.get(name, 0) >= REPRODUCED * exact else None
    agreeing = (named == name).sum()
    unclamped = steps.height - steps["residue"].null_count()
    return name if agreeing >= MIN_RESIDUES and agreeing >= REPRODUCED * unclamped else None


def _named(kernel: pl.DataFrame, steps: pl.DataFrame, bits: int) -> tuple[str, str, int | None]:
    """Name, one sentence with the proof, and how many steps the named build reproduces."""
    hits = {
        build: steps.filter(pl.col(build) == pl.col("after")).height
        for build in replay.BUILDS
        if build.startswith(f"{bits}-bit")
    }
    if (name := _by_residue(steps, hits)) is not None:
        carried = steps.filter(pl.col("build") == name).height
        return name, f"{carried:,} detector steps carry its residue.", hits.get(name)
    fits = [build for build, n in hits.items() if steps.height and n >= REPRODUCED * steps.height]
    if len(fits) == 1 and len(hits) > 1:
        return fits[0], f"Only it reproduces all {steps.height:,} steps.", hits[fits[0]]
    if bits == 20:
        reason = "Alpha has 20 bits: every published build with them has correct references."
        return "20-bit", reason, hits.get("20-bit") if steps.height else None
    if kernel["classic_ecn_raw"].is_null().all() and "alpha" in kernel["event"]:
        reason = f"Alpha has {bits} bits and Prague's own functions show no classic_ecn."
        return f"{bits}-bit without detector", reason, None
    return f"{bits}-bit", f"Alpha has {bits} bits; no step identifies the references.", None
