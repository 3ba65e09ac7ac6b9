"""Which lanes the screen shows, and in which order, as chosen by keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from l4strace.watch.lanes import Lane

ORDERS: dict[str, Callable[[Lane], float]] = {
    "rate": lambda lane: sum(lane.rates),
    "queue": lambda lane: lane.queue_us or 0.0,
    "marks": lambda lane: lane.ce_share or 0.0,
    "RTT": lambda lane: lane.rtt_us or 0.0,
}
KEYS = "s sorts, j and k scroll, o shows one flow, q quits"


@dataclass
class Order:
    """The state that keys change."""

    by: str = "rate"
    first: int = 0
    """Lanes before this one have been scrolled away."""
    alone: bool = False
    """Only the first lane is shown."""

    def press(self, key: str, lanes: int) -> None:
        """Takes one key; others than those of `KEYS` change nothing."""
        if key == "s":
            names = list(ORDERS)
            self.by = names[(names.index(self.by) + 1) % len(names)]
            self.first = 0
        elif key == "j":
            self.first = min(self.first + 1, max(lanes - 1, 0))
        elif key == "k":
            self.first = max(self.first - 1, 0)
        elif key == "o":
            self.alone = not self.alone

    def choose(self, lanes: Sequence[Lane], most: int) -> list[Lane]:
        """At most ``most`` lanes, largest first, from the position that the user scrolled to."""
        ordered = sorted(lanes, key=ORDERS[self.by], reverse=True)
        start = min(self.first, max(len(ordered) - 1, 0))
        return ordered[start : start + (1 if self.alone else most)]
