"""Record one run on this host: packets, kernel state and what the host is set to.

Writes STEM.pcapng, STEM.kernel.ndjson(.zst), STEM.host.json and, where the interfaces have queues,
STEM.tc.txt; reports its progress as JSON lines.

    python3 collectors record -i eth0 -o run -- iperf3 -c server -C prague
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from files import Files
from host import describe, interfaces
from packets.programs import choose
from packets.salvage import Writers, discard, salvage
from process import Stop
from run import filters
from run.arguments import SOURCES, parse
from run.control import Control
from run.offloads import Offloads, restore_left
from run.parts import Packer, Part, packing, program, sweep_after
from run.qdiscs import Qdiscs, with_queue
from run.summary import summarize

START_SECONDS = {"bcc": 180.0}
"""BCC compiles first, on a slow host for minutes."""
STOP_SECONDS = 20.0
LINGER_SECONDS = 0.5
"""After the command: the last ACKs and the FIN are still on their way."""
SAMPLE_SECONDS = 1.0
HOST, PACKETS, LOG, QDISCS = ".host.json", ".pcapng", ".kernel.ndjson", ".tc.txt"


class Recording:
    """A run in progress."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.stop = Stop(None, arguments.with_parent)
        self.began = time.monotonic()
        self.packets = self.kernel = self.packer = self.command = self.offloads = None
        self.qdiscs = Qdiscs([], None)
        self.pieces, self.writers = None, Writers()
        self.source = "none"
        self.control = Control(arguments.control, self.stop, self.tell)
        self.told, self.notes, self.died, self.sockets = [], [], {}, {}
        names = arguments.interface
        self.interfaces = interfaces.used() if "any" in names else names
        backend = arguments.backend
        self.backend = choose(backend) if backend == "auto" else backend
        self.filter = filters.without_own_session(arguments.filter, self.backend)
        self.files = Files(arguments.output)
        self.host = {}

    def tell(self, record):
        try:
            os.write(self.arguments.status_fd, json.dumps(record).encode() + b"\n")
        except OSError:
            # Nobody listens any more; a recording that lost its terminal ends, closed properly.
            self.stop.reason = self.stop.reason or "reader"

    def say(self, text):
        self.told.append(text)
        self.tell({"told": text})

    def warn(self, text):
        """Report what belongs into the last lines, too."""
        self.notes.append(text)
        self.say(text)

    # --- beginning

    def create(self, ending):
        """Make one file of the run; a second capture under the same name ends here."""
        try:
            return self.files.create(ending)
        except OSError as error:
            reason = "%s%s: %s" % (self.arguments.output, ending, error.strerror)
            return self.give_up(reason, "choose another name with -o")

    def make_folder(self):
        """For a ring's pieces. Made here, so that it is known whenever the part is killed."""
        folder = os.path.dirname(self.arguments.output) or "."
        try:
            return tempfile.mkdtemp(prefix=".l4strace-", dir=folder)
        except OSError as error:
            return self.give_up("%s: %s" % (folder, error.strerror))

    def start(self):
        """Start kernel state first, so that no packet is without it. Exit code 4 if it cannot."""
        for name in restore_left():
            self.say("restored the offloads of %s, which a killed capture had left off" % name)
        self.create(HOST)
        self.host = describe.describe(self.interfaces)
        self.write_host(False)
        self.see_to_offloads()
        queued = with_queue(self.interfaces)
        self.qdiscs = Qdiscs(queued, self.create(QDISCS) if queued else None)
        if self.arguments.kernel == "none":
            self.say("kernel state: not recorded (--kernel none)")
        else:
            self.start_kernel()
        if self.arguments.backend == "none":
            self.say("packets: not recorded (--packets none)")
        elif not self.stop:
            self.start_packets()

    def see_to_offloads(self):
        """Packets that were merged before the capture saw them hide how many were marked."""
        on = {name: interfaces.merging(name) for name in self.interfaces}
        on = {name: keys for name, keys in on.items() if keys}
        if self.arguments.offloads == "off" and on:
            try:
                self.offloads = Offloads(list(on))
                self.offloads.switch_off()
            except OSError as error:
                self.offloads = None
                self.give_up("offloads stay on: %s" % error.strerror, "run with sudo")
            self.say("offloads off on %s until the end" % ", ".join(on))
        elif self.arguments.backend != "none":
            for name, keys in on.items():
                self.warn(
                    "%s merges packets (%s), so CE is counted per merged packet;"
                    " use --offloads off" % (name, " ".join(keys).upper())
                )

    def start_kernel(self):
        wanted = self.arguments.kernel
        self.packed_by, ending = packing(self.arguments.plain)
        self.log = LOG + ending
        self.create(self.log)
        options = []
        for port in filters.ports_of(self.arguments.filter):
            options += ["--port", str(port)]
        if self.arguments.kernel_buffer:
            options += ["--buffer", str(self.arguments.kernel_buffer)]
        for name in SOURCES if wanted == "auto" else (wanted,):
            if self.try_kernel(name, options + self.own_options(name)):
                return
            if self.stop:
                break
        self.files.discard(self.log)
        if not self.stop and wanted != "auto":
            self.give_up("kernel state by %s: %s" % (wanted, self.told[-1]))

    def own_options(self, name):
        """Return the options that not all sources of kernel state have."""
        if name == "diag":
            return ["--interval", str(self.arguments.interval)]
        return ["--all-namespaces"] if self.arguments.all_namespaces else []

    def try_kernel(self, name, options):
        packer = Packer(self.files.open[self.arguments.output + self.log], self.packed_by)
        part = Part(name, program(name, options), packer.input)
        packer.hand_over()
        seconds = self.arguments.start_within or START_SECONDS.get(name, 60.0)
        if part.wait_started(seconds, self.stop):
            self.kernel, self.packer, self.source = part, packer, name
            self.say("kernel state by %s (%s)" % (name, part.told["started"]))
            if name == "diag" and self.arguments.all_namespaces:
                self.warn("diag sees the sockets of this network namespace only")
            return True
        part.ask_to_stop()
        part.wait(5.0)
        self.sweep(part)
        packer.wait()
        self.files.empty(self.log)
        remedy = part.told.get("remedy")
        self.say("no %s: %s%s" % (name, part.why(), " (%s)" % remedy if remedy else ""))
        return False

    def start_packets(self):
        a = self.arguments
        output = self.create(PACKETS)
        options = ["--write=" + a.output + PACKETS, "--output-fd", str(output)]
        if a.ring:
            self.pieces = self.make_folder()
            options.append("--pieces=" + self.pieces)
        options += ["--snaplen", str(a.snaplen), "--backend", self.backend]
        options += ["--filter=" + self.filter, *("--interface=" + name for name in a.interface)]
        for name, value in (("--ring", a.ring), ("--count", a.count), ("--buffer", a.buffer)):
            options += [name, str(value)] if value else []
        held = self.writers.inherited
        options += ["--writers-fd", str(held)]
        self.packets = Part("packets", program("packets", options), fds=(output, held))
        if self.packets.wait_started(a.start_within or 60.0, self.stop):
            self.say("packets by %s" % self.packets.told["started"])
        elif not self.stop:
            self.packets.ask_to_stop()
            self.packets.wait(5.0)
            final = self.packets.told.get("packets", {}).get("ended")
            remedy = self.packets.told.get("remedy", "")
            if "ermission" in (final or ""):
                remedy = "run with sudo, or be in the group that may use dumpcap (wireshark)"
            self.give_up("packets: %s" % (final or self.packets.why()), remedy)

    def give_up(self, reason, remedy=""):
        """End before the beginning: nothing is left behind."""
        for part in (self.kernel, self.packets):
            if part:
                part.ask_to_stop()
                part.wait(5.0)
        if self.kernel:
            self.sweep(self.kernel)
        if self.packer:
            self.packer.wait()
        discard(self.pieces)
        self.restore_offloads()
        self.files.discard_all()
        self.tell({"cannot": reason, "remedy": remedy})
        sys.exit(4)

    def restore_offloads(self):
        if self.offloads:
            for failure in self.offloads.restore():
                self.warn("not restored: %s" % failure)
            self.offloads = None

    # --- during

    def wait_for_start(self):
        """Report that all is ready; under control wait for `start`: hosts start together."""
        self.tell({"ready": True})
        while self.control.enabled and not self.control.begun and not self.stop:
            self.stop.sleep(1.0, [0])
            self.control.obey()
        self.began = time.monotonic()
        if self.arguments.duration:
            self.stop.deadline = self.began + self.arguments.duration

    def run_command(self):
        if self.arguments.command and not self.stop:
            try:
                self.command = subprocess.Popen(self.arguments.command, stdin=subprocess.DEVNULL)
            except OSError as error:
                self.say("%s: %s" % (self.arguments.command[0], error.strerror))
                self.stop.reason = "command"

    def run(self):
        """Watch over the parts until there is a reason to stop."""
        sampled = 0.0
        while not self.stop:
            parts = [part for part in (self.packets, self.kernel) if part and part.open]
            self.stop.sleep(0.2, parts + self.control.inputs())
            for part in parts:
                part.read()
            self.pass_on_notes()
            self.control.obey()
            self.qdiscs.poll()
            if time.monotonic() - sampled > SAMPLE_SECONDS:
                sampled = time.monotonic()
                self.sockets.update(describe.sockets())
                self.tell({"status": self.status()})
            if self.notice_deaths():
                break
            if self.command and self.command.poll() is not None:
                self.stop.sleep(LINGER_SECONDS)
                self.stop.reason = self.stop.reason or "exit"
        return self.stop.reason or "error"

    def pass_on_notes(self):
        """Report what the collectors noted."""
        for part in (self.kernel, self.packets):
            while part and part.notes:
                self.warn("%s: %s" % (part.name, part.notes.pop(0)))

    def notice_deaths(self):
        """Report once what died. Without packets the run ends; without kernel state it goes on."""
        for part in (self.kernel, self.packets):
            if part and part.name not in self.died and not part.alive():
                part.read()
                reason = part.told.get("packets", {}).get("ended") or part.why()
                if reason == "count":
                    self.stop.reason = self.stop.reason or "count"
                    return True
                self.died[part.name] = reason
                self.say("%s failed: %s" % (part.name, reason))
        return "packets" in self.died or (self.packets is None and bool(self.died))

    def status(self):
        found = {"seconds": round(time.monotonic() - self.began, 1)}
        for part in (self.packets, self.kernel):
            found.update(part.status if part else {})
        return found

    # --- ending

    def finish(self, ended):
        """Stop the parts, packets first so that none is without state; write the host file."""
        code = None
        # What died by itself just now must not pass for what we are about to stop.
        if any(part and part.process.poll() for part in (self.packets, self.kernel)):
            self.notice_deaths()
        if self.packets:
            self.packets.ask_to_stop()
            code = self.packets.wait(STOP_SECONDS)
            self.see_to_packets()
        packed = self.finish_kernel()
        self.restore_offloads()
        self.qdiscs.poll()
        if self.qdiscs.trouble:
            self.died["qdiscs"] = self.qdiscs.trouble
            self.say("qdiscs: %s" % self.qdiscs.trouble)
        self.pass_on_notes()
        self.notice_deaths_at_end(code)
        summary = summarize(self, ended, self.end_command(ended), packed)
        self.host["capture"] = summary
        self.host["after"] = describe.changing(self.interfaces)
        self.host["sockets"] = list(self.sockets.values())
        self.write_host(True)
        summary["files"] = self.files.sizes()
        self.tell({"summary": summary})
        return 0 if not self.died else 1

    def sweep(self, part):
        """A part that was killed had no time to tidy up after itself."""
        stays = sweep_after(part)
        if stays:
            self.warn(stays)

    def see_to_packets(self):
        """Count what a packet part left that was killed before it could."""
        if "packets" in self.packets.told:
            return
        output = self.files.open[self.arguments.output + PACKETS]
        counts = salvage(output, self.pieces, self.packets.why(), self.writers)
        self.packets.told["packets"] = counts

    def finish_kernel(self):
        """Stop the collector; return what reached the disk of its log."""
        if not self.kernel:
            return {}
        self.kernel.ask_to_stop()
        self.kernel.wait(STOP_SECONDS)
        self.sweep(self.kernel)
        packed, trouble = self.packer.wait()
        if trouble:
            self.died["kernel log"] = trouble
            self.say("kernel log: %s" % trouble)
        return packed

    def notice_deaths_at_end(self, code):
        if code not in (0, None) and "packets" not in self.died:
            told = self.packets.told.get("packets", {})
            self.died["packets"] = told.get("ended", self.packets.why())
            self.say("packets: %s" % self.died["packets"])

    def end_command(self, ended):
        """Let the command finish if the recording ended before it; return its exit code."""
        if not self.command:
            return None
        if self.command.poll() is None and ended in ("signal", "reader", "duration", "count"):
            self.command.send_signal(signal.SIGTERM)
        try:
            return self.command.wait(None if ended == "error" else 10)
        except subprocess.TimeoutExpired:
            self.command.kill()
            return self.command.wait()

    def write_host(self, complete):
        """Write the host file; the early one stays if the disk is full."""
        self.host["complete"] = complete
        try:
            self.files.replace(HOST, json.dumps(self.host, indent=1) + "\n")
        except OSError as error:
            reason = error.strerror or str(error)
            self.died["host file"] = reason
            self.say("host file: %s" % reason)


def record(arguments):
    """Record one run; return (exit code, recording)."""
    recording = Recording(arguments)
    try:
        recording.start()
        if not recording.stop:
            recording.wait_for_start()
        recording.run_command()
        ended = recording.run()
        return recording.finish(ended), recording
    finally:
        recording.restore_offloads()


def main(arguments=None):
    sys.exit(record(parse(arguments))[0])
