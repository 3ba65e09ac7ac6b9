"""Directions of which a capture may show nearly every packet twice, as retransmissions."""

import polars as pl

from l4strace.derive import overall
from l4strace.evidence import Evidence, kept
from l4strace.schema.keys import KEY

REPEATED_SHARE = 0.45
"""Part of the packets that repeat earlier ones, from which nearly each is there twice: under
loss a sender would long have stopped. By eye."""
MOST_REPEATED = 0.8
"""Part above which more than five of each are there: no flow passes so many interfaces of a host,
and what repeats a few packets without end is no copy of a transfer. By eye."""
MIN_REPEATED = 50
"""Such packets that are no accident of a short flow: by eye."""
REPAIRED = 0.25
"""Part of the rounds with such packets in which SACK reports holes, from which these are repairs:
copies leave no hole. By eye: simulated BBR at half of the packets lost (s38411-067) has 0.48."""


@kept
def repeated(evidence: Evidence) -> pl.DataFrame:
    """Rows of `directions` whose retransmissions are copies for the most part, or may be."""
    again = pl.col("retransmits").fill_null(0)
    nearly_all = (again / pl.col("packets")).is_between(REPEATED_SHARE, MOST_REPEATED)
    found = evidence.directions.filter((again >= MIN_REPEATED) & nearly_all)
    if found.is_empty():
        return found
    repaired = overall.directions(evidence).filter(pl.col("with_holes") >= REPAIRED)
    return found.join(repaired, on=KEY, how="anti", maintain_order="left")
