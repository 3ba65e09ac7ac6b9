"""Unrelated captures in one call: a verdict each."""

import pytest

from l4strace.evidence import Capture
from l4strace.ingest import separate
from tests.support.frames import capture, frame, stack

S = 10**9


def of(times: list[tuple[int, int]], flows: list[int], paths: list[str] | None = None) -> Capture:
    """Captures at ``times`` (s), each with one flow."""
    sources = list(range(len(times)))
    return capture(
        sources=frame(
            "sources",
            source=sources,
            path=paths or [f"{name}.pcap" for name in "abc"[: len(times)]],
            first_ns=[first * S for first, _ in times],
            last_ns=[last * S for _, last in times],
        ),
        flows=stack(
            *(frame("flows", source=s, flow=f) for s, f in zip(sources, flows, strict=True))
        ),
        host_files=({"path": "b.host.json"}, {"path": "other.host.json"}),
    )


def groups(run: Capture) -> list[list[int]]:
    return [part.sources["source"].to_list() for part in separate.runs(run)]


@pytest.mark.parametrize(
    ("times", "flows", "expected"),
    [
        ([(0, 10), (5, 15)], [0, 1], [[0, 1]]),  # at the same time
        ([(0, 10), (10, 20)], [0, 1], [[0, 1]]),  # a recorder's next file
        ([(0, 10), (500, 520)], [0, 0], [[0, 1]]),  # a clock that is wrong
        ([(0, 10), (500, 520)], [0, 1], [[0], [1]]),
        ([(0, 10), (500, 520), (505, 525)], [0, 1, 2], [[0], [1, 2]]),
    ],
)
def test_inputs_of_one_run_stay_together(
    times: list[tuple[int, int]], flows: list[int], expected: list[list[int]]
):
    assert groups(of(times, flows)) == expected


def test_a_stem_joins_and_host_files_go_where_they_belong():
    assert groups(of([(0, 1), (500, 501)], [0, 1], ["x/a.pcap", "x/a.trace.txt"])) == [[0, 1]]
    first, second = separate.runs(of([(0, 10), (500, 520)], [0, 1]))
    assert [host["path"] for host in first.host_files] == ["other.host.json"]
    assert [host["path"] for host in second.host_files] == ["b.host.json", "other.host.json"]
