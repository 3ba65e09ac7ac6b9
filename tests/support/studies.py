"""Level and coverage of `compare`, by simulation: what `make truth-studies` prints."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from l4strace.comparison import statistics

SIZES = (
    (2, 2), (3, 3), (2, 5), (4, 4), (5, 5), (2, 10), (10, 2), (5, 30), (10, 10), (10, 30), (30, 30),
)  # fmt: skip
SHIFT = 0.5
Draw = Callable[[Any, tuple[int, int]], Any]


def bimodal(rng: Any, shape: tuple[int, int]) -> Any:
    """30 % of the runs misfire."""
    return (rng.random(shape) < 0.3) * 1.0 + rng.normal(0, 0.02, shape)


KINDS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(0, 1, shape),
    "skewed": lambda rng, shape: rng.exponential(1, shape),
    "bimodal": bimodal,
}


@dataclass(frozen=True)
class Line:
    """How often cells without a difference are called, and intervals hold a true one."""

    cells: int
    kind: str
    runs: tuple[int, int]
    level: float
    coverage: float

    @property
    def attainable(self) -> bool:
        """Whether the runs of one cell can call anything: 2 against 2 have six ways to fall."""
        return self.cells > 1 or self.runs not in ((2, 2), (3, 3))


def table(cells: int, drawn: int) -> Iterator[Line]:
    """Lines for studies of so many ``cells``, from ``drawn`` cells each."""
    for kind, draw in KINDS.items():
        for runs in SIZES:
            rng = np.random.default_rng(1)
            called = held = 0
            for _ in range(drawn // cells):
                a, b = draw(rng, (cells, runs[0])), draw(rng, (cells, runs[1]))
                found = statistics.effects(list(zip(a, b, strict=True)))
                called += sum(one.p < 0.05 for one in found)  # type: ignore[operator]
                found = statistics.effects(list(zip(a, b + SHIFT, strict=True)))
                held += sum(one.low <= SHIFT <= one.high for one in found)  # type: ignore[operator]
            whole = drawn // cells * cells
            yield Line(cells, kind, runs, called / whole, held / whole)


def main(drawn: int) -> None:
    print("cells  data     runs      level   coverage")
    for cells in (12, 1):
        for line in table(cells, drawn):
            runs = f"{line.runs[0]} and {line.runs[1]}"
            print(
                f"{cells:5}  {line.kind:8} {runs:9} {100 * line.level:4.1f} %   "
                f"{100 * line.coverage:4.1f} %", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
