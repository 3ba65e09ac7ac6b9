"""The page carries plotly's script, the small one."""

from __future__ import annotations

import gzip
from base64 import b64decode

from l4strace.page.drawing import bundle

MAX_BYTES = 600_000
"""Of the script in a page: plotly's full one takes 1.9 MB of the 3 MB that a page may have."""


def test_the_bundle_unpacks_to_plotlys_script() -> None:
    packed = bundle.script()
    unpacked = gzip.decompress(b64decode(packed)).decode()
    assert unpacked == bundle.source_file().read_text(encoding="utf-8")
    assert len(packed) < MAX_BYTES


def test_its_version_is_known() -> None:
    assert bundle.version().split(".")[0].isdecimal()
