"""What flows over UDP carry: counted to the packet, and how far it is judged.

Codepoints, sizes and times stand in clear in every packet. Losses, RTT and marks that arrived are
in feedback that QUIC and SRTCP encrypt; where that of UDP Prague and of RTP (RFC 8888) is read, or
keys open that of QUIC, rules judge the flow as one of TCP, apart from its response: its law is
another. That of UDP Prague is known, and its controller is replayed.
"""

from collections.abc import Mapping

import polars as pl

from l4strace.derive import neighbors
from l4strace.derive.senders import controlled, logged, sender_logs
from l4strace.evidence import Capture, Evidence, Row, kept, over_udp, traffic
from l4strace.model import Finding, Skipped
from l4strace.schema.keys import DIRECTION
from l4strace.schema.vantage import at_sender
from l4strace.schema.words import CODEPOINTS, ENCRYPTED, TRANSPORTS, Stat
from l4strace.wording.quantities import count, listed, share

NAMED = 3
"""Flows that a reason names."""
SENT = {name: label for name, label in CODEPOINTS.items() if name != "ce"}
"""Codepoints that senders set."""

UNKNOWN_LAW = "which law its sender follows is not known"
"""Why the response of a flow over UDP is not judged."""

UNREPLAYED = "too few round trips here show the window of UDP Prague's controller"
"""Why the response of UDP Prague, whose law is known, is not judged."""

MEDIA_RATE = "the rate of its media may set what is in flight"
"""Why the window of a flow over RTP is not judged."""

UNREAD = {
    "quic": "QUIC encrypts its feedback",
    "rtp": "no feedback of RTP (RFC 8888) stands in clear",
    "udp-prague": "no feedback of UDP Prague was captured",
    "udp": "what runs over plain UDP is not known, and it may be a tunnel",
}
"""Why a transport is not judged."""

OPENED = {
    "quic": "the keys of the connection (SSLKEYLOGFILE) would show it",
    "rtp": "RTCP in clear would show it",
    "udp-prague": "a capture of both directions would show it",
}
"""The input that shows the feedback of a transport."""

KEYS = (
    "the keys of the connection (SSLKEYLOGFILE) would show RTT, losses and marks, a qlog of the "
    "sender the window too"
)
"""What would show the feedback of QUIC, and more."""

UNSTATED = "no log shows each change of the sender's window"
"""Why a log is of no use."""

UNMARKED = ", and no packet of it is CE here"
"""Marks that a capture near the sender does not show."""

LOGGED = {"quic": "qlog", "udp-prague": "UDP Prague's -v"}
"""The log that shows the window of a transport's sender."""


@kept
def flows(capture: Capture) -> pl.DataFrame:
    """One row per flow over UDP, largest first: its larger direction, as all captures saw it.

    Columns: `flow`, `forward`, `transport`, `packets`, `bytes`; the codepoints with which they
    arrived at the capture with most marks; `codepoint` that most of them left with, null where all
    are CE; `share` of CE; whether the receiver's feedback is read (`reported`), why given keys do
    not open it (`locked`), and whether a capture at its sender shows how it `left`.
    """
    named = over_udp(capture).select("flow", "transport").unique("flow", keep="first")
    places = traffic(capture).flows.select("source", "flow", "vantage")
    fed_back = pl.col("ce_fed_back_best") / pl.col("reported_packets")
    counted = _directions(capture).select(
        *("source", "flow", "forward", "packets", *CODEPOINTS),
        bytes="payload_bytes",
        share=pl.max_horizontal(pl.col("ce") / pl.col("packets"), fed_back),
    )
    counted = counted.join(places, on=["source", "flow"], how="left").with_columns(left=at_sender())
    # The capture nearer to the sender has the fewest marks, and the least erased.
    nearer = counted.sort("flow", "forward", "ce", "not_ect", "source")
    ways = nearer.group_by("flow", "forward", maintain_order=True).agg(
        pl.col("bytes").first(),
        pl.col("packets", *CODEPOINTS).last(),
        most(SENT).first().alias("codepoint"),
        share=pl.col("share").max(),
        left=pl.col("left").any(),
    )
    larger = ways.sort("bytes", "packets", descending=True).unique("flow", keep="first")
    reported = pl.col("flow").is_in(capture.flows["flow"].implode())
    hidden = (pl.col("transport") == "quic") & ~pl.col("reported")
    return (
        larger.join(named, on="flow")
        .with_columns(reported=reported)
        .with_columns(locked=pl.when(hidden).then(pl.lit(_keys_unused(capture))))
        .select(
            *("flow", "forward", "transport", "packets", "bytes", *CODEPOINTS),
            *("codepoint", "share", "reported", "locked", "left"),
        )
        .sort("bytes", "flow", descending=[True, False])
    )


def _keys_unused(capture: Capture) -> str | None:
    """`no key of the log opens ...`, where keys were given in vain."""
    why = capture.stats.filter(pl.col("name") == Stat.KEYS_UNUSED)["detail"].drop_nulls()
    return str(why[0]).removeprefix(f"{ENCRYPTED}: ").rstrip(".") if why.len() else None


def _directions(capture: Capture) -> pl.DataFrame:
    """The directions of all flows over UDP."""
    of_udp = pl.col("flow").is_in(over_udp(capture)["flow"].implode())
    return traffic(capture).directions.filter(of_udp)


def most(labels: Mapping[str, str]) -> pl.Expr:
    """The label of the largest of these columns, of equals the first; null where all are 0."""
    # A list of each row's counters takes ten times as long.
    largest = pl.max_horizontal(*labels)
    return pl.coalesce(
        pl.when(pl.col(name) == largest, largest > 0).then(pl.lit(label))
        for name, label in labels.items()
    )


def ect1(capture: Capture) -> pl.DataFrame:
    """Rows of `flows` that are sent as L4S."""
    return flows(capture).filter(pl.col("codepoint") == CODEPOINTS["ect1"])


def capable(capture: Capture) -> pl.DataFrame:
    """Rows of `flows` that are not sent as Not-ECT."""
    return flows(capture).filter(pl.col("codepoint").ne_missing(CODEPOINTS["not_ect"]))


def clause(capture: Capture, *, arrives: bool = True) -> str:
    """`2 of 3 flows over UDP (QUIC, RTP) send ECT(1), up to 8.0 % of their packets are CE`.

    The marks are left out where ECT(1) does not arrive. What is not ECT(1) may have left as ECT(1)
    where no capture stood at the sender.
    """
    known, sent = flows(capture), ect1(capture)
    if sent.is_empty():
        alone, left = known.height == 1, known["left"].all()
        who = (
            f"flow {known['flow'][0]} ({_transports(known)})" if alone else f"none of {_who(known)}"
        )
        codepoint = (known["codepoint"][0] or f"only {CODEPOINTS['ce']}") if alone else "ECT(1)"
        return f"{who} sends {codepoint}" if left else f"{who} is {codepoint} at this capture"
    most: float = sent["share"].max()  # type: ignore[assignment]
    if known.height == 1:
        who, verb, part = f"flow {sent['flow'][0]} ({_transports(sent)})", "sends", "of its packets"
    else:
        who = f"{sent.height:,} of {count(known.height, 'flow')} over UDP ({_transports(sent)})"
        verb = "sends" if sent.height == 1 else "send"
        part = "of its packets" if sent.height == 1 else "of the packets of one"
    if most:
        marked = f", {share(most)} {part} are CE"
    else:
        counted = _marked_by_log(capture, sent)
        marked = f", {share(counted)} {part} are CE by its log" if counted else UNMARKED
    return f"{who} {verb} ECT(1){marked if arrives else ''}"


def _marked_by_log(capture: Capture, sent: pl.DataFrame) -> float:
    """Largest share of CE that the log of one of these senders counts."""
    logs = sender_logs.summary(capture).join(sent, on=DIRECTION, how="semi")
    counted: float | None = (logs["delivered_ce"] / logs["delivered"]).max()  # type: ignore[assignment]
    return counted or 0.0


def shared(evidence: Evidence, phase: Row) -> str:
    """Why the capacity of a path is not judged: how much of UDP came through is not known."""
    here = neighbors.datagrams(evidence).filter(
        pl.col("payload_bytes") > 0, source=phase["source"], path=phase["path"]
    )
    largest = here.sort("payload_bytes", "flow", descending=[True, False])["flow"].unique(
        maintain_order=True
    )
    names = listed([named(evidence, flow) for flow in largest.head(NAMED)])
    verb = "takes" if largest.len() == 1 else "take"
    return f"{names} {verb} part of the link over UDP; whether all of it arrives is not shown"


def may_be_fixed(evidence: Evidence, flow: int) -> bool:
    """The application may set the rate of a flow over UDP, as that of a call.

    Of TCP, `held_back` shows whether it does.
    """
    if flow not in over_udp(evidence)["flow"]:
        return False
    return evidence.coexistence.filter(pl.col("flow") == flow)["held_back"].is_null().any()


def named(evidence: Capture, flow: int) -> str:
    """`flow 3`, and where it runs over UDP its transport: `flow 2 (UDP Prague)`."""
    rows = over_udp(evidence).filter(pl.col("flow") == flow)
    return f"flow {flow} ({_transports(rows)})" if rows.height else f"flow {flow}"


def media(evidence: Evidence) -> list[Skipped]:
    """That a rule on windows does not judge media over RTP, where it reads their feedback."""
    read = flows(evidence).filter(pl.col("transport") == "rtp", pl.col("reported"))
    if read.is_empty():
        return []
    return [Skipped(f"{_who(read)}: {MEDIA_RATE}")]


def unread(known: pl.DataFrame) -> list[Skipped]:
    """That a rule on feedback does not judge those of some `flows` whose feedback is not read."""
    hidden = known.filter(~pl.col("reported"))
    shown = {name: rows for (name,), rows in hidden.group_by("transport")}
    return [
        Skipped(f"{_who(rows)}: {UNREAD[name]}; {rows['locked'][0] or opened}")
        for name, opened in OPENED.items()
        if (rows := shown.get(name)) is not None
    ]


def lacking(known: pl.DataFrame, why: str) -> list[Finding | Skipped]:
    """What `unread` says, or ``why`` where no feedback is hidden."""
    return [*unread(known)] or [Skipped(why)]


def unlogged(evidence: Evidence, known: pl.DataFrame) -> list[Skipped]:
    """That a rule on windows does not judge those of some `flows` whose log does not show it."""
    known = known.filter(pl.col("transport").is_in(list(LOGGED)))
    if known.is_empty():
        return []
    unknown = known.join(logged.windows(evidence), on=DIRECTION, how="anti")
    unknown = unknown.join(controlled.followed(evidence), on=DIRECTION, how="anti")
    missing = unknown.join(evidence.udp_kernel, on=DIRECTION, how="anti")
    logs = listed([log for name, log in LOGGED.items() if name in missing["transport"]])
    found = []
    if missing.height:
        why = f"only the log of the sender ({logs}) shows its window"
        found.append(Skipped(f"{_who(missing)}: {why}"))
    if unknown.height > missing.height:
        found.append(Skipped(UNSTATED))
    return found


def _who(known: pl.DataFrame) -> str:
    """`2 flows over UDP (QUIC, RTP)`, and of plain UDP alone `2 flows over UDP`."""
    transports = "" if set(known["transport"]) == {"udp"} else f" ({_transports(known)})"
    return f"{count(known.height, 'flow')} over UDP{transports}"


def judged(capture: Capture) -> int:
    """Number of flows that both ends or the receiver's feedback show."""
    known = flows(capture)
    return known.filter(_followed(capture) | pl.col("reported")).height


def _followed(capture: Capture) -> pl.Expr:
    """Whether both ends of a flow were captured."""
    return pl.col("flow").is_in(capture.paths["flow"].implode())


def unjudged(capture: Capture) -> str:
    """Sentences for the opening: what is not judged and why, and what was counted; or nothing."""
    known = flows(capture)
    if known.is_empty() or not (why := _why(capture, known)):
        return ""
    counted = known.select(pl.col("packets", *CODEPOINTS).sum()).row(0, named=True)
    shares = [
        f"{share(counted[name] / counted['packets'])} {label}"
        for name, label in CODEPOINTS.items()
        if counted[name]
    ]
    return f"{_who(known)}: {count(counted['packets'], 'packet')}, {listed(shares)}. {why}"


def _why(capture: Capture, known: pl.DataFrame) -> str:
    """What is not judged, of flows whose feedback is read and of the others.

    Not-ECT has no marks to respond to.
    """
    unread, markable = known.filter(~pl.col("reported")), capable(capture)
    read = markable.filter("reported")
    followed = known.filter(_followed(capture)).height == known.height
    lost = "losses and " * bool(unread.height)
    more = (
        "" if followed else f" A second capture, at the other end, would show {lost}path changes."
    )
    # Its own log shows each reduction, or the replay of its controller does.
    for shown in (logged.windows(capture), controlled.followed(capture)):
        read = read.join(shown, on=DIRECTION, how="anti")
    if unread.is_empty() and read.is_empty():
        return more.strip()
    if unread.is_empty():
        return f"How much it reduces at marks is not judged: {_law(read)}.{more}"
    why = listed([UNREAD[name] for name in UNREAD if name in unread["transport"]])
    what = ["RTT"] if followed else ["Loss", "RTT", "queue"]
    what += ["response to marks"] * (markable.height > markable["reported"].sum())
    quic = unread.filter(transport="quic")
    if quic.height and quic.join(capture.udp_kernel, on=DIRECTION, how="semi").is_empty():
        more += f" {_upper(quic['locked'][0] or KEYS)}."
    other = f" Of {_transports(read)}, how much it reduces at marks is not: {_law(read)}." * bool(
        read.height
    )
    are = "is" if what == ["RTT"] else "are"
    return f"{listed(what)} {are} not judged: {why}.{more}{other}"


def _law(known: pl.DataFrame) -> str:
    """Why the response of flows whose feedback is read is not judged."""
    return UNREPLAYED if set(known["transport"]) == {"udp-prague"} else UNKNOWN_LAW


def _upper(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _transports(rows: pl.DataFrame) -> str:
    return ", ".join(label for name, label in TRANSPORTS.items() if name in rows["transport"])
