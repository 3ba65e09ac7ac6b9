"""The study's bpftrace records, with the counts that its report gives."""

from pathlib import Path

from l4strace.ingest.join import attach
from tests.support import frames


def test_the_study_gives_its_counts(shared_data: Path) -> None:
    paths = sorted((shared_data / "fallback-study/trace").glob("*/*.ndjson"))
    capture = attach.load_logs(frames.capture(), [str(path) for path in paths])
    assert len(paths) == 3
    told = capture.aggregates
    assert (told["@c_sticky"], told["@transition"], told["@l_sticky"]) == (485, 0, 3)
    assert (told["@mdev_l"], told["@mdev_ge"], told["@mdev_l_sum"]) == (2324, 0, 99132)
    assert told["@mdev_change_neg_sum"] == 2 * 5007341
    assert capture.kernel.is_empty()
