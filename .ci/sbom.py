"""Prints the SBOM of an installed l4strace as CycloneDX 1.5 JSON.

It holds Python packages, crates, and plotly's script.
"""

from __future__ import annotations

import hashlib
import json
import re
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from l4strace.page.drawing import bundle

LOCK = Path(__file__).resolve().parent.parent / "l4strace/native/Cargo.lock"
CRATE = re.compile(
    r'name = "([^"]+)"\nversion = "([^"]+)"(?:\nsource = "[^"]+")?\n(?:checksum = "(\w+)")?'
)
NAME = re.compile(r"[A-Za-z0-9._-]+")


def packages(name: str, found: dict[str, str]) -> dict[str, str]:
    """``found`` with the run-time requirements of ``name``, and theirs: name to version."""
    for line in distribution(name).requires or ():
        requirement, _, marker = line.partition(";")
        needed = NAME.match(requirement)
        if needed is None or "extra" in marker or needed[0].lower() in found:
            continue
        try:
            found[needed[0].lower()] = distribution(needed[0]).version
        except ModuleNotFoundError:
            continue  # for another platform or Python
        packages(needed[0], found)
    return found


def component(kind: str, name: str, version: str, checksum: str = "") -> dict[str, Any]:
    """One library; its package URL is its identity."""
    url = f"pkg:{kind}/{name}@{version}"
    hashes = [{"alg": "SHA-256", "content": checksum}] if checksum else []
    found = {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url}
    return found | ({"hashes": hashes} if hashes else {})


def document() -> dict[str, Any]:
    """The whole bill of materials."""
    version = distribution("l4strace").version
    crates = CRATE.findall(LOCK.read_text(encoding="utf-8"))
    parts = [component("pypi", *pair) for pair in sorted(packages("l4strace", {}).items())]
    parts += [component("cargo", *crate) for crate in crates if crate[0] != "l4strace-native"]
    script = hashlib.sha256(bundle.source_file().read_bytes()).hexdigest()
    parts.append(component("npm", "plotly.js-basic-dist-min", bundle.version(), script))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component("pypi", "l4strace", version) | {"type": "application"}},
        "components": parts,
    }


if __name__ == "__main__":
    print(json.dumps(document(), indent=1))
