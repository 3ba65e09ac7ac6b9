"""Kernel state from kprobes on the callbacks of tcp_prague and tcp_dctcp, by BCC.

Other algorithms by the tracepoint tcp:tcp_probe. State is read before the probed call changes it.

Overhead, measured on a virtual machine with 2 cores: 1.6 us in the kernel for each packet that a
matching socket receives (tcp_probe), and some 4 s at the start to compile.

    python3 collectors bcc --port 5201 > run.kernel.ndjson
"""

import argparse
import glob
import os
import pkgutil
import platform
import random
import re
import sys

from kernel import btf, offsets
from kernel.samples import FIELDS, Decoder
from log import Log, finish, prague_parameters
from process import Stop, cannot, tell

COLLECTOR = "bcc/cc_probes"
PAGES = 512
"""Per-CPU buffer in pages: 2 MB hold some 6,000 samples."""
STATUS_EVERY = 10
POLL_MS = 100
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
        cannot("BCC finds no kernel headers", "apt install linux-headers-" + release)
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
        cannot("no BCC: %s" % error, "apt install python3-bpfcc")
    return bcc


def defines(layout, ports, prague, dctcp, symbols, every_ack):
    """Return the macros that fit probes.bpf.c to this kernel and this call."""
    macros = dict(layout.macros)
    macros["CA_SIZE"] = layout.ca_size
    macros["WITH_PRAGUE"] = int("prague_cong_control" in symbols and bool(prague))
    macros["WITH_DCTCP"] = int("dctcp_update_alpha" in symbols and bool(dctcp))
    macros["WITH_TCP_PROBE"] = 1
    macros["EVERY_ACK"] = int(every_ack)
    macros["CA_EVENT_LOSS"] = 3 if layout.loss_event is None else layout.loss_event
    macros["DERIVE_ALPHA"] = int("prague_update_alpha" not in symbols)
    macros["STATE_IS_CWR"] = int("prague_enter_cwr" not in symbols)
    if prague:
        macros["PRAGUE_NEXT_SEQ"] = prague["offsets"]["next_seq"]
    if dctcp:
        macros["DCTCP_NEXT_SEQ"] = dctcp["next_seq"]
    lines = ["-D%s=%d" % item for item in sorted(macros.items())]
    tests = ["(s)==%d||(d)==%d" % (port, port) for port in ports] or ["1"]
    lines.append("-DWANTED(s,d)=(%s)" % "||".join(tests))
    arguments = rate_sample_argument(layout.kernel, prague)
    lines.append("-DRS_ARGUMENT(c)=PT_REGS_PARM%d(c)" % arguments)
    return lines


def rate_sample_argument(kernel, prague):
    """Return which argument of prague_cong_control is the rate sample: the 4th since Linux 6.10."""
    module = btf.load("tcp_prague", kernel)
    count = module.parameters("prague_cong_control") if module else None
    if count is None:
        count = 4 if prague and prague["name"] == "P7" else 2
    return 4 if count >= 4 else 2


def attach(program, symbols, wanted):
    """Attach the probes whose functions this kernel has; return what was attached."""
    attached = []
    for function, ours in wanted:
        if function not in symbols:
            continue
        try:
            program.attach_kprobe(event=symbols[function], fn_name=ours)
            if ours == "on_prague_fallback":
                program.attach_kretprobe(event=symbols[function], fn_name=ours + "_return")
        except Exception as error:  # BCC raises plain Exception
            tell({"note": "no probe on %s: %s" % (function, error)})
            continue
        attached.append(function)
    return attached


class Collector:
    """Receives samples; a layout that is a guess waits for the first Prague sample."""

    def __init__(self, stream, decoder, candidates, attached):
        self.stream = stream
        self.decoder = decoder
        self.candidates = candidates
        self.attached = attached
        self.log = None
        self.waiting = []
        self.lost = 0

    def begin(self, layout):
        """Write the header and what waited for it."""
        self.decoder.prague = layout
        self.log = Log(self.stream, COLLECTOR, FIELDS, layout, {"probes": self.attached})
        for raw in self.waiting:
            self.log.sample(*self.decoder.record(raw))
        self.waiting = []

    def take(self, raw):
        """Take one sample as bytes."""
        if self.log is None:
            self.waiting.append(raw)
            if self.decoder.split(raw)[0]["cc"] == "prague":
                chosen = self.decoder.choose_prague(raw, self.candidates)
                self.begin(chosen)
                if chosen is None:
                    self.log.note("struct prague fits no known layout: its state is left out")
            return
        self.log.sample(*self.decoder.record(raw))

    def losing(self, count):
        self.lost += count


def poll(stop, program, collector, decided):
    """Hand on samples until stopped, then what is still in the buffers."""
    rounds = 0
    while True:
        stopping = bool(stop)
        program.perf_buffer_poll(timeout=0 if stopping else POLL_MS)
        if collector.lost:
            count, collector.lost = collector.lost, 0
            decided().losing("ring", count)
        rounds += 1
        if collector.log and rounds % STATUS_EVERY == 0:
            collector.log.flush()
            collector.log.status()
        if stopping:
            return


def collect(arguments, stream):
    stop = Stop(arguments.duration, arguments.with_parent)
    bcc = load_bcc()
    kernel = btf.load()
    if kernel is None:
        cannot("no BTF in this kernel", "CONFIG_DEBUG_INFO_BTF; or use tracefs or diag")
    layout = offsets.Layout(kernel)
    if layout.missing:
        cannot("BTF lacks %s" % ", ".join(layout.missing), "use tracefs or diag")
    candidates = offsets.prague(kernel, prague_parameters())
    dctcp = offsets.dctcp(kernel)
    symbols = offsets.symbols(r"(?:prague|dctcp)_\w+")
    prague = candidates[0] if candidates else None
    more = find_headers()
    macros = defines(layout, arguments.port or [], prague, dctcp, symbols, arguments.every_ack)
    text = pkgutil.get_data(__name__, "probes.bpf.c").decode()
    try:
        program = bcc.BPF(text=text, cflags=macros + more)
    except Exception as error:  # BCC raises plain Exception
        cannot("BCC cannot build or load its program: %s" % error, "linux-headers, CAP_BPF")
    wanted = (PRAGUE_PROBES if prague else ()) + (DCTCP_PROBES if dctcp else ())
    attached = [*attach(program, symbols, wanted), "tcp_probe"]
    decoder = Decoder(layout, prague, dctcp, random.SystemRandom().getrandbits(64))
    collector = Collector(stream, decoder, candidates, attached)
    sure = not candidates or candidates[0]["found"] == "btf"
    if sure:
        collector.begin(prague)
    run(stop, program, collector, candidates)


def run(stop, program, collector, candidates):
    """Open the buffers and follow them to the end."""
    import ctypes

    def take(_cpu, data, size):
        collector.take(ctypes.string_at(data, size))

    def lose(*arguments):
        collector.losing(arguments[-1])

    program["samples"].open_perf_buffer(take, page_cnt=PAGES, lost_cb=lose)
    tell({"started": COLLECTOR})

    def decided():
        if collector.log is None:
            collector.begin(candidates[0])
        return collector.log

    class Late:
        """Stands in for the log that may not have begun yet."""

        @staticmethod
        def close(ended):
            decided().close(ended)

    finish(Late, stop, lambda _: poll(stop, program, collector, decided))
    decided().status()


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="bcc", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, action="append", help="only sockets with this port")
    parser.add_argument("--every-ack", action="store_true", help="no change filter")
    parser.add_argument("--duration", type=float, help="seconds, then stop")
    parser.add_argument("--with-parent", action="store_true", help="stop when the parent dies")
    collect(parser.parse_args(arguments), sys.stdout.buffer)
