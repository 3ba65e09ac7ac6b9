"""Record one run on this host: packets, kernel state and what the host is set to.

Writes STEM.pcapng, STEM.kernel.ndjson(.zst) and STEM.host.json; tells its progress as JSON lines.

    python3 collectors record -i eth0 -o run -- iperf3 -c server -C prague
"""

import argparse
import json
import os
import re
import select
import signal
import subprocess
import sys
import time

from host import describe
from process import Stop
from run.parts import Compressor, Part, program

SOURCES = ("bcc", "tracefs", "diag")
"""Kernel state, best first."""
START_SECONDS = {"bcc": 180.0}
"""BCC compiles first, on a slow host for minutes."""
STOP_SECONDS = 20.0
LINGER_SECONDS = 0.5
"""After the command: the last ACKs and the FIN are still on their way."""
SAMPLE_SECONDS = 1.0
ENDINGS = (".pcapng", ".kernel.ndjson", ".kernel.ndjson.zst", ".kernel.ndjson.gz", ".host.json")


def parse(arguments):
    parser = argparse.ArgumentParser(prog="record", description=__doc__.splitlines()[0])
    parser.add_argument("-i", "--interface", action="append", required=True)
    parser.add_argument("-o", "--output", required=True, metavar="STEM")
    parser.add_argument("--kernel", choices=("auto", "none", *SOURCES), default="auto")
    parser.add_argument("--filter", default="", help="pcap filter")
    parser.add_argument("--snaplen", type=int, default=128)
    parser.add_argument("--ring", type=int, metavar="MB", help="keep only the last MB of packets")
    parser.add_argument("--backend", default="auto", help="dumpcap, tcpdump or ring")
    parser.add_argument("--duration", type=float)
    parser.add_argument("--interval", type=float, default=10.0, help="ms between polls of diag")
    parser.add_argument("--plain", action="store_true", help="do not pack the kernel log")
    parser.add_argument("--control", action="store_true", help="obey stdin: clock, start, stop")
    parser.add_argument("--status-fd", type=int, default=2)
    parser.add_argument("--with-parent", action="store_true")
    parser.add_argument("command", nargs="*", help="record while this runs")
    return parser.parse_args(arguments)


def ports_of(filter_text):
    """Return the ports that a pcap filter names: what the kernel's state is filtered by."""
    if re.search(r"\bnot\b|!", filter_text):
        return []
    return sorted({int(number) for number in re.findall(r"\bport\s+(\d+)", filter_text)})


class Recording:
    """A run in progress."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.stop = Stop(None, arguments.with_parent)
        self.began = time.monotonic()
        self.packets = self.kernel = self.compressor = self.command = None
        self.source = "none"
        self.begun = False
        self.orders = b""
        self.told = []
        self.died = {}
        self.sockets = {}
        self.host = describe.describe(arguments.interface)

    def tell(self, record):
        try:
            os.write(self.arguments.status_fd, json.dumps(record).encode() + b"\n")
        except OSError:
            # Nobody listens any more; a recording that lost its terminal ends, closed properly.
            self.stop.reason = self.stop.reason or "reader"

    def say(self, text):
        self.told.append(text)
        self.tell({"told": text})

    # --- beginning

    def start(self):
        """Start kernel state first, so that no packet is without it. Exit code 4 if it cannot."""
        self.write_host(False)
        if self.arguments.kernel == "none":
            self.say("kernel state: none, as asked")
        else:
            self.start_kernel()
        self.start_packets()

    def start_kernel(self):
        wanted = self.arguments.kernel
        options = []
        for port in ports_of(self.arguments.filter):
            options += ["--port", str(port)]
        for name in SOURCES if wanted == "auto" else (wanted,):
            extra = ["--interval", str(self.arguments.interval)] if name == "diag" else []
            if self.try_kernel(name, options + extra):
                return
            if self.stop:
                return
        if wanted != "auto":
            self.give_up("kernel state by %s: %s" % (wanted, self.told[-1]))

    def try_kernel(self, name, options):
        compressor = Compressor(self.arguments.output + ".kernel.ndjson", self.arguments.plain)
        part = Part(name, program(name, options), compressor.input)
        compressor.hand_over()
        if part.wait_started(START_SECONDS.get(name, 15.0), self.stop):
            self.kernel, self.compressor, self.source = part, compressor, name
            self.say("kernel state by %s (%s)" % (name, part.told["started"]))
            return True
        part.ask_to_stop()
        part.wait(5.0)
        compressor.discard()
        remedy = part.told.get("remedy")
        self.say("no %s: %s%s" % (name, part.why(), " (%s)" % remedy if remedy else ""))
        return False

    def start_packets(self):
        a = self.arguments
        options = ["-w", a.output + ".pcapng", "--snaplen", str(a.snaplen), "--filter", a.filter]
        options += ["--backend", a.backend]
        for name in a.interface:
            options += ["-i", name]
        if a.ring:
            options += ["--ring", str(a.ring)]
        self.packets = Part("packets", program("packets", options))
        if self.packets.wait_started(15.0, self.stop):
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
        if self.compressor:
            self.compressor.discard()
        for ending in ENDINGS:
            try:
                os.unlink(self.arguments.output + ending)
            except OSError:
                pass
        self.tell({"cannot": reason, "remedy": remedy})
        sys.exit(4)

    # --- during

    def wait_for_start(self):
        """Tell that all is ready; under control wait for the word, so that hosts start together."""
        self.tell({"ready": True})
        while self.arguments.control and not self.begun and not self.stop:
            self.stop.sleep(1.0, [0])
            self.obey()
        self.began = time.monotonic()
        if self.arguments.duration:
            self.stop.deadline = self.began + self.arguments.duration

    def obey(self):
        """Carry out what stdin says; its end means that whoever controls this is gone."""
        while self.arguments.control and select.select([0], [], [], 0)[0]:
            chunk = os.read(0, 4096)
            if not chunk:
                self.stop.reason = self.stop.reason or "reader"
                return
            *lines, self.orders = (self.orders + chunk).split(b"\n")
            for line in lines:
                if line == b"clock":
                    self.tell({"clock": time.time_ns()})
                elif line == b"start":
                    self.begun = True
                elif line == b"stop":
                    self.stop.reason = self.stop.reason or "exit"

    def run_command(self):
        if self.arguments.command and not self.stop:
            try:
                self.command = subprocess.Popen(self.arguments.command, stdin=subprocess.DEVNULL)
            except OSError as error:
                self.say("command: %s" % error)
                self.stop.reason = "command"

    def run(self):
        """Watch over the parts until there is a reason to stop."""
        sampled = 0.0
        while not self.stop:
            parts = [part for part in (self.packets, self.kernel) if part and part.open]
            stdin = [0] if self.arguments.control else []
            self.stop.sleep(0.2, parts + stdin)
            for part in parts:
                part.read()
            self.obey()
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

    def notice_deaths(self):
        """Say once what died. Without packets the run is over; without kernel state it goes on."""
        for part in (self.kernel, self.packets):
            if part and part.name not in self.died and not part.alive():
                part.read()
                reason = part.told.get("packets", {}).get("ended") or part.why()
                self.died[part.name] = reason
                self.say("%s ended early: %s" % (part.name, reason))
        return "packets" in self.died

    def status(self):
        found = {"seconds": round(time.monotonic() - self.began, 1)}
        found.update(self.packets.status)
        if self.kernel:
            found.update(self.kernel.status)
        return found

    # --- ending

    def finish(self, ended):
        """Stop the parts, packets first so that none is without state; write the host file."""
        code = None
        if self.packets:
            self.packets.ask_to_stop()
            code = self.packets.wait(STOP_SECONDS)
        trouble = None
        if self.kernel:
            self.kernel.ask_to_stop()
            self.kernel.wait(STOP_SECONDS)
            trouble = self.compressor.wait()
            if trouble:
                self.say("kernel log: %s" % trouble)
        self.notice_deaths_at_end(code)
        command = self.end_command(ended)
        summary = self.summary(ended, command)
        self.host["capture"] = summary
        self.host["after"] = describe.changing(self.arguments.interface)
        self.host["sockets"] = list(self.sockets.values())
        self.write_host(True)
        self.give_to_user()
        summary["files"] = self.files()
        self.tell({"summary": summary})
        return 0 if not self.died else 1

    def notice_deaths_at_end(self, code):
        if code not in (0, None) and "packets" not in self.died:
            self.died["packets"] = self.packets.told.get("packets", {}).get(
                "ended", self.packets.why()
            )
            self.say("packets: %s" % self.died["packets"])

    def end_command(self, ended):
        """Let the command finish if the recording ended before it; return its exit code."""
        if not self.command:
            return None
        if self.command.poll() is None and ended in ("signal", "reader", "duration"):
            self.command.send_signal(signal.SIGTERM)
        try:
            return self.command.wait(None if ended == "error" else 10)
        except subprocess.TimeoutExpired:
            self.command.kill()
            return self.command.wait()

    def summary(self, ended, command):
        packets = dict(self.packets.told.get("packets", {})) if self.packets else {}
        packets.pop("files", None)
        kernel = dict(self.kernel.status) if self.kernel else {}
        kernel["source"] = self.source
        return {
            "ended": ended,
            "seconds": round(time.monotonic() - self.began, 3),
            "interfaces": self.arguments.interface,
            "filter": self.arguments.filter,
            "snaplen": self.arguments.snaplen,
            "packets": packets,
            "kernel": kernel,
            "told": self.told,
            "died": self.died,
            "command_exit": command,
        }

    def give_to_user(self):
        """Under sudo give the files to who called it, who is to diagnose them."""
        owner = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
        for path in self.files() if owner[0].isdigit() and owner[1].isdigit() else ():
            try:
                os.chown(path, int(owner[0]), int(owner[1]))
            except OSError as error:
                self.say("%s stays with root: %s" % (path, error))

    def files(self):
        found = {}
        for ending in ENDINGS:
            path = self.arguments.output + ending
            if os.path.exists(path):
                found[path] = os.path.getsize(path)
        return found

    def write_host(self, complete):
        """Write the host file under another name first; the early one stays if the disk is full."""
        path = self.arguments.output + ".host.json"
        self.host["complete"] = complete
        try:
            with open(path + ".part", "w") as file:
                json.dump(self.host, file, indent=1)
                file.write("\n")
            os.rename(path + ".part", path)
        except OSError as error:
            self.say("host file: %s" % (error.strerror or error))
            try:
                os.unlink(path + ".part")
            except OSError:
                pass


def record(arguments):
    """Record one run; return (exit code, recording)."""
    recording = Recording(arguments)
    recording.start()
    if not recording.stop:
        recording.wait_for_start()
    recording.run_command()
    ended = recording.run()
    return recording.finish(ended), recording


def main(arguments=None):
    sys.exit(record(parse(arguments))[0])
