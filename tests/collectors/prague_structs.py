"""struct prague of the published builds as C, to be compiled in tests."""

HEAD = "u64 cwr_stamp; u64 alpha_stamp; u64 upscaled_alpha; u64 ai_ack_increase; "
COUNTS = "u32 old_delivered; u32 old_delivered_ce; u32 next_seq; u32 round; "
RTTS = "u32 rtt_transition_delay; u32 rtt_target; "
RESTS = "u32 rest_depth_us; u32 rest_mdev_us; "
LOSS = "u32 loss_cwnd; u32 max_tso_burst; "
LATE = "u32 mtu_cache; u64 hsrtt_us; "
STRUCTS = {
    "P1": HEAD
    + "s64 cwnd_cnt; s64 loss_cwnd_cnt; "
    + LOSS
    + RESTS
    + COUNTS
    + RTTS
    + "u8 saw_ce:1, rtt_indep:3, in_loss:1;",
    "P2": HEAD
    + "u64 frac_cwnd; u64 loss_frac_cwnd; "
    + LOSS
    + RESTS
    + COUNTS
    + RTTS
    + "u8 saw_ce:1, rtt_indep:3, in_loss:1;",
    "P3": HEAD.replace("u64 cwr_stamp; ", "")
    + "u64 frac_cwnd; u64 rate_bytes; u64 loss_frac_cwnd; u64 loss_rate_bytes; "
    + LOSS
    + RESTS
    + COUNTS
    + RTTS
    + "u8 saw_ce:1, rtt_indep:3, in_loss:1;",
    "P4": HEAD
    + LATE
    + "u32 rate_offset; u64 frac_cwnd; u64 rate_bytes; u64 loss_rate_bytes; "
    + LOSS
    + RESTS
    + COUNTS
    + RTTS
    + "u8 saw_ce:1, rtt_indep:3, cwnd_mode:1, in_loss:1;",
    "P5": HEAD
    + LATE
    + "u64 frac_cwnd; u64 rate_bytes; u64 loss_rate_bytes; "
    + LOSS
    + COUNTS
    + "u8 saw_ce:1, cwnd_mode:1, in_loss:1;",
    "P6": HEAD
    + LATE
    + "u32 rate_offset; u64 frac_cwnd; u64 rate_bytes; u64 loss_rate_bytes; "
    + LOSS
    + COUNTS
    + RTTS
    + "u8 saw_ce:1, cwnd_mode:1, in_loss:1;",
    "P7": HEAD
    + LATE
    + "u64 frac_cwnd; u64 rate_bytes; u64 loss_rate_bytes; "
    + LOSS
    + COUNTS
    + "u8 saw_ce:1, alpha_mode:1, cwnd_mode_transit:1, cwnd_mode:1, in_loss:1;",
}
TYPES = (
    "typedef unsigned char u8; typedef unsigned int u32; typedef unsigned long long u64; "
    "typedef long long s64; "
)


def source(name: str) -> str:
    """C text with the structure of one build and something that uses it."""
    return f"{TYPES} struct prague {{ {STRUCTS[name]} }}; struct prague used;"


def values(name: str) -> dict[str, int]:
    """A known value for each field of one build, different from all others."""
    words = STRUCTS[name].split(" saw_ce")[0].rsplit(" u8", 1)[0].rsplit(";", 1)[0]
    fields = [field.strip().split() for field in words.split(";") if field.strip()]
    return {
        field: 0x1000 + 37 * index + (index << 40 if kind in ("u64", "s64") else 0)
        for index, (kind, field) in enumerate(fields)
    }


def image(name: str, saw_ce: bool) -> bytes:
    """icsk_ca_priv with those values, laid out by the rules of the C ABI, independent of ours."""
    data = bytearray()
    kinds = dict.fromkeys(("u64", "s64"), 8) | {"u32": 4}
    words = STRUCTS[name].split(";")
    known = values(name)
    for word in words:
        kind, _, field = word.strip().partition(" ")
        if kind in kinds:
            size = kinds[kind]
            data += b"\0" * (-len(data) % size)
            data += known[field].to_bytes(size, "little")
    data.append(int(saw_ce) | 0b10)
    return bytes(data) + b"\0" * 16
