"""Whether ECT(1) senders over UDP slow down where most of their packets arrive as CE.

Their laws differ and are not known, so that only what every scalable law asks for is compared: see
`native/src/measure/responding.rs`. Senders over TCP have `laws`.
"""

from __future__ import annotations

import polars as pl

from l4strace.derive import neighbors, vantage
from l4strace.derive.measured import measured
from l4strace.evidence import Capture, kept, over_udp
from l4strace.schema import TABLES
from l4strace.schema.keys import KEY


@kept
def senders(capture: Capture) -> pl.DataFrame:
    """Directions over UDP that send ECT(1) and whose feedback is read."""
    udp = over_udp(capture).select("source", "flow")
    return vantage.scalable(capture).join(udp, on=["source", "flow"], how="semi")


def table(capture: Capture) -> pl.DataFrame:
    """Rows of `senders` whose marks asked for half of the rate, in the schema of `pressed`."""
    if senders(capture).is_empty():
        return TABLES["pressed"].empty()
    asked = senders(capture).lazy().select(*KEY, fed_back=pl.lit(True))
    known = neighbors.directions(capture).lazy().select(KEY)
    known = known.join(asked, on=KEY, how="left", maintain_order="left")
    return pl.DataFrame(measured(capture).pressed(known.collect().rechunk()))
