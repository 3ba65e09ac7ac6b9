"""A part of a run: some flows by number, port, host or DSCP, and a stretch of time.

A stretch of time is cut out before anything is derived, so that rules judge it alone. Flows are
chosen after the rules have judged the whole run: what is found about a flow does not depend on
which others are shown, because its neighbors shape its queue.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, NamedTuple, TypeVar

import polars as pl

from l4strace.errors import UsageError
from l4strace.evidence import Capture, traffic
from l4strace.model import Analysis
from l4strace.schema.keys import KEY
from l4strace.schema.words import CODEPOINTS
from l4strace.wording.moments import NANO, axis_of

C = TypeVar("C", bound=Capture)
Network = IPv4Network | IPv6Network

SUMS = {
    "packets": "sent_packets",
    "data_packets": "sent_packets",
    "payload_bytes": "sent_bytes",
    **{name: name for name in CODEPOINTS},
    **{f"data_{name}": name for name in CODEPOINTS},
    **{f"ce_fed_back_{bound}": f"ce_{bound}" for bound in ("lo", "hi", "best")},
    **{name: name for name in ("acked_bytes", "retransmits", "out_of_order")},
    **{name: name for name in ("rtt_samples", "ece_acks")},
    "reported_packets": "acked_packets",
}
"""Columns of `directions` that are sums of a column of `rounds`."""
ON_THE_WIRE = {"data_segments": "data_packets", "ce_segments": "data_ce"}
"""Packets on the wire, and those of the capture to which they stay in proportion."""

MOST_S = 1e9
"""Thirty years: after any run, and in nanoseconds of Unix time still a 64-bit integer."""


class Selection(NamedTuple):
    """The selected part of a run; empty selects all. Times are seconds on the page's axis."""

    flows: tuple[int, ...] = ()
    ports: tuple[int, ...] = ()
    hosts: tuple[Network, ...] = ()
    dscps: tuple[int, ...] = ()
    from_s: float | None = None
    to_s: float | None = None

    @classmethod
    def of(
        cls,
        flows: Iterable[int] | None = None,
        ports: Iterable[int] | None = None,
        hosts: Iterable[str] | None = None,
        dscps: Iterable[int] | None = None,
        from_s: float | None = None,
        to_s: float | None = None,
    ) -> Selection:
        """Builds it from the options. Raises UsageError for a time outside any run and for a host
        that is neither an address nor a network."""
        for option, moment_s in (("--from", from_s), ("--to", to_s)):
            if moment_s is not None and not abs(moment_s) <= MOST_S:
                raise UsageError(f"{option} {moment_s:g}: not a number of seconds of a run")
        if from_s is not None and to_s is not None and from_s >= to_s:
            raise UsageError(f"--from {from_s:g} is not before --to {to_s:g}")
        networks = tuple(_network(host) for host in hosts or ())
        return cls(
            tuple(flows or ()), tuple(ports or ()), networks, tuple(dscps or ()), from_s, to_s
        )

    @property
    def of_flows(self) -> bool:
        """Whether the selection leaves out flows."""
        return bool(self.flows or self.ports or self.hosts or self.dscps)

    @property
    def of_time(self) -> bool:
        """Whether the selection leaves out a stretch of time."""
        return self.from_s is not None or self.to_s is not None

    def chosen(self, flows: pl.DataFrame, directions: pl.DataFrame) -> pl.Series:
        """Numbers of the flows in rows of `flows` that are chosen, each once.

        A DSCP is that of most packets of a direction, in any capture.
        """
        wanted = pl.lit(True)
        if self.flows:
            wanted &= pl.col("flow").is_in(self.flows)
        if self.ports:
            wanted &= pl.any_horizontal(
                pl.col("client_port", "server_port").is_in(self.ports).fill_null(False)
            )
        if self.hosts:
            known = pl.concat([flows["client"], flows["server"]]).drop_nulls().unique().to_list()
            ours = [text for text in known if self._has(text)]
            wanted &= pl.any_horizontal(pl.col("client", "server").is_in(ours).fill_null(False))
        if self.dscps:
            marked = directions.filter(pl.col("dscp").is_in(self.dscps))
            wanted &= pl.col("flow").is_in(marked["flow"].implode())
        return flows.filter(wanted)["flow"].unique(maintain_order=True)

    def found(self, capture: Capture) -> pl.Series:
        """Numbers of the chosen flows of a capture, over TCP and UDP."""
        known = traffic(capture)
        return self.chosen(known.flows, known.directions)

    def numbers(self, capture: Capture) -> pl.Series:
        """As `found`. Raises UsageError when no flow is chosen."""
        found = self.found(capture)
        if found.is_empty():
            raise UsageError("no flow matches the selection", "`l4strace flows` lists them.")
        return found

    def bounds_ns(self, capture: Capture) -> tuple[int, int]:
        """First moment that is chosen and the first after it, on the run's clock."""
        axis = axis_of(capture)
        first = axis.origin_ns + round(self.from_s * NANO) if self.from_s else axis.origin_ns
        end = axis.end_ns + 1 if self.to_s is None else axis.origin_ns + round(self.to_s * NANO)
        return first, end

    def _has(self, address: str) -> bool:
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self.hosts)


def in_time(capture: Capture, selection: Selection) -> Capture:
    """``capture`` between the selection's moments, at the resolution of rounds.

    Rounds count where they begin. Counters of `directions` that `rounds` has are counted anew, of
    data packets. Handshakes, options, what is reported as lost, pauses before reports, UDP whose
    feedback is not read and the comparison of two captures are of the whole run.
    Raises UsageError when nothing lies between the moments.
    """
    if not selection.of_time:
        return capture
    first, end = selection.bounds_ns(capture)
    rounds = capture.rounds.filter(pl.col("start_ns") >= first, pl.col("start_ns") < end)
    sent = capture.udp_rounds.filter(pl.col("start_ns") >= first, pl.col("start_ns") < end)
    kernel = capture.kernel.filter(pl.col("ts_ns") >= first, pl.col("ts_ns") < end)
    qdiscs = capture.qdiscs.filter(pl.col("ts_ns") >= first, pl.col("ts_ns") < end)
    lasts = (pl.col("first_ns") < end) & (pl.col("last_ns") >= first)
    of_senders = capture.udp_kernel.filter(pl.col("ts_ns") >= first, pl.col("ts_ns") < end)
    logged = pl.col("flow").is_in(pl.concat([kernel["flow"], of_senders["flow"]]).implode())
    alive, udp = (table.filter(lasts | logged) for table in (capture.flows, capture.udp_flows))
    if alive.is_empty() and udp.is_empty():
        raise UsageError(
            "no flow between --from and --to",
            f"The run is {axis_of(capture).length:.1f} s long.",
        )
    kept = pl.col("flow").is_in(alive["flow"].implode())
    return replace(
        capture,
        flows=alive,
        directions=_counted(capture.directions.filter(kept), capture.rounds, rounds),
        rounds=rounds,
        kernel=kernel,
        qdiscs=qdiscs,
        paths=capture.paths.filter(kept | pl.col("flow").is_in(udp["flow"].implode())),
        udp_flows=udp,
        udp_directions=capture.udp_directions.join(udp, on=["source", "flow"], how="semi"),
        udp_kernel=of_senders,
        udp_rounds=sent,
        udp_round_trips=capture.udp_round_trips.filter(
            pl.col("start_ns") < end, pl.col("end_ns") > first
        ),
    )


def of_flows(capture: C, selection: Selection) -> C:
    """``capture`` or evidence with the chosen flows alone; they keep their numbers.

    Samples of a kernel log that belong to no flow stay. Raises UsageError when no flow is chosen.
    """
    if not selection.of_flows:
        return capture
    chosen = selection.numbers(capture)
    tables: dict[str, Any] = {
        field.name: _of(table, chosen)
        for field in fields(capture)
        if isinstance(table := getattr(capture, field.name), pl.DataFrame)
    }
    return replace(capture, **tables)


def findings_of(analysis: Analysis, shown: Capture) -> Analysis:
    """The findings about the flows in ``shown`` and about the run as a whole."""
    flows = {None, *shown.flows["flow"], *shown.udp_flows["flow"]}
    return replace(
        analysis,
        findings=tuple(finding for finding in analysis.findings if finding.flow in flows),
        skipped=tuple(skipped for skipped in analysis.skipped if skipped.flow in flows),
        checklists=tuple(one for one in analysis.checklists if one.flow in flows),
    )


def _network(host: str) -> Network:
    try:
        return ip_network(host, strict=False)
    except ValueError as error:
        raise UsageError(
            f"--host {host}: neither an address nor a network", "Such as 10.0.1.2 or 10.0.0.0/16."
        ) from error


def _of(table: pl.DataFrame, chosen: pl.Series) -> pl.DataFrame:
    for name in ("flow", "other_flow"):
        if name in table.columns:
            column = pl.col(name)
            table = table.filter(column.is_in(chosen.implode()) | column.is_null())
    return table


def _counted(directions: pl.DataFrame, before: pl.DataFrame, rounds: pl.DataFrame) -> pl.DataFrame:
    """Rows of `directions` counted from ``rounds``; those without any round ``before`` stay.

    Of one whose first rounds are left out `from_start` is false.
    """
    weight = pl.col("rtt_samples").fill_null(0)
    sums = rounds.group_by(KEY).agg(
        *(pl.col(source).sum().alias(name) for name, source in SUMS.items()),
        pl.col("rtt_min_us").min(),
        ((pl.col("rtt_mean_us") * weight).sum() / weight.sum()).alias("rtt_mean_us"),
        pl.col("rtt_max_us").max(),
        pl.col("first_frame").min(),
        pl.col("last_frame").max(),
        pl.col("start_ns").min().alias("first_ns"),
        pl.col("end_ns").max().alias("last_ns"),
    )
    had = directions.join(before, on=KEY, how="semi")
    silent = directions.join(before, on=KEY, how="anti")
    each = {
        name: pl.when(pl.col(seen) > 0).then(pl.col(name) / pl.col(seen)).otherwise(1.0)
        for name, seen in ON_THE_WIRE.items()
    }
    anew = {name: pl.col(f"{name}_anew") for name in sums.columns if name not in KEY}
    begun = before.group_by(KEY).agg(pl.col("start_ns").min().alias("begun_ns"))
    cut = pl.col("first_ns_anew").is_null() | (pl.col("first_ns_anew") > pl.col("begun_ns"))
    anew["from_start"] = pl.col("from_start") & ~cut
    # What a transport does not show stays unknown.
    anew |= {
        name: pl.when(pl.col(name).is_not_null()).then(anew[name].fill_null(0)) for name in SUMS
    }
    recounted = (
        had.with_columns(**each)
        .join(sums, on=KEY, how="left", suffix="_anew")
        .join(begun, on=KEY)
        .with_columns(**anew)
        .with_columns((pl.col(name) * pl.col(seen)).round() for name, seen in ON_THE_WIRE.items())
    )
    return (
        pl.concat(
            [silent, recounted.select(directions.columns)],
            how="vertical_relaxed",
        )
        .select(pl.col(name).cast(dtype) for name, dtype in directions.schema.items())
        .sort(KEY)
    )
