"""A report poured into the page's template: one HTML file that needs nothing else."""

from __future__ import annotations

import json
from base64 import b64encode
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from l4strace import installed
from l4strace.console import printable
from l4strace.core import _native
from l4strace.page.build import Report
from l4strace.page.drawing import bundle
from l4strace.page.drawing.palette import STROKES, dark_of_light
from l4strace.wording import rule_text
from l4strace.wording.amounts import typeset
from l4strace.wording.wrap import GLUE

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; "
    "style-src 'unsafe-inline'; img-src data: blob:"
)
"""Content-Security-Policy: no request leaves the page."""

PACKED_LEVEL = 6
"""Level of gzip; level 9 saves only 1 % on the rows of 5,000 flows."""


PACKET_SCRIPTS = (
    *("shared.js", "packet_rows.js", "datagram_rows.js"),
    *("packet_detail.js", "packets.js"),
)
"""Parts of the script of packet charts."""
CHART_SCRIPTS = ("charts.js", "zoom.js", "save.js", "links.js")
"""Parts of the script of charts over time."""
SCRIPTS = (*PACKET_SCRIPTS, *CHART_SCRIPTS, "table.js", "terms.js", "find.js", "page.js")
"""Parts of the script of a run's page; the last starts it."""


def encoded(report: Report) -> bytes:
    """The page as HTML in UTF-8; what cannot be encoded becomes `?`."""
    figures = {chart.key: chart.spec for chart in report.charts}
    template = environment().get_template("page.html.j2")
    pieces = template.generate(
        title=report.title,
        headline=report.headline,
        policy=POLICY,
        strokes=STROKES,
        figures=packed(embedded(figures)),
        colours=embedded(dark_of_light()),
        bundle=Markup(bundle.script()) if figures else "",  # noqa: S704 - base64 of our own
        style=asset("page.css"),
        theme_script=asset("theme.js"),
        page_script=Markup("\n").join(map(asset, SCRIPTS)),
        sections=report.sections,
        **{section.name: section.data for section in report.sections},
    )
    # Piece by piece: one text would take two bytes a character, plotly's script included.
    return b"".join(piece.encode("utf-8", "replace") for piece in pieces)


def environment() -> jinja2.Environment:
    """The templates: as `l4strace.page.prepare` compiled them, else compiled when needed."""
    ready = prepared()
    sources = jinja2.FileSystemLoader(installed.path("reports"))
    templates = jinja2.Environment(
        loader=_compiled(ready) if ready.is_dir() else sources,
        autoescape=True,
        finalize=_shown,
        # Where they are compiled anew in every run, folding constants costs more than it saves.
        optimized=False,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["packed"] = packed
    templates.filters["embedded"] = embedded
    templates.filters["typeset"] = typeset
    templates.filters["pieces"] = rule_text.runs
    return templates


@cache
def _compiled(folder: Path) -> jinja2.ModuleLoader:
    """Kept: `sys.modules` holds its module by a weak reference only, which others may follow."""
    return jinja2.ModuleLoader(folder)


def prepared() -> Path:
    """Where the compiled templates lie if they were prepared: the name states of which sources."""
    key = blake2b(jinja2.__version__.encode(), digest_size=8)
    for template in sorted(installed.path("reports").rglob("*.j2")):
        key.update(template.read_bytes())
    return installed.prepared() / f"templates-{key.hexdigest()}"


def packed(text: str) -> Markup:
    """``text`` as gzip in base64: what only scripts read may be large."""
    return Markup(b64encode(_native.gzip(text, PACKED_LEVEL)).decode())  # noqa: S704 - base64


def _shown(value: Any) -> Any:
    """Texts without control characters: a page is also looked at with `less`."""
    if type(value) is str and value.isprintable():
        return value
    plain = isinstance(value, str) and not isinstance(value, Markup)
    # The no-break spaces are ours: `typeset` puts them before units.
    return GLUE.join(map(printable, value.split(GLUE))) if plain else value


def embedded(value: Any) -> Markup:
    """JSON that cannot end the script element that holds it."""
    text = json.dumps(
        value, ensure_ascii=True, separators=(",", ":"), sort_keys=True, allow_nan=False
    )
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(safe)  # noqa: S704 - escaped above


def asset(name: str) -> Markup:
    """A file of `reports` as it stands."""
    return Markup((installed.path("reports") / name).read_text(encoding="utf-8"))  # noqa: S704 - our own file
