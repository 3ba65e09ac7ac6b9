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
        Column("kind", STR, "", "`l4s` (DualPI2-like), `classic` (single queue with ECN), `shallow` (step marks on every flow of one queue), `per-flow`, `fifo` (drops at a full buffer), `dropping` (drops below it), `unmarked` (a queue without marks, of either sort), `none` or `unknown`."),
        Column("confidence", F64, "", "0 to 1."),
        Column("marking", STR, "", "`step`, `ramp` or null."),
        Column("marking_delay_us", F64, "us", "Queue delay at which marks set in: one tenth of the marks lie below. One-way delay of the marked packets with two captures, else the smallest RTT of the ACKs that report marks in a round; above the smallest of the path, or of the flow where its path is longer."),
        Column("queue_delay_us", F64, "us", "Median queue delay of steady rounds."),
        Column("ce_share", F64, "", "Marked share of delivered packets in steady rounds."),
        Column("marks_per_round", F64, "packet", "Marked packets per round with any."),
        Column("rate_bps", F64, "bit/s", "Estimated rate of the bottleneck as this flow saw it."),
        Column("serialisation_us", F64, "us", "Time that one full packet takes at that rate."),
        Column("losses", U64, "packet", "Retransmitted packets."),
        Column("loss_delay_us", F64, "us", "Queue delay around losses, median over steady rounds with retransmissions of the largest of the round and the two before; null without."),
        Column("idle_loss", BOOL, "", "Several rounds have losses, and around most of them no queue stood: noise of the path or reordering, not congestion."),
        Column("noise_us", F64, "us", "What jitter can add to `marking_delay_us`."),
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
        Column("starved_since_ns", I64, "ns", "Since when this flow stayed under a fifth of the pair's rate; null when it did not."),
    ),
)

SPIKES = Table(
    "spikes",
    "One latency spike of one flow direction.",
    ("source", "flow", "forward", "start_ns"),
    (
        SOURCE,
        FLOW,
        FORWARD,
        Column("start_ns", I64, "ns", "When queue delay left its usual range."),
        Column("end_ns", I64, "ns", "When it came back."),
        Column("height_us", F64, "us", "Largest queue delay."),
        Column("usual_us", F64, "us", "Median queue delay of all rounds of the direction, those in spikes included."),
        Column("rounds", U64, "", "Rounds in the spike."),
        Column("cause", STR, "", "`slow-start`, `rate-drop`, `new-flow`, `burst`, `loss` or `unknown`."),
        Column("first_frame", U64, "", "First frame of the spike."),
        Column("last_frame", U64, "", "Last frame of the spike."),
    ),
)

NOISE = Table(
    "noise",
    "What makes packets of one flow direction late apart from a queue.",
    ("source", "flow", "forward"),
    (
        SOURCE,
        FLOW,
        FORWARD,
        Column("path", STR, "", "Networks of sender and receiver: flows with the same one share a path; null as `rounds`."),
        Column("rounds", U64, "", "Steady rounds that it rests on; null where the RTT at this point holds no path."),
        Column("jitter_us", F64, "us", "Spread of the RTTs within rounds in which the queue hardly moves, without the time of two packets; where the flow has few samples a round, that of its neighbours on the path."),
        Column("common_us", F64, "us", "The smallest jitter that a flow of the path shows: what a queue of one flow alone does not explain."),
        Column("hides_us", F64, "us", "What this noise can add to a delay measured by RTT: 2.5 times `jitter_us`."),
        Column("hides_owd_us", F64, "us", "The same for a one-way delay; without two captures the same value."),
        Column("release_us", F64, "us", "Period at which packets are released in bursts (slots of a radio link, aggregated ACKs); null where they are not."),
        Column("late_packets", U64, "packet", "Data packets that arrived behind later ones, by the capture that saw most; a capture at the sender sees none."),
        Column("late_share", F64, "", "Of the data packets."),
        Column("added_by", STR, "", "Path that adds the jitter: `forward` (of the data) or `ack`; null where one capture cannot show it, and without jitter."),
        Column("basis", STR, "", "What the jitter rests on: `one-way delay` (two captures) or `rtt`."),
    ),
)
