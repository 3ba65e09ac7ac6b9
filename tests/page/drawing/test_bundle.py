"""The page carries the script of the plotly that made its figures."""

from __future__ import annotations

import gzip
from base64 import b64decode

from plotly.offline import get_plotlyjs

from l4strace.page.drawing import bundle


def test_the_bundle_unpacks_to_plotlys_script() -> None:
    assert gzip.decompress(b64decode(bundle.script())).decode() == get_plotlyjs()
