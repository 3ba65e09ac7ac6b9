"""One packet chart as a page of its own, for any stretch of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from markupsafe import Markup

from l4strace.model import Stretch
from l4strace.page import fill
from l4strace.page.drawing import packet_rows
from l4strace.page.drawing.palette import STROKES

SIGNATURE = 'content="l4strace packets"'
"""Text near the top of every such page."""


class Shown(NamedTuple):
    """Title, the line below it, and what the chart needs: ``flow`` is a row of `flows`."""

    title: str
    about: str
    origin_ns: int
    flow: Mapping[str, Any]


def encoded(stretch: Stretch, shown: Shown) -> bytes:
    """The page in UTF-8; nothing is drawn of a stretch without packets."""
    text = (
        fill.environment()
        .get_template("packets.html.j2")
        .render(
            title=shown.title,
            about=shown.about,
            policy=fill.POLICY,
            strokes=STROKES,
            style=fill.asset("page.css"),
            theme_script=fill.asset("theme.js"),
            script=Markup("\n").join(map(fill.asset, fill.PACKET_SCRIPTS)),
            stretch=packet_rows.columns(stretch, shown.origin_ns, shown.flow),
        )
    )
    return text.encode("utf-8", "replace")
