"""Tables of the Evidence stage: what follows from the Capture, computed in polars or by replay."""


from l4strace.schema.capture import BOOL, F64, FLOW, FORWARD, I64, SOURCE, STR, U8, U32, U64
from l4strace.schema.table import Column, Table

CUTS = Table(
    "cuts",
    "One reduction of a flow direction's window, and what caused it.",
    ("source", "flow", "forward", "ts_ns"),
    (
        SOURCE,
        FLOW,
        FORWARD,
        Column("ts_ns", I64, "ns", "When the reduction began."),
        Column("round", U32, "", "Round in which it began."),
        Column("origin", STR, "", "`kernel` (a cwr sample) or `packets` (estimated from the window's ramp)."),
        Column("cause", STR, "", "`ce`, `ece`, `loss` or `unknown`."),
        Column("cwnd_before", F64, "packet", "Window before."),
        Column("cwnd_after", F64, "packet", "Window after the ramp."),
        Column("fraction", F64, "", "Share of the window that was given up."),
        Column("fraction_lo", F64, "", "Lower bound of that share."),
        Column("fraction_hi", F64, "", "Upper bound of that share."),
        Column("alpha", F64, "", "Alpha in force: recorded by the kernel, else replayed from packets."),
        Column("classic_ecn", F64, "", "Score 0..17 in force, where the kernel recorded one."),
        Column("law", STR, "", "Which law explains it: `alpha/2`, `floor` (0.3125), `half` or `none`."),
    ),
)

DETECTOR = Table(
    "detector",
    "One step of Prague's classic-ECN detector, recorded by the kernel or replayed.",
    ("source", "flow", "forward", "ts_ns"),
    (
        SOURCE,
        FLOW,
        FORWARD,
        Column("ts_ns", I64, "ns", "When."),
        Column("origin", STR, "", "`kernel` or `packets`."),
        Column("mdev_us", F64, "us", "RTT mean deviation that went in: reference 750 us."),
        Column("depth_us", F64, "us", "Queue depth (srtt - min_rtt) that went in: reference 2000 us."),
        Column("score", F64, "", "Recorded score 0..17 before the step; null without kernel log."),
        Column("score_after", F64, "", "Recorded score after the step."),
        Column("score_fixed", F64, "", "Score before the step, replayed with the correct references."),
        Column("score_buggy", F64, "", "Score before the step, replayed with the references of the scaling bug."),
        Column("exact", BOOL, "", "The carry of the logarithms was recorded, so the replay is exact."),
        Column("residue", U64, "", "Step modulo 2^(B-1); null when clamped: each build leaves its own (l4strace/native/src/prague)."),
        Column("build", STR, "", "Build that the residue names: `20-bit`, `24-bit buggy` or `24-bit fixed`."),
    ),
)

BUILDS = Table(
    "builds",
    "Which build of Prague's code a logged socket runs.",
    ("source", "flow", "forward"),
    (
        SOURCE,
        FLOW,
        FORWARD,
        Column("bits", U8, "", "PRAGUE_ALPHA_BITS: 20, 24 or 31."),
        Column(
            "build",
            STR,
            "",
            "`20-bit`, `24-bit buggy`, `24-bit fixed`, `24-bit without detector` or the bits alone.",
        ),
        Column("reason", STR, "", "One sentence: the proof."),
        Column("steps", U64, "", "Detector steps in the log whose outcome it shows."),
        Column("reproduced", U64, "", "Of those, how many the build reproduces to the bit."),
    ),
)

BOTTLENECKS = Table(
    "bottlenecks",
    "What limits one flow direction, from packets alone.",
    ("source", "flow", "forward"),
    (
        SOURCE,
        FLOW,
        FORWARD,
        Column("kind", STR, "", "`l4s` (DualPI2-like), `classic` (single queue with ECN), `shallow` (step marks on every flow of one queue), `per-flow`, `fifo`, `none` or `unknown`."),
        Column("confidence", F64, "", "0 to 1."),
        Column("marking", STR, "", "`step`, `ramp` or null."),
        Column("marking_delay_us", F64, "us", "Queue delay at which marks set in, estimated."),
        Column("queue_delay_us", F64, "us", "Median queue delay of steady rounds."),
        Column("ce_share", F64, "", "Marked share of delivered packets in steady rounds."),
        Column("marks_per_round", F64, "packet", "Marked packets per round with any."),
        Column("rate_bps", F64, "bit/s", "Estimated rate of the bottleneck as this flow saw it."),
        Column("serialisation_us", F64, "us", "Time that one full packet takes at that rate."),
        Column("losses", U64, "packet", "Retransmitted packets."),
        Column("reason", STR, "", "One sentence with the features that decided."),
    ),
)

COEXISTENCE = Table(
    "coexistence",
    "Two flow directions that sent at the same time over the same path.",
    ("source", "flow", "forward", "other_flow"),
    (
        SOURCE,
        FLOW,
        FORWARD,
        Column("other_flow", U32, "", "The other conversation (same direction of travel)."),
        Column("start_ns", I64, "ns", "Start of the overlap."),
        Column("end_ns", I64, "ns", "End of the overlap."),
        Column("rate_bps", F64, "bit/s", "This flow's goodput in the overlap."),
        Column("other_rate_bps", F64, "bit/s", "The other's goodput."),
        Column("share", F64, "", "rate / (rate + other rate)."),
        Column("jain", F64, "", "Jain's index of the two."),
        Column("held_back", F64, "", "Share of this flow's rounds in which its application or its receive window, not the path, limited it."),
        Column("starved_since_ns", I64, "ns", "Since when this flow stayed under a fifth of the pair's rate, to the end of the overlap; null when it did not, or asked for no more."),
        Column("starved_share", F64, "", "Its share since then."),
        Column("starved_rate_bps", F64, "bit/s", "Its goodput since then."),
        Column("starved_other_rate_bps", F64, "bit/s", "The other's goodput since then."),
    ),
)

PHASES = Table(
    "phases",
    "One stretch of a path in which capacity, marking and base RTT stayed the same.",
    ("source", "path", "phase"),
    (
        SOURCE,
        Column("path", STR, "", "Networks of sender and receiver, as `sender>receiver`."),
        Column("phase", U32, "", "Number of the phase on its path, from 0."),
        Column("start_ns", I64, "ns", "Start; later phases start where the one before ends."),
        Column("end_ns", I64, "ns", "End."),
        Column("changed", STR, "", "What changed at the start: `capacity`, `marking` or `base RTT`; null for the first."),
        Column("capacity_bps", F64, "bit/s", "Capacity for payload: delivered while the path was busy, or the level of the fastest packet trains."),
        Column("capacity_shown", BOOL, "", "True when a busy path shows the capacity; else it is at least the value."),
        Column("rate_bps", F64, "bit/s", "Payload that all flows delivered, mean."),
        Column("busy_share", F64, "", "Share of the time slots with marks or a standing queue."),
        Column("base_rtt_us", F64, "us", "Smallest RTT of the phase at this capture."),
        Column("marks", U64, "packet", "CE packets fed back."),
        Column("ce_share", F64, "", "Their share of the delivered packets."),
        Column("losses", U64, "packet", "Retransmitted packets."),
        Column("ramp_ns", I64, "ns", "From 5 % of the capacity to the first slot with 80 % of it; null where that was not reached, or application or receiver held the flows back."),
        Column("low_ns", I64, "ns", "Time after that below 60 % of the capacity without a standing queue, and not held back; 0 at the receiver, which sees no queue."),
        Column("low_share", F64, "", "The same as a share of the time not held back."),
    ),
)

SPIKES = Table(
    "spikes",
    "One latency spike of one path, with all flow directions that it hit.",
    ("source", "flow", "forward", "start_ns"),
    (
        SOURCE,
        FLOW,
        FORWARD,
        Column("path", STR, "", "Path as in `phases`; `flow` and `forward` are the direction hit hardest."),
        Column("start_ns", I64, "ns", "When delay left its usual range."),
        Column("end_ns", I64, "ns", "When it came back."),
        Column("height_us", F64, "us", "Largest delay of a packet above that of an empty path."),
        Column("one_way", BOOL, "", "True when the height is a one-way delay between two captures, else it is an RTT."),
        Column("usual_us", F64, "us", "Median over the rounds of the direction of their largest delays."),
        Column("rounds", U64, "", "Rounds of all flows in the spike."),
        Column("flows", U32, "", "How many flows it hit."),
        Column("hit", STR, "", "Their numbers, as `0, 3`."),
        Column("lost", U64, "packet", "Retransmitted packets of those flows in the spike."),
        Column("cause", STR, "", "`slow-start`, `rate-drop`, `new-flow`, `burst` or `unknown`."),
        Column("culprit", U32, "", "Flow that started, or doubled its window; null for other causes."),
        Column("peak_packets", U32, "packet", "Most packets that this flow had in flight until the end of the spike."),
        Column("fills_packets", F64, "packet", "Packets in flight that fill the path without a queue: capacity times base RTT."),
        Column("first_frame", U64, "", "First frame of the spike."),
        Column("last_frame", U64, "", "Last frame of the spike."),
    ),
)
