"""Kernel state from kprobes on the callbacks of tcp_prague and tcp_dctcp, by BCC.

Other algorithms by the tracepoint tcp:tcp_probe. State is read before the probed call changes it.

Overhead for each packet that TCP receives, in instructions, with a Prague flow of 50 Mbit/s
(fixtures/lab/vm/jobs/overhead.sh: ten runs each): 2,080 +- 40 in the probes and 21,700 +- 1,700
in this process with 1 flow, 2,520 +- 190 and 35,800 +- 3,300 with 4, 3,320 +- 240 and 81,100 +-
15,000 with 64.

    python3 collectors bcc --port 5201 > run.kernel.ndjson
"""

import argparse
import ctypes
import glob
import os
import pkgutil
import platform
import random
import re
import sys
import time

from kernel import btf, offsets, prague_layouts, tracing
from kernel.duties import Duties
from kernel.evidence import Evidence
from kernel.kprobes import Kprobes, program_skipped
from kernel.receiver import Receiver
from kernel.samples import FIELDS, Decoder
from log import Log, finish, prague_parameters
from netlink import network
from process import Stop, cannot, tell

COLLECTOR = "bcc/cc_probes"
BUFFER_MB, TOTAL_MB = 8, 64
"""Buffer of each CPU, 8 MB hold some 20,000 samples, and of all of them where there are many."""
PAGES_PER_MB = 256
POLL_MS = 100
LOST = ("ring", "nested")
"""Places of loss, by index of the program's table; `skipped` are calls that it never saw."""
UNREADABLE_OFFSET = 0xFFFFFFFF
"""Offset that means, to the BPF program, that a field cannot be read."""
ROUND = ("next_seq", "old_delivered")
"""Field that shows that a round began, by index of the program's table."""
HEADERS = "/lib/modules/%s/build"

PRAGUE_PROBES = (
    # kernel function, ours
    ("prague_cong_control", "on_prague_cong_control"),
    ("prague_state", "on_state"),
    ("prague_cwnd_event", "on_cwnd_event"),
    ("prague_init", "on_init"),
    ("prague_release", "on_release"),
    ("prague_update_alpha", "on_prague_update_alpha"),
    ("prague_classic_ecn_detection", "on_prague_detection"),
    ("prague_classic_ecn_fallback", "on_prague_fallback"),
    ("prague_enter_cwr", "on_prague_enter_cwr"),
)
DCTCP_PROBES = (
    ("dctcp_update_alpha", "on_dctcp_update_alpha"),
    ("dctcp_ssthresh", "on_ssthresh"),
    ("dctcp_state", "on_state"),
    ("dctcp_cwnd_event", "on_cwnd_event"),
    ("dctcp_init", "on_init"),
)


def find_headers():
    """Point BCC at kernel headers of any version, for offsets come from BTF; return more cflags.

    Debian splits headers: `include` in linux-headers-X-common, what is generated in -X-ARCH.
    """
    release = platform.release()
    if os.path.isdir(HEADERS % release) or os.environ.get("BCC_KERNEL_SOURCE"):
        return []
    if os.path.exists("/sys/kernel/kheaders.tar.xz"):
        return []
    found = sorted(glob.glob("/usr/src/linux-headers-*/include/generated/autoconf.h"))
    if not found:
        cannot("BCC needs kernel headers", "apt install linux-headers-" + release)
    folder = found[-1][: -len("/include/generated/autoconf.h")]
    common = re.sub(r"(-cloud|-rt)?-[a-z0-9]+$", "-common", folder)
    os.environ["BCC_KERNEL_SOURCE"] = common if os.path.isdir(common) else folder
    arch = {"x86_64": "x86", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    generated = "arch/%s/include/generated" % arch
    parts = ("include", generated, generated + "/uapi", "include/generated/uapi")
    return ["-I%s/%s" % (folder, part) for part in parts]


def load_bcc():
    if os.geteuid() != 0:
        cannot("BCC needs root", "run with sudo")
    try:
        import bcc
    except ImportError as error:
        cannot("BCC is not installed: %s" % error, "apt install python3-bpfcc")
    return bcc


def defines(layout, ports, dctcp, symbols, every_ack, namespace):
    """Return the macros that fit the program to this kernel and this call."""
    macros = dict(layout.macros)
    macros.update(("BIT_" + name, bit) for name, bit in layout.bits().items())
    macros["CA_SIZE"] = layout.ca_size
    macros["WITH_PRAGUE"] = int("prague_cong_control" in symbols)
    macros["WITH_DCTCP"] = int("dctcp_update_alpha" in symbols and bool(dctcp))
    macros["WITH_TCP_PROBE"] = 1
    macros["EVERY_ACK"] = int(every_ack)
    macros["NAMESPACE"] = namespace
    macros["CA_EVENT_LOSS"] = 3 if layout.loss_event is None else layout.loss_event
    macros["DERIVE_ALPHA"] = int("prague_update_alpha" not in symbols)
    macros["STATE_IS_CWR"] = int("prague_enter_cwr" not in symbols)
    if dctcp:
        macros["DCTCP_NEXT_SEQ"] = dctcp["next_seq"]
    lines = ["-D%s=%d" % item for item in sorted(macros.items())]
    tests = ["(s)==%d||(d)==%d" % (port, port) for port in ports] or ["1"]
    lines.append("-DWANTED(s,d)=(%s)" % "||".join(tests))
    lines.append("-DRS_ARGUMENT(c)=PT_REGS_PARM%d(c)" % layout.rate_sample_argument)
    return lines


class Program:
    """The BPF program with its probes, its buffer and what it lost."""

    def __init__(self, bcc, text, cflags):
        self.bpf = bcc.BPF(text=text, cflags=cflags)
        self.bcc = bcc
        self.attached, self.notes = [], []
        self.descriptors = []
        self.reported = {}
        try:
            self.kprobes = Kprobes(tracing.folder(), bcc.libbcc.lib.bpf_attach_tracepoint)
        except OSError as error:
            self.kprobes = None
            self.notes.append("skipped probes are not counted: %s" % error)

    def attach(self, symbols, wanted):
        """Attach the probes whose functions this kernel has."""
        for function, ours in wanted:
            if function not in symbols:
                continue
            try:
                self._attach(function, symbols[function], ours, False)
                if ours == "on_prague_fallback":
                    self._attach(function, symbols[function], ours + "_return", True)
            except Exception as error:  # BCC raises plain Exception
                self.notes.append("no probe on %s: %s" % (function, error))
                continue
            self.attached.append(function)

    def _attach(self, function, symbol, ours, at_return):
        loaded = self.bpf.load_func(ours.encode(), self.bcc.BPF.KPROBE)
        if self.kprobes:
            self.kprobes.add(function, symbol, loaded.fd, at_return)
        elif at_return:
            self.bpf.attach_kretprobe(event=symbol.encode(), fn_name=ours.encode())
        else:
            self.bpf.attach_kprobe(event=symbol.encode(), fn_name=ours.encode())
        self.descriptors.append(loaded.fd)

    def settle(self, layout, size):
        """Set where a round is, so that the program derives updates and filters ACKs itself."""
        table = self.bpf["round_at"]
        # next_seq last: the program begins when it has that.
        for index, name in reversed(list(enumerate(ROUND))):
            at = layout["offsets"].get(name, UNREADABLE_OFFSET) if layout else UNREADABLE_OFFSET
            table[ctypes.c_int(index)] = ctypes.c_uint(at if at + 4 <= size else UNREADABLE_OFFSET)

    def open(self, take, megabytes):
        def receive(_cpu, data, size):
            take(ctypes.string_at(data, size))

        # Losses are counted where they happen: the callback comes with the next sample only.
        self.bpf["samples"].open_perf_buffer(
            receive, page_cnt=pages(megabytes), lost_cb=lambda *_: None
        )

    def poll(self, milliseconds):
        self.bpf.perf_buffer_poll(timeout=milliseconds)

    def newly_lost(self):
        """Return {place: how many samples were lost since the last call}."""
        table = self.bpf["lost"]
        counts = {name: int(sum(table[ctypes.c_int(i)])) for i, name in enumerate(LOST)}
        counts["skipped"] = sum(program_skipped(one) for one in self.descriptors)
        if self.kprobes:
            counts["skipped"] += self.kprobes.skipped()
        new = {name: count - self.reported.get(name, 0) for name, count in counts.items()}
        self.reported = counts
        return new

    def close(self):
        if self.kprobes:
            self.kprobes.close()


def pages(megabytes, cpus=None):
    """Return the size of a CPU's buffer in pages, a power of two."""
    share = max(1, min(BUFFER_MB, TOTAL_MB // (cpus or os.cpu_count() or 1)))
    wanted = (megabytes or share) * PAGES_PER_MB
    return 1 << (wanted.bit_length() - 1)


def poll(stop, program, duties):
    """Hand on samples until stopped, then what is still in the buffers."""
    while True:
        stopping = bool(stop)
        program.poll(0 if stopping else POLL_MS)
        if stopping:
            return duties.end()
        duties.look(time.monotonic())


def collect(arguments, stream):
    stop = Stop(arguments.duration, arguments.with_parent)
    bcc = load_bcc()
    kernel = btf.load()
    if kernel is None:
        cannot("no BTF in this kernel", "CONFIG_DEBUG_INFO_BTF; or use tracefs or diag")
    layout = offsets.Layout(kernel)
    if layout.missing:
        cannot("BTF lacks %s" % ", ".join(layout.missing), "use tracefs or diag")
    symbols = offsets.symbols(r"(?:prague|dctcp)_\w+")
    prague = offsets.prague(kernel)
    dctcp = offsets.dctcp(kernel)
    namespace = 0 if arguments.all_namespaces else network()
    macros = defines(layout, arguments.port or [], dctcp, symbols, arguments.every_ack, namespace)
    parts = ("sample.bpf.h", "probes.bpf.c")
    text = "".join(pkgutil.get_data(__name__, part).decode() for part in parts)
    try:
        program = Program(bcc, text, macros + find_headers())
    except Exception as error:  # BCC raises plain Exception
        cannot("BCC cannot build or load its program: %s" % error, "linux-headers, CAP_BPF")
    try:
        with_prague = "prague_cong_control" in symbols
        if prague or not with_prague:
            program.settle(prague, layout.ca_size)
        program.attach(symbols, PRAGUE_PROBES if with_prague else ())
        program.attach(symbols, DCTCP_PROBES if dctcp else ())
        extra = {"probes": [*program.attached, "tcp_probe"]}
        log = Log(stream, COLLECTOR, FIELDS, prague, extra)
        if namespace and not layout.shows_namespace:
            program.notes.append("sockets of all network namespaces are recorded: not in BTF")
        for note in program.notes:
            log.note(note)
        decoder = Decoder(layout, prague, dctcp, random.SystemRandom().getrandbits(64))
        evidence = None
        if with_prague and not prague:
            evidence = Evidence(layout.ca_size, prague_layouts.candidates(prague_parameters()))
        derive = "prague_update_alpha" not in symbols
        receiver = Receiver(log, decoder, program.settle, evidence, derive)
        duties = Duties(stop, program, receiver, log)
        program.open(duties.take, arguments.buffer)
        tell({"started": COLLECTOR})
        finish(log, stop, lambda _: poll(stop, program, duties))
        log.status()
    finally:
        program.close()


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="bcc", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, action="append", help="only sockets with this port")
    parser.add_argument("--every-ack", action="store_true", help="no change filter")
    parser.add_argument(
        "--all-namespaces", action="store_true", help="not only sockets of this one"
    )
    parser.add_argument("--buffer", type=int, metavar="MB", help="buffer of each CPU")
    parser.add_argument("--duration", type=float, help="seconds, then stop")
    parser.add_argument("--with-parent", action="store_true", help="stop when the parent dies")
    collect(parser.parse_args(arguments), sys.stdout.buffer)
