"""The parts of the page, in its order: each module has ``build(case)`` that returns plain data."""

from __future__ import annotations

from types import ModuleType

from l4strace.page.sections import (
    detector,
    findings,
    flows,
    paths,
    provenance,
    quality,
    rules,
    sharing,
    timelines,
    verdict,
)

SECTIONS: dict[str, ModuleType] = {
    "verdict": verdict,
    "sharing": sharing,
    "findings": findings,
    "flows": flows,
    "timelines": timelines,
    "detector": detector,
    "paths": paths,
    "quality": quality,
    "provenance": provenance,
    "rules": rules,
}
