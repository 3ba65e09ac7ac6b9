"""Takes the samples of probes.bpf.c and writes them to the log.

Without type information those of Prague wait until they have shown which layout they have.
"""

import time

from kernel.samples import EVENTS, SETTLED, prague_state

HOLD_SECONDS = 1.0
"""Longest time that a sample waits; then it goes to the log with what is known about it."""
HOLD_SAMPLES = 4096
GIVE_UP_SAMPLES = 4096
ACK, ALPHA = EVENTS.index("ack"), EVENTS.index("alpha")


class Updates:
    """Finds updates of alpha between two ACKs of a socket, where no probe shows them.

    next_seq moved: the update saw the state at the entry of the call before, unless that call was
    skipped: a round begins with snd_nxt and delivered of the call that began it. The program does
    this itself (`SETTLED`) once it knows where they are.
    """

    def __init__(self):
        self.last = {}

    def before(self, values, image, layout):
        """Return the (values, image) of the update that happened before this ACK, None without."""
        settled = values["argument"] == SETTLED
        old = self.last.pop(values["sk"], None)
        if not settled:
            self.last[values["sk"]] = values, image
        if old is None or values["sk"] != old[0]["sk"]:
            return None
        last, now = prague_state(old[1], layout), prague_state(image, layout)
        saw = old[0]["snd_nxt"], old[0]["delivered"]
        began = (now.get("next_seq"), now.get("old_delivered", saw[1])) == saw
        moved = began and last.get("next_seq") != saw[0]
        return (dict(old[0], event=ALPHA), old[1]) if moved else None


class Receiver:
    """Writes samples; `settle(layout, size)` gives the program what was decided."""

    def __init__(self, log, decoder, settle, evidence, derive):
        self.log = log
        self.decoder = decoder
        self.settle = settle
        self.evidence = evidence
        self.updates = Updates() if derive and evidence else None
        self.held = []
        self.held_since = 0.0

    def take(self, raw):
        """Take one sample as bytes."""
        values, image = self.decoder.split(raw)
        if values["cc"] != "prague" or self.evidence is None:
            self.write(values, image)
            return
        if not self.held:
            self.held_since = time.monotonic()
        self.held.append((values, image))
        self.evidence.add(EVENTS[values["event"]], values, image)
        layout = self.evidence.decide()
        if layout:
            self.decided(layout)
        elif self.evidence.samples >= GIVE_UP_SAMPLES:
            self.give_up()
        elif len(self.held) >= HOLD_SAMPLES:
            self.let_go()

    def decided(self, layout):
        """Believe in a layout from here on; what waited is written with it."""
        self.evidence = None
        self.decoder.prague = layout
        self.settle(layout, self.decoder.kernel.ca_size)
        self.log.found(layout)
        self.let_go()

    def give_up(self):
        """Leave struct prague out for good."""
        self.log.note("%s; the log omits its fields" % self.evidence.why_not())
        self.evidence = None
        self.settle(None, self.decoder.kernel.ca_size)
        self.let_go()

    def let_go(self):
        held, self.held = self.held, []
        for values, image in held:
            self.write(values, image)

    def write(self, values, image):
        """Write one sample, before it the update of alpha that it shows."""
        layout = self.decoder.prague
        is_ack = values["cc"] == "prague" and values["event"] == ACK
        if self.updates and layout and is_ack:
            update = self.updates.before(values, image, layout)
            if update:
                self.log.sample(*self.decoder.record(*update))
        self.log.sample(*self.decoder.record(values, image))

    def tick(self, now):
        """Let samples go that waited too long."""
        if self.held and now - self.held_since >= HOLD_SECONDS:
            self.let_go()

    def end(self):
        """Decide with what there is."""
        if self.evidence is None or not self.evidence.samples:
            self.let_go()
            return
        layout = self.evidence.decide(last=True)
        if layout:
            self.decided(layout)
        else:
            self.give_up()
