"""A figure as plain values: what plotly's script on the page reads, and what `go.Figure` takes.

Built as values because making graph objects, which check every property against plotly's schema,
costs more than everything else in a chart. A test has plotly check every figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import plotly.graph_objects as go

Trace = dict[str, Any]
"""One trace, by the names of plotly's reference."""


class Figure(NamedTuple):
    """Traces and layout by the names of plotly's reference; ``height`` in pixels.

    ``title`` names what is drawn where that is not what the chart usually shows.
    """

    traces: list[Trace]
    layout: dict[str, Any]
    height: int
    title: str = ""

    @property
    def spec(self) -> dict[str, Any]:
        """What the page draws; it sets the height itself."""
        return {"data": self.traces, "layout": self.layout}

    def shape(self, **properties: Any) -> None:
        """Adds a shape over the whole width."""
        self._add("shapes", {"xref": "paper", "x0": 0, "x1": 1, **properties})

    def note(self, **properties: Any) -> None:
        """Adds a text at a place of the paper's width."""
        self._add("annotations", {"xref": "paper", "showarrow": False, **properties})

    def _add(self, kind: str, properties: dict[str, Any]) -> None:
        self.layout.setdefault(kind, []).append(properties)

    def plotly(self) -> go.Figure:
        """The figure as plotly's own object, for notebooks."""
        import plotly.graph_objects as go

        return go.Figure(self.traces, self.layout | {"template": "none", "height": self.height})
