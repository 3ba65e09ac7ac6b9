"""Which build of Prague each lab run used, named from its log alone."""

from pathlib import Path

import pytest

from l4strace.derive.senders import builds
from l4strace.ingest.join import attach
from tests.support import frames

NAMED = {
    "a": ("20-bit", 1090),
    "b": ("24-bit buggy", 1068),
    "d": ("20-bit", 925),
    "e": ("20-bit", None),
    "f2": ("20-bit", 1089),
    "h": ("20-bit", None),
    "k": ("20-bit", None),
    "o": ("20-bit", None),
    "q1": ("20-bit", 884),
    "s": ("24-bit without detector", None),
}
"""Run -> build by its manifest, and detector steps that the build must reproduce, all of them."""


@pytest.mark.parametrize("run", NAMED)
def test_the_build_of_a_lab_run_is_named(shared_data: Path, run: str) -> None:
    log = str(shared_data / f"lab/{run}/trace.txt.zst")
    table = builds.table(attach.load_logs(frames.capture(), [log]))
    row = table.filter(flow=1).row(0, named=True)
    name, steps = NAMED[run]
    assert row["build"] == name
    if steps is not None:
        assert row["reproduced"] == row["steps"] >= steps


def test_a_socket_that_fell_back_to_reno_has_no_build(shared_data: Path) -> None:
    log = str(shared_data / "lab/i/trace.txt.zst")
    assert builds.table(attach.load_logs(frames.capture(), [log])).is_empty()
