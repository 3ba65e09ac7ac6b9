"""How a sender responds: to marks, loss, a classic bottleneck, its RTT and free capacity."""

import math
from itertools import pairwise

import polars as pl

from l4strace.derive.senders import controlled
from l4strace.evidence import Evidence, Row, kept, traffic
from l4strace.model import Confidence, Finding, Severity
from l4strace.prague.constants import FRAC_CWND_UNIT
from l4strace.rules.checklist.sender import FAIL, NOT_SHOWN, PASS, Answer, Sender
from l4strace.rules.l4s201_ece_ignored import MIN_WINDOW
from l4strace.rules.l4s203_loss_ignored import MIN_EPISODES
from l4strace.rules.support import logged_reductions, paths, subjects
from l4strace.rules.support.datagrams import MEDIA_RATE, UNKNOWN_LAW
from l4strace.schema.words import BOTTLENECKS, CLASSIC_OR_PER_FLOW
from l4strace.wording.quantities import count, quantity, share

CLASSIC = ("classic", "shallow", CLASSIC_OR_PER_FLOW)
"""Bottlenecks that mark classic flows too: Reno-friendly behavior is required there."""
FRIENDLY = 0.3
"""Smallest reduction at a loss: CUBIC reduces by three tenths (RFC 9438 section 4.6), Reno by
half."""
SMALL_WINDOW_PACKETS = 2
"""Packets below which a window must still shrink (RFC 9331 section A.1.7)."""
RTT_RATIO = 1.5
"""Ratio of base RTTs from which their effect on the rates is seen. By eye."""
INITIAL_WINDOW = 10
"""Packets (RFC 6928)."""
START_MARGIN = 3
"""Times the round trips of a bare slow start that a fast start may take: marks end slow start
before the path is full. By eye."""
LEAST_STEP = 8
"""Packets that the window must gain before additive increase differs from a faster one. By eye."""
MIN_SAMPLES = 20
"""Samples below two packets from which the window works there: one dip shows little. By eye."""
LONE = 0.9
"""Share of the path's bytes from which a flow alone fills it."""


WINDOW_UNKNOWN = {"rtp": MEDIA_RATE, "quic": "its packets do not show its window"}
"""Why the reductions of a transport are not compared."""


def scalable(sender: Sender) -> Answer:
    """The law that explains the window."""
    if finding := sender.found("L4S202"):
        return FAIL, finding.message
    if sender.over_udp:
        return _scalable_over_udp(sender)
    row = sender.law or {}
    rounds = count(row.get("samples") or 0, "marked round")
    match row.get("law"):
        case "alpha/2":
            return PASS, f"The window follows alpha/2 in {rounds}."
        case "floor":
            return NOT_SHOWN, f"The classic-ECN fallback sets the reductions in {rounds}."
        case "half":
            return FAIL, f"The sender halves its window at marks, in {rounds}."
        case "none":
            return FAIL, f"The window does not shrink in {rounds}."
    return NOT_SHOWN, f"No law explains the window clearly ({rounds} can be compared)."


def _scalable_over_udp(sender: Sender) -> Answer:
    """Whether it follows UDP Prague's controller, or at least halves its rate under many marks.

    Where packets show neither, the sender's log shows each reduction.
    """
    if (classic := sender.found("L4S308")) and classic.variant == logged_reductions.VARIANT:
        return FAIL, classic.message
    if row := sender.of(controlled.followed(sender.evidence)):
        return PASS, (
            "The data in flight is the window of UDP Prague's controller, replayed from the "
            f"feedback, in {share(row['share'])} of {count(row['trips'], 'round trip')} with "
            f"{count(row['reductions'], 'reduction')}."
        )
    if row := sender.of(sender.evidence.pressed):
        before, after = (quantity(row[name], "bit/s") for name in ("before_bps", "after_bps"))
        fact = f"Marks asked for half of the rate: it fell from {before} to {after}."
        return (PASS if row["after_bps"] <= row["before_bps"] / 2 else NOT_SHOWN), fact
    logs = logged_reductions.by_half_alpha(sender.evidence)
    for row in logs.filter(flow=sender.flow, forward=sender.forward).head(1).to_dicts():
        made = count(row["samples"], "reduction")
        return PASS, (
            f"Its log shows {made} after CE, by {share(row['fraction'])} in the median; alpha/2 is "
            f"at most {share(row['half_alpha'])}."
        )
    return NOT_SHOWN, f"Not compared: {UNKNOWN_LAW}."


def loss(sender: Sender) -> Answer:
    """The median reduction at losses: as the kernel logged it, else as packets show it."""
    if finding := sender.found("L4S203"):
        return FAIL, finding.message
    if (why := WINDOW_UNKNOWN.get(sender.handshake["transport"])) is not None:
        return NOT_SHOWN, f"Not compared: {why}."
    needed = (*subjects.KEY, "cause", "origin", "cwnd_before", "fraction")
    cuts = sender.evidence.cuts.select(needed)
    cuts = cuts.filter(flow=sender.flow, forward=sender.forward, cause="loss")
    logged = cuts.filter(origin="kernel")
    shown = cuts.filter(source=sender.row["source"])
    cuts = logged if logged.height else shown.filter(pl.col("cwnd_before") >= MIN_WINDOW)
    late = bool((sender.noise or {}).get("late_packets"))
    if cuts.height < MIN_EPISODES or (late and not logged.height):
        seen = count(cuts.height, "reduction")
        return (
            NOT_SHOWN,
            f"{seen} after loss (threshold {MIN_EPISODES}){' with reordering' * late}.",
        )
    median = cuts.select(pl.col("fraction").median()).item() or 0.0
    fact = f"The window shrinks by {share(median)} after loss (median of {cuts.height:,})."
    return (PASS, fact) if median >= FRIENDLY else (NOT_SHOWN, fact)


def fallback(sender: Sender) -> Answer:
    """Only behind a classic bottleneck a fallback has anything to show."""
    kind = (sender.bottleneck or {}).get("kind") or "unknown"
    if kind not in CLASSIC:
        high = sender.found("L4S301", "L4S303")
        also = f" {high.rule}: {_acts(high)}" if high else ""
        return NOT_SHOWN, f"No classic ECN bottleneck (here: {BOTTLENECKS[kind]}).{also}"
    if finding := sender.found("L4S304", "L4S305"):
        return FAIL, finding.message
    if finding := sender.found("L4S309"):
        return PASS, finding.message
    if (sender.law or {}).get("law") == "floor":
        return PASS, f"Behind a {BOTTLENECKS[kind]} the fallback's floor sets the reductions."
    packets = sender.found("L4S308")
    if packets is not None and packets.severity >= Severity.WARNING:
        return FAIL, packets.message
    if finding := sender.found("L4S306"):
        return FAIL, finding.message
    return NOT_SHOWN, f"Behind a {BOTTLENECKS[kind]}; the packets do not show a fallback."


def _acts(high: Finding) -> str:
    """What the sender did at a score above 8: a replay from packets does not show its use."""
    if high.confidence <= Confidence.LOW:
        return "the detector takes the path for classic, and no reduction shows a fallback."
    if high.severity <= Severity.NOTICE:
        return "the score is high nevertheless."
    return "the fallback acts nevertheless."


def rtt(sender: Sender) -> Answer:
    """Two L4S senders at one bottleneck whose base RTTs differ."""
    evidence, own = sender.evidence, sender.row["rtt_min_us"]
    pairs = subjects.once(evidence, evidence.coexistence)
    pairs = pairs.filter(flow=sender.flow, forward=sender.forward)
    if pairs.height and own:
        others = _base_rtts(evidence)
        for pair in pairs.join(others, on=["other_flow", "forward"]).iter_rows(named=True):
            if pair["other_rtt_us"] and pair["rate_bps"] and pair["other_rate_bps"]:
                answer = _rtt_pair(pair, own)
                if answer is not None:
                    return answer
    return NOT_SHOWN, "Needs two L4S flows with different base RTTs at one bottleneck."


def _base_rtts(evidence: Evidence) -> pl.DataFrame:
    """Base RTT of each L4S sender, as another flow looks at it."""
    base = subjects.once(evidence, evidence.directions).select(*subjects.KEY, "rtt_min_us")
    return (
        subjects.scalable(evidence)
        .join(base, on=subjects.KEY)
        .select("forward", other_flow="flow", other_rtt_us="rtt_min_us")
    )


def _rtt_pair(pair: Row, own: float) -> Answer | None:
    """A rate that goes with 1/RTT is Reno's; half of that in the exponent is clearly less."""
    ratio, rates = pair["other_rtt_us"] / own, pair["rate_bps"] / pair["other_rate_bps"]
    if ratio < 1:
        ratio, rates = 1 / ratio, 1 / rates
    if ratio < RTT_RATIO:
        return None
    fact = (
        f"Base RTTs differ {ratio:.1f}-fold from flow {pair['other_flow']}, rates {rates:.1f}-fold."
    )
    if rates <= math.sqrt(ratio):
        return PASS, fact
    return (FAIL if rates >= ratio else NOT_SHOWN), fact


def small_window(sender: Sender) -> Answer:
    """A fractional window below two packets in the kernel's own state."""
    needed = "Needs a kernel log with Prague's fractional window after the first mark."
    if sender.kernel.is_empty():
        return NOT_SHOWN, needed
    known = sender.kernel.filter((pl.col("frac_cwnd") > 0) & pl.col("saw_ce").fill_null(False))
    if known.is_empty():
        return NOT_SHOWN, needed
    least = known.select(pl.col("frac_cwnd").min()).item() / FRAC_CWND_UNIT
    below = known.filter(pl.col("frac_cwnd") < SMALL_WINDOW_PACKETS * FRAC_CWND_UNIT).height
    if below >= MIN_SAMPLES:
        seen = count(below, "sample")
        return PASS, f"The window is below two packets in {seen}, at least {least:.2f}."
    return NOT_SHOWN, (
        f"The path hardly asked for it: {count(below, 'sample')} below two packets (threshold "
        f"{MIN_SAMPLES}), the smallest window is {least:.1f}."
    )


def increase(sender: Sender) -> Answer:
    """How long a sender takes to use free capacity, compared with one packet per round trip."""
    phases = _phases(sender)
    rises = [
        (before, after)
        for before, after in pairwise(phases)
        if after["changed"] == "capacity" and after["capacity_bps"] > before["capacity_bps"]
    ]
    for before, after in rises:
        gained = _window(sender, after) - _window(sender, before)
        if not after["ramp_ns"] or gained < LEAST_STEP:
            continue
        rounds = after["ramp_ns"] / 1e3 / after["base_rtt_us"]
        fact = f"Capacity rose by {gained:.0f} packets, the window in {rounds:.0f} round trips."
        if rounds < gained / 2:
            return PASS, fact
        return (FAIL if rounds >= gained else NOT_SHOWN), fact
    return NOT_SHOWN, "Needs a lone flow and a capacity that rises while it sends."


def start(sender: Sender) -> Answer:
    """How long a lone sender takes to fill its path, compared with plain slow start."""
    phases = _phases(sender)
    if finding := sender.found("L4S505"):
        return FAIL, finding.message
    if finding := sender.found("L4S204"):
        return NOT_SHOWN, f"{finding.rule}: {finding.message}"
    first = phases[0] if phases else {}
    if not first.get("ramp_ns") or not first["capacity_shown"]:
        return NOT_SHOWN, "Needs a lone flow that fills a path whose capacity the packets show."
    needed = max(math.ceil(math.log2(max(_window(sender, first) / INITIAL_WINDOW, 1))), 1)
    rounds = first["ramp_ns"] / 1e3 / first["base_rtt_us"]
    fact = (
        f"It filled {quantity(first['capacity_bps'], 'bit/s')} in {rounds:.1f} round trips; a bare "
        f"slow start needs {needed}."
    )
    return (PASS if rounds <= START_MARGIN * needed else NOT_SHOWN), fact


@kept
def _carried(evidence: Evidence) -> dict[bool, int]:
    """Bytes of all flows, by direction."""
    near = subjects.once(evidence, traffic(evidence).directions)
    return dict(near.group_by("forward").agg(pl.col("payload_bytes").sum()).iter_rows())


def _phases(sender: Sender) -> list[Row]:
    """Phases of the sender's path where nearly all bytes are its own; else none."""
    if (sender.row["payload_bytes"] or 0) < LONE * _carried(sender.evidence)[sender.forward]:
        return []
    mine = [
        phases
        for phases in paths.phases(sender.evidence)
        if all(phases[0][key] == sender.row[key] for key in subjects.KEY)
    ]
    known = ("capacity_bps", "base_rtt_us")
    return [phase for phase in (mine[0] if mine else ()) if all(phase[name] for name in known)]


def _window(sender: Sender, phase: Row) -> float:
    """Packets that fill the path of a phase."""
    size = sender.row["max_payload"] or 1448
    return float(phase["capacity_bps"] * phase["base_rtt_us"] / 8e6 / size)
