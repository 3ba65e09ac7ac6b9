"""A sender does not respond to CE marks.

What it checks
--------------
Whether the window of an ECT(1) sender, over the whole trace, is explained by no reduction at all
and not by alpha/2 of what its marks ask for: the log-likelihood of no reduction leads that of every
other law by at least 6 nats, and 0.1 nats per round (table `laws`).

Senders over UDP whose feedback stands in clear follow laws of their own. Theirs is judged where
most packets of one 25 ms after the other are CE: once that has halved the rate of the gentlest
scalable law (alpha from 0, gain 1/16, one packet of growth), the rate from then on, for as long
again, is compared with the rate before. Below a tenth less it did not respond. UDP Prague responds
where its controller, replayed from the feedback, explains what is in flight.

Why it matters
--------------
A sender that ignores marks fills the shallow queue of an L4S AQM. The AQM can then protect other
flows only by dropping.

Evidence
--------
`laws.law`, `half_alpha`, `window_packets` and `samples`; `flows.handshake`; `noise.release_us`;
over UDP `directions.data_ect1` (which sender requests L4S) and `pressed.before_bps`, `after_bps`,
`acked` and `ce`, which rest on the marks, arrivals and bytes of `rounds`, and
`udp_round_trips.window_packets`, `inflight_max_packets` and `reductions`.

When it is wrong
----------------
If the sender follows another law than alpha/2 and reduces less. A capture that begins in the middle
of the flow does not show alpha: such flows are left out. So are flows behind a link that releases
packets in bursts (L4S406): what is in flight then follows the link and not the window. Media over
RTP may have reached its lowest rate: hence low confidence there.

What to do
----------
Check the congestion control of the sender, and that its kernel counts delivered_ce.

References
----------
RFC 9331 section 4.3; RFC 8257 section 3.3; RFC 8888
"""

import polars as pl

from l4strace.derive.senders import controlled, pressed
from l4strace.evidence import Evidence, Row, over_udp
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import datagrams, subjects
from l4strace.schema.keys import KEY
from l4strace.wording.quantities import count, quantity, share

MIN_PACKETS = 2.0
"""Packets that alpha/2 of the window must amount to. Growth gives one back in each round trip, and
what is in flight counts whole packets: less does not show (run s6173-087)."""

NO_CUT = 0.1
"""Share of the rate that a sender over UDP gives up at least, of the half that marks asked for: as
in L4S203."""

BURSTY = "a link releases packets in bursts, and what is in flight between them is not the window"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose data does not become less as its marks ask."""
    return [*_over_tcp(evidence), *_over_udp(evidence)]


def _over_tcp(evidence: Evidence) -> list[Finding | Skipped]:
    asked = pl.col("half_alpha") * pl.col("window_packets")
    ignored = subjects.once(evidence, evidence.laws).filter(
        (pl.col("law") == "none") & (asked >= MIN_PACKETS)
    )
    if ignored.is_empty():
        return []
    bursty = subjects.noise(evidence).filter(pl.col("release_us").is_not_null())
    ignored = ignored.join(subjects.begun(evidence), on=["source", "flow"], how="semi").join(
        bursty.select(*subjects.DIRECTION, "release_us"), on=subjects.DIRECTION, how="left"
    )
    return [
        _finding(row) if row["release_us"] is None else Skipped(BURSTY, row["flow"])
        for row in ignored.iter_rows(named=True)
    ]


def _over_udp(evidence: Evidence) -> list[Finding | Skipped]:
    unread = datagrams.unread(datagrams.ect1(evidence))
    senders = pressed.senders(evidence)
    if senders.is_empty():
        return [*unread]
    transports = over_udp(evidence).select("source", "flow", "transport")
    went_on = evidence.pressed.filter(
        pl.col("after_bps") > (1 - NO_CUT) * pl.col("before_bps")
    ).join(transports, on=["source", "flow"], maintain_order="left")
    found: list[Finding | Skipped] = [_went_on(row) for row in went_on.iter_rows(named=True)]
    known = (table.select(KEY) for table in (evidence.pressed, controlled.followed(evidence)))
    if calm := senders.join(pl.concat(known), on=KEY, how="anti").height:
        who = f"{count(calm, 'flow')} over UDP"
        found.append(Skipped(f"{who}: too few CE marks to expect a halved rate"))
    return [*found, *unread]


def _went_on(row: Row) -> Finding:
    before, after = (quantity(row[name], "bit/s") for name in ("before_bps", "after_bps"))
    lasted, asked = ((row[name] - row["first_ns"]) / 1e9 for name in ("last_ns", "asked_ns"))
    media = row["transport"] == "rtp"
    return Finding(
        Severity.WARNING,
        Confidence.LOW if media else Confidence.MEDIUM,
        f"The sender did not respond to CE: {share(row['ce'] / row['acked'])} of its packets were "
        f"marked for {lasted:.2f} s. After {asked:.2f} s this asks any scalable sender for half of "
        f"its rate, but it sent {after} from then on and {before} before.",
        "Check that the sender reads the marks in its feedback"
        + (", and the lowest rate of its media." if media else "."),
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("rate after", row["after_bps"], "bit/s", f"at most half of {before}"),
            Measure("marked packets", row["ce"], "packet"),
        ),
    )


def _finding(row: Row) -> Finding:
    return Finding(
        Severity.WARNING,
        Confidence.MEDIUM,
        f"The sender did not respond to CE: in {row['samples']:,} rounds the marks asked for a "
        f"reduction of {100 * row['half_alpha']:.0f} % (median of alpha/2), but the data in flight "
        "went on as without marks.",
        "Check the sender's congestion control and that its kernel counts delivered_ce.",
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("expected reduction (alpha/2)", row["half_alpha"], "share"),
            Measure("median window", row["window_packets"], "packet"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "The sender does not respond to CE")
