"""What packets alone show of a sender: codepoints, DSCP, feedback, bursts, control packets."""

from l4strace.derive import overall
from l4strace.derive.senders import sender_logs
from l4strace.rules.checklist.sender import FAIL, NOT_SHOWN, PASS, Answer, Sender
from l4strace.rules.l4s206_burst_too_long import ALLOWED_PACKETS, LIMIT_US, MIN_ROUNDS
from l4strace.rules.support.datagrams import OPENED, UNREAD
from l4strace.schema.words import NQB
from l4strace.wording.names import dscp
from l4strace.wording.quantities import count, quantity

NEARLY_ALL = 0.99
"""Share of ECT(1) data from which the rest is an exception. By eye."""
DOUBTS = ("L4S108", "L4S110", "L4S111", "L4S112")
"""Rules that find the counters of the feedback damaged."""


def ect1(sender: Sender) -> Answer:
    """Data as it left; a capture elsewhere shows what the path left of it."""
    row = sender.row
    total = sum(row[f"data_{name}"] or 0 for name in ("ect1", "ect0", "not_ect"))
    sent = row["data_ect1"] or 0
    where = "left the sender" if sender.there else "passed this capture"
    if not total:
        return NOT_SHOWN, "All data packets are CE here, which hides how they were sent."
    fact = f"{sent:,} of {count(total, 'data packet')} {where} as ECT(1)."
    if sent >= NEARLY_ALL * total:
        return PASS, fact
    return (FAIL, fact) if sender.there else (NOT_SHOWN, fact)


def feedback(sender: Sender) -> Answer:
    """AccECN, and that it reports marks."""
    if sender.over_udp:
        return _reports(sender)
    mode = sender.handshake["mode"]
    if mode in ("classic", "none"):
        return FAIL, f"ECT(1) without AccECN. {sender.handshake['mode_reason']}"
    if mode != "accecn":
        return NOT_SHOWN, f"{sender.handshake['mode_reason'] or 'No handshake was captured.'}"
    # The feedback travels the other way: whichever direction the doubt is about.
    doubt = next((f for f in sender.findings if f.rule in DOUBTS), None)
    if doubt is not None:
        return NOT_SHOWN, f"AccECN was negotiated, but {doubt.rule} doubts its counters."
    low, high = sender.row["ce_fed_back_lo"] or 0, sender.row["ce_fed_back_hi"] or 0
    if high:
        reported = count(high, "CE packet")
        reported = reported if low == high else f"{low:,} to {reported}"
        return PASS, f"AccECN was negotiated, and the receiver reported {reported}."
    return PASS, "AccECN was negotiated; there was no CE packet to report."


def _reports(sender: Sender) -> Answer:
    """Feedback over UDP counts marks of itself: in clear, opened, or as the sender's log has it."""
    row = sender.row
    if sender.found("L4S119"):
        return FAIL, "The receiver saw CE packets and reported fewer (L4S119)."
    if uncounted := sender.found("L4S102"):
        return FAIL, uncounted.message
    if row["reported_packets"]:
        reported, ce = count(row["reported_packets"], "packet"), row["ce_fed_back_best"] or 0
        return PASS, f"The receiver reported {reported}, {ce:,} of them CE."
    logs = sender_logs.summary(sender.evidence)
    for log in logs.filter(flow=sender.flow, forward=sender.forward).to_dicts():
        if counted := (log["delivered_ect1"] or 0) + (log["delivered_ce"] or 0):
            ce = log["delivered_ce"] or 0
            fact = f"reports {count(counted, 'packet')} with ECT(1) or CE, {ce:,} of them CE"
            return PASS, f"By the sender's log, feedback {fact}."
    transport = sender.handshake["transport"]
    return NOT_SHOWN, f"Not read: {UNREAD[transport]}; {OPENED[transport]}."


def loss_in_time(sender: Sender) -> Answer:
    """Reordering that causes no retransmission would show it, if its extent were known."""
    late = (sender.noise or {}).get("late_packets")
    if not late:
        return NOT_SHOWN, "No packet of this flow was seen to arrive late."
    again = count(sender.row["retransmits"] or 0, "retransmission")
    return NOT_SHOWN, (
        f"{count(late, 'packet')} arrived late, with {again}; how late in packets is not measured."
    )


def bursts(sender: Sender) -> Answer:
    """The median burst as time at the rate of the bottleneck, as L4S206 judges it."""
    rate = (sender.bottleneck or {}).get("rate_bps")
    if not sender.there or not rate:
        return NOT_SHOWN, "Needs a capture at the sender and enough data to estimate the rate."
    if sender.row["super_packets"]:
        return NOT_SHOWN, "Segmentation offload hides what the network card really sends."
    sent = sender.of(overall.directions(sender.evidence))
    rounds = count(sent["bursts"] if sent else 0, "round trip")
    if sent is None or sent["bursts"] < MIN_ROUNDS:
        return NOT_SHOWN, f"Only {rounds} with bursts (threshold {MIN_ROUNDS})."
    lasts = sent["burst_bytes"] * 8e6 / rate
    fact = (
        f"The median burst of {rounds} lasts {quantity(lasts, 'us')} at {quantity(rate, 'bit/s')}."
    )
    if sender.found("L4S206"):
        return FAIL, fact
    if lasts <= LIMIT_US:
        return PASS, fact
    return NOT_SHOWN, (
        f"{fact} That is at most {ALLOWED_PACKETS} packets, which may leave at once at any rate "
        f"(threshold {LIMIT_US:.0f} us)."
    )


def control(sender: Sender) -> Answer:
    """Packets without data as they left."""
    row = sender.row
    if not sender.there:
        return NOT_SHOWN, "Needs a capture at the sender."
    total = row["packets"] - row["data_packets"]
    if not total:
        return NOT_SHOWN, "The sender sent no packet without data."
    capable = total - ((row["not_ect"] or 0) - (row["data_not_ect"] or 0))
    fact = f"{capable:,} of {count(total, 'packet')} without data left the sender as ECT."
    return (PASS if capable == total else FAIL), fact


def nqb(sender: Sender) -> Answer:
    """A sender that asks for the low-latency queue by DSCP 45 promises not to fill it."""
    row = sender.row
    if row["dscp"] is None:
        return NOT_SHOWN, "No packet of this direction was captured."
    where = "left the sender" if sender.there else "passed this capture"
    rewritten = f" {found.message}" if (found := sender.found("L4S118")) else ""
    fact = f"Most packets {where} as {dscp(row['dscp'])}.{rewritten}"
    if row["dscp"] != NQB:
        return NOT_SHOWN, f"{fact} The sender does not ask for NQB."
    verdict, burst = bursts(sender)
    return verdict, f"{fact} {burst}"
