"""What `l4strace capture` recorded on kernels with real Prague."""

from pathlib import Path

import pytest

from l4strace import pipeline
from l4strace.evidence import Evidence


def diagnosed(shared_data: Path, run: str) -> tuple[Evidence, set[str]]:
    folder = shared_data / "capture" / run
    paths = [str(folder / name) for name in ("run.pcapng.xz", "run.kernel.ndjson.zst")]
    evidence = pipeline.derive(pipeline.read(paths))
    return evidence, {found.rule for found in pipeline.judge(evidence, strict=True).findings}


def test_the_scaling_bug_is_named_although_the_header_claims_20_bits(shared_data: Path) -> None:
    evidence, rules = diagnosed(shared_data, "v06bug-bcc")
    assert {"L4S301", "L4S302", "L4S209"} <= rules
    build = evidence.builds.filter(flow=1).row(0, named=True)
    assert (build["build"], build["bits"]) == ("24-bit buggy", 24)
    assert build["reproduced"] == build["steps"] > 800


@pytest.mark.parametrize("run", ["v06-diag", "v07-bcc"])
def test_a_healthy_flow_has_no_misfire_and_no_disagreement(shared_data: Path, run: str) -> None:
    _, rules = diagnosed(shared_data, run)
    assert not {"L4S208", "L4S301", "L4S302", "L4S303"} & rules


def test_polls_with_a_wrong_width_are_read_right(shared_data: Path) -> None:
    evidence, rules = diagnosed(shared_data, "v06-diag")
    assert evidence.kernel["alpha_bits"].drop_nulls().unique().to_list() == [20]
    assert evidence.kernel["alpha"].max() == 1.0
    assert "L4S209" in rules
