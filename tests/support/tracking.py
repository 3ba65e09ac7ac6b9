"""Tracked captures as frames, and the big flow of one, for the acceptance tests."""

from functools import cache
from pathlib import Path

import polars as pl

from l4strace.core import _native

FOUR_TUPLE = ["client", "client_port", "server", "server_port"]


@cache
def tracked(*paths: Path) -> dict[str, pl.DataFrame]:
    """The tables of the Capture stage."""
    tables = _native.track([str(path) for path in paths])
    return {name: pl.DataFrame(table) for name, table in tables.items()}


def directions(path: Path) -> pl.DataFrame:
    """Directions with the columns of their flow."""
    tables = tracked(path)
    flows = tables["flows"].select("source", "flow", *FOUR_TUPLE, "mode", "vantage", "ended")
    return tables["directions"].join(flows, on=["source", "flow"])


def both_ends(sender: Path, receiver: Path) -> pl.DataFrame:
    """Directions that two captures saw; columns of the receiver's capture end in ``_far``."""
    key = [*FOUR_TUPLE, "forward"]
    return directions(sender).join(directions(receiver), on=key, suffix="_far")


def rounds_of(path: Path, client_port: int) -> pl.DataFrame:
    """Rounds of the client's data."""
    tables = tracked(path)
    flow = tables["flows"].filter(pl.col("client_port") == client_port)["flow"][0]
    return tables["rounds"].filter((pl.col("flow") == flow) & pl.col("forward"))
