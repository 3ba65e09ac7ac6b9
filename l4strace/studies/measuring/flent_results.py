"""What a flent data file shows of its flows: totals, and the delays that its series hold.

flent draws the rate of a flow on the time axis of the whole test, with gaps before its start and
between reports: the mean of what is drawn is not what the flow carried. netperf's own totals are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median, quantiles
from typing import Any

from l4strace.core import _native
from l4strace.ingest import untrusted
from l4strace.studies.planned import Row
from l4strace.studies.sources.names import L4S

ABOVE_US = 15_000.0
ABOVE_RATIO = 2.0
"""A spike exceeds the usual delay by 15 ms and by twice its height, as in `measure/spikes.rs`."""
SHORTEST_S = 0.05
"""Shorter peaks are bursts that the queue is there to absorb, as in `measure/spikes.rs`."""
FEWEST_SAMPLES = 20
"""Samples of a series from which its usual delay is known: `MIN_ROUNDS` of `measure/mod.rs`."""
Samples = list[tuple[float, float]]
"""Seconds since the epoch, and RTT in us."""


@dataclass(frozen=True)
class Spikes:
    """The spikes of all series of a file; null where no series is long enough to judge."""

    height_us: float | None = None
    length_s: float | None = None
    number: int | None = None


def flows(data: dict[str, Any]) -> list[Row]:
    """One row per test flow."""
    found = []
    polled = _rtts(data)
    pings = [one for name, one in polled.items() if name in _pings(data)]
    base = _base(polled)
    span = _span(data)
    for name, meta in _flows(data).items():
        control = untrusted.text(meta.get("CONG_CONTROL")) or ""
        if not control or (rate := _rate_bps(meta, data, name)) is None:
            continue
        scalable = bool(L4S.search(control))
        # A ping is Not-ECT: it waits with the classic flows.
        samples = polled.get(name) or (pings[0] if pings and not scalable else [])
        found.append(
            {
                "label": control,
                "l4s": scalable,
                "goodput_bps": rate,
                "average_bps": _average_bps(meta, span),
                "losses": _losses(meta),
                **_delays(samples, base),
            }
        )
    return found


def measures(data: dict[str, Any]) -> dict[str, float | None]:
    """Numbers of the whole run: RTT of pings, and spikes of every series."""
    polled = _rtts(data)
    base = _base(polled)
    pings = [us for name in _pings(data) for _, us in polled.get(name, [])]
    spikes = spikes_of(list(polled.values()), base)
    return {
        "ping_rtt": fmean(pings) if pings else None,
        "ping_queue_delay": median(pings) - base if pings and base is not None else None,
        "spike_height": spikes.height_us,
        "spike_length": spikes.length_s,
        "spikes": spikes.number,
    }


def spikes_of(series: Sequence[Samples], base: float | None) -> Spikes:
    """The highest and the longest spike of all ``series``, and how many there are."""
    long_enough = [one for one in series if len(one) >= FEWEST_SAMPLES]
    if base is None or not long_enough:
        return Spikes()
    found = [spike for one in long_enough for spike in _peaks(one, base)]
    height = max((us for us, _, _ in found), default=0.0)
    length = max((last - first for _, first, last in found), default=0.0)
    return Spikes(height, length, _events([(first, last) for _, first, last in found]))


def _peaks(samples: Samples, base: float) -> list[tuple[float, float, float]]:
    """Height in us, start and end of each stretch in which a series exceeds its usual delay."""
    usual = median(us - base for _, us in samples)
    between = median(b - a for (a, _), (b, _) in pairwise(samples))
    join = max(_native.SPIKE_JOIN_NS / 1e9, 2 * between)
    found: list[tuple[float, float, float]] = []
    for at, us in samples:
        delay = us - base
        if delay < usual + ABOVE_US or delay < (1 + ABOVE_RATIO) * usual:
            continue
        if found and at - found[-1][2] <= join:
            height, first, _ = found[-1]
            found[-1] = max(height, delay), first, at
        else:
            found.append((delay, at, at))
    # One sample stands for the time until the next one.
    whole = [(height, first, last + between) for height, first, last in found]
    return [one for one in whole if one[2] - one[1] >= SHORTEST_S]


def _events(spans: Sequence[tuple[float, float]]) -> int:
    """How many stretches of time ``spans`` make: one spike that hits two flows is one."""
    number, end = 0, float("-inf")
    for first, last in sorted(spans):
        number += first > end
        end = max(end, last)
    return number


def _flows(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Metadata of the series that are rates of TCP flows."""
    return {name: m for name, m in _series(data, "Mbits/s").items() if "::tcp_" not in name}


def _pings(data: dict[str, Any]) -> list[str]:
    return list(_series(data, "ms"))


def _series(data: dict[str, Any], unit: str) -> dict[str, dict[str, Any]]:
    """Metadata of the series in a unit."""
    metadata = untrusted.mapping(data.get("metadata"))
    series = untrusted.mapping(metadata.get("SERIES_META"))
    named = {name: untrusted.mapping(meta) for name, meta in series.items()}
    return {name: meta for name, meta in named.items() if meta.get("UNITS") == unit}


def _rate_bps(meta: dict[str, Any], data: dict[str, Any], name: str) -> float | None:
    """Rate over the flow's own time: bytes and time, else netperf's figure, else the samples."""
    carried = _carried(meta)
    elapsed = untrusted.number(meta.get("ELAPSED_TIME"))
    if carried and elapsed and elapsed > 0:
        return carried * 8 / elapsed
    if (stated := untrusted.number(meta.get("MEAN_VALUE"))) is not None:
        return stated * 1e6
    return _of_samples(_raw(data, name, "val"))


def _average_bps(meta: dict[str, Any], span: float | None) -> float | None:
    """Rate over the time of all flows: such rates add up."""
    carried = _carried(meta)
    return carried * 8 / span if carried and span else None


def _carried(meta: dict[str, Any]) -> float | None:
    """Bytes of a flow."""
    return untrusted.number(meta.get("BYTES_RECVD")) or untrusted.number(meta.get("BYTES_SENT"))


def _span(data: dict[str, Any]) -> float | None:
    """Seconds from the first report of any flow to the last; at least the longest flow."""
    times, longest = [], 0.0
    for name, meta in _flows(data).items():
        for field in ("val", "tcp_rtt", "tcp_cwnd"):
            times += [at for at, _ in _raw(data, name, field)]
        longest = max(longest, untrusted.number(meta.get("ELAPSED_TIME")) or 0.0)
    span = max(times) - min(times) if times else 0.0
    return max(span, longest) or None


def _of_samples(samples: Samples) -> float | None:
    """Mean of rates in Mbit/s, each over the time since the one before."""
    pairs = list(pairwise(samples))
    span = sum(b - a for (a, _), (b, _) in pairs)
    if span <= 0:
        return None
    return sum((b - a) * mbit for (a, _), (b, mbit) in pairs) / span * 1e6


def _losses(meta: dict[str, Any]) -> int | None:
    for name in ("TCPI_TOTAL_RETRANS", "TCP_RETRANSMIT"):
        value = meta.get(name)
        number = int(value) if isinstance(value, str) and value.isdecimal() else value
        if (found := untrusted.whole(number, least=0)) is not None:
            return found
    return None


def _rtts(data: dict[str, Any]) -> dict[str, Samples]:
    """RTTs of every series that has some: of sockets (`tcp_rtt`), and of pings."""
    found = {name: _raw(data, name, "tcp_rtt") for name in _flows(data)}
    found |= {name: _raw(data, name, "val") for name in _pings(data)}
    return {
        name: [(at, ms * 1e3) for at, ms in samples if ms > 0]
        for name, samples in found.items()
        if samples
    }


def _base(polled: dict[str, Samples]) -> float | None:
    """The smallest RTT of all series."""
    return min((us for one in polled.values() for _, us in one), default=None)


def _raw(data: dict[str, Any], name: str, field: str) -> Samples:
    """Times and values of a field of a series, in order of time."""
    values = untrusted.mapping(data.get("raw_values")).get(name)
    found = []
    for one in values if isinstance(values, list) else []:
        row = untrusted.mapping(one)
        at, value = untrusted.number(row.get("t")), untrusted.number(row.get(field))
        if at is not None and value is not None:
            found.append((at, value))
    return sorted(found)


def _delays(samples: Samples, base: float | None) -> dict[str, float | None]:
    if not samples or base is None:
        return {}
    rtts = [us for _, us in samples]
    # `inclusive` is the linear quantile that the rows of packets have.
    highest = quantiles(rtts, n=100, method="inclusive")[-1] if len(rtts) > 1 else rtts[0]
    return {
        "rtt_min_us": min(rtts),
        "rtt_mean_us": fmean(rtts),
        "queue_delay_us": median(rtts) - base,
        "queue_delay_p99_us": highest - base,
    }
