"""Published layouts of struct prague (P1 .. P7) and the parameter files that distinguish builds.

Offsets are bytes within icsk_ca_priv on x86_64 (struct prague and module_param lines of
each tree's tcp_prague.c). What the parameters name is a guess: `evidence` tests it on real sockets.
"""

import os

PARAMETERS = "/sys/module/tcp_prague/parameters"
NAMES = tuple(
    (
        "cwr_stamp alpha_stamp upscaled_alpha ai_ack_increase mtu_cache hsrtt_us rate_offset "
        "cwnd_cnt loss_cwnd_cnt frac_cwnd rate_bytes loss_frac_cwnd loss_rate_bytes loss_cwnd "
        "max_tso_burst rest_depth_us rest_mdev_us old_delivered old_delivered_ce next_seq round "
        "rtt_transition_delay rtt_target bits"
    ).split()
)
SIZES = dict.fromkeys(NAMES, 4)
SIZES.update(dict.fromkeys([*NAMES[:4], "hsrtt_us", "cwnd_cnt", "loss_cwnd_cnt"], 8))
SIZES.update(frac_cwnd=8, rate_bytes=8, loss_frac_cwnd=8, loss_rate_bytes=8, bits=1)

OFFSETS = {
    # in the order of NAMES; - where the build has no such field
    "P1": "0 8 16 24 - - - 32 40 - - - - 48 52 56 60 64 68 72 76 80 84 88",
    "P2": "0 8 16 24 - - - - - 32 - 40 - 48 52 56 60 64 68 72 76 80 84 88",
    "P3": "- 0 8 16 - - - - - 24 32 40 48 56 60 64 68 72 76 80 84 88 92 96",
    "P4": "0 8 16 24 32 40 48 - - 56 64 - 72 80 84 88 92 96 100 104 108 112 116 120",
    "P5": "0 8 16 24 32 40 - - - 48 56 - 64 72 76 - - 80 84 88 92 - - 96",
    "P6": "0 8 16 24 32 40 48 - - 56 64 - 72 80 84 - - 88 92 96 100 104 108 112",
    "P7": "0 8 16 24 32 40 - - - 48 56 - 64 72 76 - - 80 84 88 92 - - 96",
}
TOTALS = {"P1": 96, "P2": 96, "P3": 104, "P4": 128, "P5": 104, "P6": 120, "P7": 104}
ALPHA_BITS = {"P1": 20, "P2": 20, "P3": 24, "P4": 24, "P5": 24, "P6": 24, "P7": 24}
SAW_CE_BIT = 0
"""saw_ce is the lowest bit of the bit field in every build."""


def offsets(name):
    """Return {field: offset} of one layout."""
    row = OFFSETS[name].split()
    return {field: int(at) for field, at in zip(NAMES, row) if at != "-"}


def layout(name, found):
    """Return the `layout` object of a log's header; offsets do not show how wide alpha is."""
    return {
        "name": name,
        "found": found,
        "alpha_bits": None,
        "size": TOTALS[name],
        "offsets": offsets(name),
    }


def candidates(parameters):
    """Return the layouts that a set of parameter names allows, likeliest first."""
    have = {name[7:] if name.startswith("prague_") else name for name in parameters}
    if "alpha_mode" in have:
        return ["P7"]
    if "ecn_fallback" in have:
        return ["P4"] if "rate_offset" in have else ["P3", "P2", "P1"]
    if "rate_offset" in have:
        return ["P6", "P5"]
    return []


def of_parameters(folder=PARAMETERS):
    """Return the likeliest layout of the loaded module, None without one. A guess among several."""
    try:
        names = candidates(os.listdir(folder))
    except OSError:
        return None
    return layout(names[0], "parameters") if names else None
