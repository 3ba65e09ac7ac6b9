"""The lab's Prague (fixtures/lab/vm/prague) computes as published builds do: log against replay."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from l4strace.core import _native
from tests.support.places import FIXTURES

LOGS = FIXTURES / "bpf-prague"
BUILDS = [("misfire", 24, "24-bit buggy", "score_buggy"), ("codel", 20, "20-bit", "score_fixed")]


def path_of(name: str) -> Path:
    return LOGS / f"{name}.kernel.ndjson.zst"


def samples(name: str, event: str) -> list[dict[str, Any]]:
    text = b"".join(_native.read_text(str(path_of(name))))
    lines = [json.loads(line) for line in text.splitlines()]
    return [line for line in lines if line["type"] == "sample" and line["event"] == event]


@pytest.mark.parametrize(("name", "bits", "build", "score"), BUILDS)
def test_every_step_of_the_detector_is_the_replays(
    name: str, bits: int, build: str, score: str
) -> None:
    command = [sys.executable, "-m", "l4strace", "export", "detector", path_of(name)]
    done = subprocess.run([*command, "--format", "ndjson"], check=True, capture_output=True)
    table = pl.read_ndjson(io.BytesIO(done.stdout), infer_schema_length=None)
    assert table.height > 500
    assert table["exact"].all()
    assert set(table["build"].drop_nulls()) == {build}
    # The replay from 0 runs on the 24-bit scale, whose references have four more digits.
    assert (table["score"] - table[score]).abs().max() < 1e-3  # type: ignore[operator]


@pytest.mark.parametrize(("name", "bits", "build", "score"), BUILDS)
def test_every_update_of_alpha_is_the_replays(name: str, bits: int, build: str, score: str) -> None:
    updates = [one for one in samples(name, "alpha") if one["saw_ce"]]
    after = [one["upscaled_alpha"] for one in updates[1:]]
    marked = [one["delivered_ce"] - one["old_delivered_ce"] for one in updates[:-1]]
    replayed = _native.prague_alpha(
        bits,
        [one["upscaled_alpha"] for one in updates[:-1]],
        [one["delivered"] - one["old_delivered"] for one in updates[:-1]],
        marked,
    )
    assert sum(marked) > 10
    assert replayed == after


@pytest.mark.parametrize(("name", "bits", "build", "score"), BUILDS)
def test_cuts_in_the_classic_zone_take_the_floor(
    name: str, bits: int, build: str, score: str
) -> None:
    fallbacks = [one for one in samples(name, "fallback") if one["classic_ecn_raw"] >= 9 << bits]
    assert len(fallbacks) > 20
    floor = (1 << bits >> 1) + (1 << bits >> 3)
    assert all(one["alpha_used_raw"] == max(floor, one["upscaled_alpha"] >> 4) for one in fallbacks)
