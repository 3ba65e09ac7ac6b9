"""The tables of l4strace, declared once.

Every table that leaves a stage has a declaration here: one sentence for the table, and for each
column its polars dtype, its unit and one sentence. Integers count and time; the unit is in the name
(``_ns``, ``_us``, ``_bytes``); null means "not present", never 0 or -1. Times are nanoseconds since
the Unix epoch. A ``forward`` direction runs from client to server. One file per stage that makes
the tables.
"""

from l4strace.schema.capture import (
    DIRECTIONS,
    FLOWS,
    KERNEL,
    PACKETS,
    PATHS,
    ROUNDS,
    SOURCES,
    STATS,
)
from l4strace.schema.evidence import BOTTLENECKS, BUILDS, COEXISTENCE, CUTS, DETECTOR, SPIKES
from l4strace.schema.table import Column, Table

__all__ = ["TABLES", "Column", "Table"]

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        SOURCES,
        PACKETS,
        FLOWS,
        DIRECTIONS,
        ROUNDS,
        PATHS,
        KERNEL,
        STATS,
        CUTS,
        DETECTOR,
        BUILDS,
        BOTTLENECKS,
        COEXISTENCE,
        SPIKES,
    )
}
