"""The `builds` table: which published build of Prague a socket runs, told from its log alone.

In order of proof: the residues that unclamped detector steps leave, the one build whose constants
reproduce the steps, and the scale of alpha with the presence of the detector's state.
"""

from __future__ import annotations

import polars as pl

from l4strace.evidence import Capture
from l4strace.prague import replay as steps_of
from l4strace.prague.scale import bits_of
from l4strace.schema.evidence import BUILDS

REPRODUCED = 0.99
"""Share of steps that a build must reproduce to be named by replay."""
BY = ["source", "flow", "forward"]


def table(capture: Capture) -> pl.DataFrame:
    """One row per logged flow direction whose alpha scale is known."""
    known = capture.kernel.filter(pl.col("flow").is_not_null() & pl.col("forward").is_not_null())
    rows = []
    for part in known.partition_by(BY, maintain_order=True):
        bits = bits_of(part)
        if bits is None:
            continue
        steps = steps_of.replayed(steps_of.recorded(part)).drop_nulls(["before", "after"])
        name, why, reproduced = _named(part, steps, bits)
        key = {column: part[column][0] for column in BY}
        rows.append(
            key
            | {"bits": bits, "build": name, "reason": why}
            | {"steps": steps.height, "reproduced": reproduced}
        )
    return BUILDS.conform(pl.DataFrame(rows)) if rows else BUILDS.empty()


def _named(kernel: pl.DataFrame, steps: pl.DataFrame, bits: int) -> tuple[str, str, int | None]:
    """Name, one sentence that says why, and how many steps the named build reproduces."""
    hits = {
        build: steps.filter(pl.col(build) == pl.col("after")).height
        for build in steps_of.BUILDS
        if build.startswith(f"{bits}-bit")
    }
    told = steps_of.identified(steps, bits)["build"].drop_nulls()
    if told.len():
        name = str(told.mode().sort()[0])
        return name, f"{told.len():,} detector steps carry its residue.", hits.get(name)
    fits = [build for build, n in hits.items() if steps.height and n >= REPRODUCED * steps.height]
    if len(fits) == 1 and len(hits) > 1:
        return fits[0], f"Only it reproduces all {steps.height:,} steps.", hits[fits[0]]
    if bits == 20:
        said = "Alpha has 20 bits: every published build with them has correct references."
        return "20-bit", said, hits.get("20-bit") if steps.height else None
    if kernel["classic_ecn_raw"].is_null().all() and "alpha" in kernel["event"]:
        said = f"Alpha has {bits} bits and Prague's own functions show no classic_ecn."
        return f"{bits}-bit without detector", said, None
    return f"{bits}-bit", f"Alpha has {bits} bits; no step tells the references.", None
