"""The words of L4S and of l4strace: a term, and what it means in one or two sentences.

One source for the glossary of the docs and for help where a page shows a term.
"""

from __future__ import annotations

GLOSSARY = {
    "AccECN": "Accurate ECN feedback of TCP (RFC 9768): the receiver reports how many packets were "
    "marked, not only that one was.",
    "AccECN option": "TCP option in which a receiver counts bytes that arrived as ECT(0), CE and "
    "ECT(1). Some paths strip it; ACE then remains.",
    "ACE": "Three bits of the TCP header (AE, CWR, ECE) in which an AccECN receiver counts CE "
    "packets modulo 8.",
    "ACE counter": "What ACE adds up to over a connection. Where more than a few packets are "
    "acknowledged at once it may have wrapped, so l4strace states bounds.",
    "alpha": "A scalable sender's average of the share of marked packets, 0 to 1, updated once a "
    "round. A reduction takes half of alpha off the window.",
    "AQM": "Active queue management: a queue that marks or drops packets before it is full.",
    "bleaching": "The path sets the ECN field to Not-ECT, so that no queue behind can mark.",
    "bottleneck": "The queue that limits a flow. Its kind (L4S AQM, classic AQM, queue per flow, "
    "FIFO ...) decides how flows share it.",
    "capture": "An input file with packets. A run may have two, one at each end.",
    "CE": "Congestion Experienced: the ECN codepoint that a queue sets in place of a drop.",
    "classic": "TCP that halves its window, or nearly, at a loss or mark: Reno, CUBIC. "
    "A classic AQM marks late and rarely, for such senders.",
    "classic-ECN fallback": "Part of TCP Prague up to Linux 5.15: detects a classic AQM and then "
    "reduces like a classic flow.",
    "confidence": "How sure the evidence makes a finding: high, medium or low. Independent of "
    "severity.",
    "direction": "One half of a flow, client to server (forward) or back. Each has its sender.",
    "DualPI2": "The L4S AQM of RFC 9332: a shallow queue for ECT(1) and a classic one, coupled so "
    "that flows get about equal rates.",
    "ECT(0)": "ECN codepoint of a classic sender that understands marks.",
    "ECT(1)": "ECN codepoint of an L4S sender.",
    "finding": "One thing that a rule states of a run: message, severity, confidence, the numbers "
    "behind it, and a remedy.",
    "floor": "The least reduction that the fallback allows at a score: from 0 at a score of 8 to "
    "31 % at 9 and above.",
    "flow": "One TCP connection, or one conversation over UDP, numbered from 0: TCP first, each by "
    "its first packet.",
    "kernel log": "A file with the kernel's own congestion-control state: window, alpha, score. "
    "`capture` records one.",
    "L4S": "Low Latency, Low Loss and Scalable throughput (RFC 9330): scalable senders that mark "
    "their packets ECT(1), and queues that mark early.",
    "law": "How a sender reduces its window: by alpha/2, by the fallback's floor, by half, or not.",
    "marking": "A queue sets CE. The share of marked packets is the signal to which senders react.",
    "mdev": "The kernel's mean deviation of RTT samples, the first input of Prague's detector.",
    "measure": "A number behind a finding, with its unit and what was expected.",
    "misfire": "The fallback acts behind an L4S AQM, where it should not: the flow then starves "
    "beside classic flows.",
    "not judged": "A rule that lacked an input; the reason is beside it. Silence is not health.",
    "Not-ECT": "ECN codepoint of a packet whose sender does not use ECN: queues drop it.",
    "phase": "A stretch of time in which capacity, marking and base RTT of a path stay the same.",
    "queue delay": "How long packets wait in the queue: RTT or one-way delay above its minimum.",
    "QUIC": "Transport over UDP (RFC 9000). It encrypts its acknowledgements, and with them what "
    "its receiver reports of marks.",
    "round": "One round trip of a direction: from a packet to the acknowledgment of what was "
    "outstanding when it was sent. The finest rows that rules read.",
    "scalable": "Congestion control whose marks per round do not depend on the rate, such as TCP "
    "Prague and DCTCP.",
    "scaling bug": "A fault of 24-bit builds of Prague: thresholds of the detector kept the scale "
    "of 20 bits, so that RTT deviation and queue delay of a few microseconds count as classic.",
    "score": "`classic_ecn`, by which Prague's detector states how classic the AQM looks. From 8 "
    "on the fallback begins to act.",
    "severity": "How bad a finding is if it is true: error, warning, notice or info.",
    "starvation": "One flow gets far less than half beside another while both send.",
    "TCP Prague": "The reference implementation of a scalable congestion control for L4S, in "
    "L4STeam's Linux kernels.",
    "transport": "TCP, or what runs over UDP: QUIC, RTP, UDP Prague, or plain UDP where nothing "
    "shows which. It is recognized by content, never by port.",
    "vantage": "Where a capture was made: at the sender, at the receiver or between them. It "
    "decides which delays and marks the packets show.",
    "window": "How many packets a sender may have outstanding (`snd_cwnd`). From packets it is an "
    "estimate, in a kernel log exact.",
}
"""Term -> meaning, in the order of the alphabet."""
