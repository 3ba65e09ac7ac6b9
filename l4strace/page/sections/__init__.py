"""The parts of the page, in its order.

Each module has ``TITLE`` (empty: the section has no heading and no entry in the navigation) and
``build(case)``, which returns plain data; the page embeds its ``charts``, if it has any. The
template `reports/sections/NAME.html.j2` shows the data, under the module's name, below the heading.
A new section is a module, a template and a line here.
"""

from __future__ import annotations

from types import ModuleType

from l4strace.page.sections import (
    checklist,
    detector,
    findings,
    flows,
    glossary,
    handshakes,
    hosts,
    packets,
    paths,
    provenance,
    qdiscs,
    quality,
    rules,
    timelines,
    traffic,
    verdict,
)

SECTIONS: tuple[ModuleType, ...] = (
    verdict,
    findings,
    packets,
    flows,
    traffic,
    qdiscs,
    timelines,
    detector,
    checklist,
    handshakes,
    paths,
    hosts,
    quality,
    provenance,
    rules,
    glossary,
)
