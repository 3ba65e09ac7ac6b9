"""The tables of l4strace, declared once.

Every table that leaves a stage has a declaration here: one sentence for the table, and for each
column its polars dtype, its unit and one sentence. Integers count and time; the unit is in the name
(``_ns``, ``_us``, ``_bytes``); null means "not present", never 0 or -1. Times are nanoseconds since
the Unix epoch. A ``forward`` direction runs from client to server. One file per stage that makes
the tables.
"""

from types import ModuleType

from l4strace.schema import analysis, capture, evidence, logs, packets
from l4strace.schema.table import Column, Table

__all__ = ["FOUND", "STREAMED", "TABLES", "Column", "Table"]


def _declared(stage: ModuleType) -> dict[str, Table]:
    return {table.name: table for table in vars(stage).values() if isinstance(table, Table)}


TABLES: dict[str, Table] = (
    _declared(packets) | _declared(capture) | _declared(logs) | _declared(evidence)
)
"""The tables that rules read, by name, in the order of declaration."""

STREAMED = tuple(_declared(packets))
"""Tables that are read out of the captures on demand, never held in memory."""

FOUND: dict[str, Table] = _declared(analysis)
"""The tables that hold what rules found."""
