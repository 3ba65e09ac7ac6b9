"""Cost of l4strace on the shapes of real traffic, and beside other tools (`make bench`).

Every figure is a ratio of cpu times (user and system) of processes that ran in turns, so that it
holds on any machine and beside busy neighbors; seconds are for reading. Captures are made in a
scratch folder. BENCH_PACKETS=100000 makes a quick one; `--keep` makes the result the one that later
ones are compared with and writes it to docs/performance.md.
"""

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from tests.support.bench import figures, measures, workloads


def main() -> int:
    packets = workloads.scale()
    before = figures.kept(packets)
    found = []
    with tempfile.TemporaryDirectory(prefix="l4strace-bench-") as scratch:
        for figure in measures.measured(Path(scratch), packets):
            print(f"{figure.name}: {figure.value:.3f} {figure.unit}", file=sys.stderr)
            found.append(figure)
    head = [f"l4strace {version('l4strace')}, {packets:,} packets.", ""]
    print("\n".join([*head, *figures.table(found, before)]))
    if "--keep" in sys.argv[1:]:
        figures.keep(found, packets, version("l4strace"))
        page = [*head, *figures.page(found)]
        figures.PAGE.write_text(figures.written(figures.PAGE.read_text(), page))
    missed = packets >= measures.FULL and not all(figure.holds for figure in found)
    return 1 if missed or figures.worse(found, before) else 0


if __name__ == "__main__":
    sys.exit(main())
