"""Which published layout the bytes of struct prague have, judged by what the fields hold.

For modules without type information. Module parameters allow several layouts and out-of-tree builds
mix them, so every field of every layout is tested on samples of running flows; the call on the
SYN/ACK before prague_init, where all is zero, and `init` and `release` prove nothing.
"""

from kernel import prague_layouts
from kernel.samples import prague_state

ENOUGH_SAMPLES = 8
FITS, FAILS = 0.9, 0.8
"""Share of samples that pass every test of a layout. Between the two nothing is decided."""
NEAR_PACKETS, NEAR_SHARE = 4, 0.5
"""frac_cwnd leads snd_cwnd by a packet or so, but for the ramp after a reduction."""
WINDOW = 1 << 20
"""CWND_UNIT: one packet of frac_cwnd and cwnd_cnt."""
MAX_PACKETS = 1 << 21
MAX_RATE = 1 << 40
CLOCK_SLACK_US = 1000000
BIT_FIELD = {"P1": 5, "P2": 5, "P3": 5, "P4": 6, "P5": 3, "P6": 3, "P7": 5}
"""Bits in use of the last byte."""


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def is_stamp(value, tcp):
    """tcp_mstamp counts us since boot, as the clock of the samples does."""
    return value <= tcp["ts_ns"] // 1000 + CLOCK_SLACK_US


def is_window(value, tcp):
    packets = value // WINDOW
    return tcp["snd_cwnd"] // 4 - NEAR_PACKETS <= packets <= 2 * tcp["snd_cwnd"] + 2 * NEAR_PACKETS


def is_rest_of_window(value, tcp):
    """cwnd_cnt is at most a packet ahead, and behind by what a reduction still has to take."""
    return -(tcp["snd_cwnd"] + 2) * WINDOW <= signed(value) <= 2 * WINDOW


def below(limit):
    return lambda value, _: value < limit


def is_recent(name):
    """old_delivered and old_delivered_ce: a count of the same connection, not long ago."""
    return lambda value, tcp: (tcp[name] - value) & 0xFFFFFFFF < 1 << 26


TESTS = {
    "cwr_stamp": is_stamp,
    "alpha_stamp": is_stamp,
    "upscaled_alpha": below((16 << 24) + 1),
    "ai_ack_increase": below(WINDOW + 1),
    "mtu_cache": below(1 << 17),
    "hsrtt_us": below(1 << 40),
    "rate_offset": below(1 << 10),
    "cwnd_cnt": is_rest_of_window,
    "loss_cwnd_cnt": is_rest_of_window,
    "frac_cwnd": is_window,
    "rate_bytes": below(MAX_RATE),
    "loss_frac_cwnd": below(MAX_PACKETS * WINDOW),
    "loss_rate_bytes": below(MAX_RATE),
    "loss_cwnd": below(MAX_PACKETS),
    "max_tso_burst": below(1 << 16),
    "rest_depth_us": below(1 << 21),
    "rest_mdev_us": below(1 << 21),
    "old_delivered": is_recent("delivered"),
    "old_delivered_ce": is_recent("delivered_ce"),
    # set to snd_nxt when the round began
    "next_seq": lambda value, tcp: (tcp["snd_nxt"] - value) & 0xFFFFFFFF < 1 << 28,
    "round": below(1 << 24),
    "rtt_transition_delay": below(1 << 20),
    "rtt_target": below(1 << 28),
}


def faults(image, layout, tcp):
    """Return the fields of `image` whose values this layout rules out."""
    state = prague_state(image, layout)
    found = [name for name, test in TESTS.items() if name in state and not test(state[name], tcp)]
    at = layout["offsets"].get("bits")
    if at is not None and at < len(image) and image[at] >> BIT_FIELD[layout["name"]]:
        found.append("bits")
    return found


class Candidate:
    """One layout with what spoke for it and against it."""

    def __init__(self, layout):
        self.layout = layout
        self.passed = self.near = self.rounds = 0
        self.windows = "frac_cwnd" in layout["offsets"]
        self.last = {}

    def add(self, sk, image, tcp):
        state = prague_state(image, self.layout)
        self.passed += not faults(image, self.layout, tcp)
        if self.windows:
            packets = -(-state["frac_cwnd"] // WINDOW)
            self.near += abs(packets - tcp["snd_cwnd"]) <= NEAR_PACKETS
        # Where next_seq has no room, rounds cannot be seen and need not be.
        number = state.get("next_seq")
        self.rounds += number is None or self.last.get(sk, number) != number
        self.last[sk] = number

    def share(self, samples):
        """Return the share of samples that passed, 0 where the window never fits."""
        if self.windows and self.near < NEAR_SHARE * samples:
            return 0.0
        return self.passed / samples


class Evidence:
    """Samples of Prague sockets, tested under every published layout."""

    def __init__(self, size, allowed=()):
        """`size` is that of icsk_ca_priv; `allowed` what the parameters fit, best first."""
        self.samples = 0
        self.candidates = [
            Candidate(prague_layouts.layout(name, "values"))
            for name in sorted(prague_layouts.OFFSETS, key=lambda name: name not in allowed)
            if prague_layouts.offsets(name)["next_seq"] + 4 <= size or name in allowed
        ]

    def add(self, event, values, image):
        """Take in one sample of a Prague socket, if it can prove anything."""
        if event in ("init", "release") or not any(image):
            return
        self.samples += 1
        for candidate in self.candidates:
            candidate.add(values["sk"], image, values)

    def fitting(self):
        """Return the candidates that passed, one for each set of offsets."""
        shares = [(c, c.share(self.samples)) for c in self.candidates] if self.samples else []
        found = {}
        for candidate, share in shares:
            if share >= FAILS:
                found.setdefault(tuple(candidate.layout["offsets"].items()), (candidate, share))
        return list(found.values())

    def decide(self, last=False):
        """Return the layout that alone fits, None if none or several do or there is too little.

        At the end of a run (`last`) fewer samples will do.
        """
        fitting = self.fitting()
        if len(fitting) != 1 or fitting[0][1] < FITS:
            return None
        enough = self.samples >= ENOUGH_SAMPLES and fitting[0][0].rounds > 0
        return fitting[0][0].layout if enough or (last and self.samples > 1) else None

    def why_not(self):
        """Return why no layout was decided on."""
        names = [candidate.layout["name"] for candidate, _ in self.fitting()]
        if not self.samples:
            return "no sample of a running Prague flow"
        if not names:
            return "struct prague matches no known layout"
        return "struct prague matches %s; too few samples to decide" % " and ".join(names)
