"""Whether L4S gets through to a server: what one handshake shows of the path, from this end.

The server answers a SYN that requests AccECN with how that arrived (RFC 9768 section 3.1.1), which
shows the way there. Of the way back this end sees only what arrives.
"""

import socket
import struct

from host import handshake
from host.checks import BAD, GOOD, PART, line
from host.describe import read
from host.handshake import CE, ECT0, ECT1, NOT_ECT
from kernel.diag import kernel_version

CONNECT_S = 5.0
SERVER, THERE, BACK = "server", "ECT(1) out", "ECT(1) back"
NAMES = {NOT_ECT: "Not-ECT", ECT1: "ECT(1)", ECT0: "ECT(0)", CE: "CE"}
REFLECTED = {0b010: NOT_ECT, 0b011: ECT1, 0b100: ECT0, 0b110: CE}
"""ACE of a SYN/ACK: how the SYN arrived. 0b101 accepts AccECN, too, and states nothing."""
UNSTATED = 0b101
ECN_MODE_AT, ECN_MODES = 276, {0: "no ECN", 1: "classic ECN", 2: "AccECN"}
"""Two bits of struct tcp_info, from Linux 7.0 on."""
ENABLE = "on the server: sysctl -w net.ipv4.tcp_ecn=3 (Linux 7.0 or newer), or Prague"
HOP = "find the hop: capture there, or send probes with increasing TTL and read the ICMP errors"


def examine(name, port):
    """Return the lines of a server."""
    try:
        with socket.create_connection((name, port), CONNECT_S) as plain:
            family, ends = plain.family, (plain.getsockname(), plain.getpeername())
            shown = by_kernel(plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 512))
    except (OSError, UnicodeError) as error:
        says = "%s port %d: %s" % (name, port, getattr(error, "strerror", None) or error)
        return [line(SERVER, BAD, says, "name a server and a port where it listens")]
    first = line(SERVER, GOOD, "%s port %d accepts connections" % (ends[1][0], port))
    try:
        return [first, *probed(family, *ends)]
    except PermissionError:
        return [first, *unprobed(shown, "a SYN of our own needs CAP_NET_RAW", "sudo")]
    except OSError as error:
        return [
            first,
            *unprobed(shown, "a SYN of our own cannot be sent: %s" % (error.strerror or error)),
        ]


def probed(family, local, remote):
    """Return the lines that SYNs of our own show. Raises OSError."""
    answer = handshake.ask(family, local, remote, ECT1)
    if answer and not answer.reset:
        return [check_accecn(answer), check_there(answer), check_back(answer)]
    other = handshake.ask(family, local, remote, NOT_ECT)
    if not other or other.reset:
        how = "resets" if other else "drops"
        says = "the path or the server %s SYNs that request AccECN, and answers plain ones" % how
        unknown = "unknown: no SYN/ACK answers a request of AccECN"
        return [line("AccECN", BAD, says, HOP)] + [
            line(topic, PART, unknown) for topic in (THERE, BACK)
        ]
    lost = "SYNs as ECT(1) get no SYN/ACK, those as Not-ECT do: the path or the server drops them"
    return [check_accecn(other), line(THERE, BAD, lost, HOP), check_back(other)]


def check_accecn(answer):
    says = "the SYN/ACK has ACE {:03b}".format(answer.ace)
    if answer.ace in REFLECTED or answer.ace == UNSTATED:
        option = ", option %d" % answer.option if answer.option else ""
        return line("AccECN", GOOD, "accepted: %s%s" % (says, option))
    if answer.ace == 0b001:
        return line("AccECN", BAD, "the server accepts only classic ECN: " + says, ENABLE)
    if answer.ace == 0b000:
        refused = "not accepted: %s; the server refuses it, or the path clears the flags" % says
        return line("AccECN", BAD, refused, ENABLE + "; else capture at the server")
    return line("AccECN", BAD, "not accepted: %s, which returns the request's flags" % says, HOP)


def check_there(answer):
    arrived = REFLECTED.get(answer.ace)
    if arrived is None:
        why = "its code states nothing" if answer.ace == UNSTATED else "only AccECN reports it"
        return line(THERE, PART, "unknown how the SYN arrived: " + why)
    says = "the SYN left as ECT(1) and arrived as %s, as the server reports" % NAMES[arrived]
    if arrived in (ECT1, CE):
        return line(THERE, GOOD, says + (": a queue marked it" if arrived == CE else ""))
    return line(THERE, BAD, says + ": the path changes it", HOP)


def check_back(answer):
    says = "the SYN/ACK arrived as " + NAMES[answer.ecn]
    if answer.ecn == ECT1:
        return line(BACK, GOOD, says)
    which = {
        NOT_ECT: "a server may send it so, or the path cleared it",
        ECT0: "a server may send it so, or the path changed it",
        CE: "a queue marked it, whatever ECT it left as",
    }
    remedy = "capture a download: data packets of an L4S sender leave as ECT(1)"
    return line(BACK, PART, "unknown: %s; %s" % (says, which[answer.ecn]), remedy)


def by_kernel(info):
    """Return what a connection of this kernel negotiated, None where that does not show AccECN."""
    if kernel_version() < (7, 0) or read("/proc/sys/net/ipv4/tcp_ecn") != "3":
        return None
    return mode(info)


def mode(info):
    """Return the negotiated ECN out of struct tcp_info of Linux 7.0 or newer."""
    if len(info) < ECN_MODE_AT + 4:
        return None
    return ECN_MODES.get(struct.unpack_from("=I", info, ECN_MODE_AT)[0] & 3)


def unprobed(shown, why, remedy=""):
    """Return the lines without a SYN of our own, and why there is none."""
    unknown = [line(topic, PART, "unknown: " + why, remedy) for topic in ("AccECN", THERE, BACK)]
    if shown is None:
        return unknown
    says = "a connection of this kernel, which requests AccECN, negotiated " + shown
    known = line("AccECN", GOOD, says) if shown == "AccECN" else line("AccECN", BAD, says, ENABLE)
    return [known, *unknown[1:]]


def sentence(lines):
    """Return in one sentence whether L4S gets through."""
    named = {state: [] for state in (GOOD, PART, BAD)}
    for row in lines:
        named[row["state"]].append(row["topic"])
    if SERVER in named[BAD]:
        return "No connection to this server: nothing is known of the path."
    if named[BAD]:
        return "L4S does not get through to this server: %s." % ", ".join(named[BAD])
    if named[PART]:
        return "Whether L4S gets through is not known: %s." % ", ".join(named[PART])
    return "L4S gets through to this server and back, as SYN and SYN/ACK show."
