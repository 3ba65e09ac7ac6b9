"""What this host is set to: kernel, congestion control, ECN, pacing, qdiscs, offloads, clocks.

Nothing that identifies people or machines: no host name, no addresses, no MACs.

    python3 collectors host -i eth0 > run.host.json
"""

import argparse
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys

from host import interfaces
from kernel import diag
from log import VERSION, prague_parameters, read_clock
from netlink import Sockets, request

FORMAT = "l4strace-host"
SYSCTLS = (
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_ecn_fallback",
    "net.ipv4.tcp_ecn_option",
    "net.ipv4.tcp_ecn_option_beacon",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.default_qdisc",
)
MODULES = ("tcp_prague", "tcp_dctcp", "tcp_bbr", "sch_dualpi2", "sch_fq", "sch_fq_codel")
NETSTAT = re.compile(
    r"^(In(NoECT|ECT0|ECT1|CE)Pkts|TCPDelivered(CE)?|TCPLostRetransmit|TCPTimeouts)$"
)
VERSIONS = {
    "dumpcap": ["--version"],
    "tcpdump": ["--version"],
    "tc": ["-V"],
    "iperf3": ["--version"],
    "zstd": ["--version"],
}


def read(path):
    """Return a file's text, None if it cannot be read."""
    try:
        with open(path, errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None


def sysctls():
    found = {name: read("/proc/sys/" + name.replace(".", "/")) for name in SYSCTLS}
    return {name: text.replace("\t", " ") for name, text in found.items() if text is not None}


def modules():
    """Return the modules that matter, with parameters; built-in ones without any do not show."""
    found = {}
    for name in MODULES:
        folder = "/sys/module/" + name
        if os.path.isdir(folder):
            found[name] = {"parameters": {}, "srcversion": read(folder + "/srcversion")}
    if "tcp_prague" in found:
        found["tcp_prague"]["parameters"] = prague_parameters()
    return found


def clocks():
    folder = "/sys/devices/system/clocksource/clocksource0/"
    return {
        "current": read(folder + "current_clocksource"),
        "available": (read(folder + "available_clocksource") or "").split(),
        "monotonic": read_clock(),
    }


def version_of(name, arguments):
    program = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not program:
        return None
    try:
        run = subprocess.run(
            [program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = run.stdout.decode(errors="replace").splitlines()
    return lines[0].strip()[:120] if lines else None


def versions():
    found = {name: version_of(name, arguments) for name, arguments in VERSIONS.items()}
    found["python"] = platform.python_version()
    found["collectors"] = VERSION
    return {name: text for name, text in found.items() if text}


def netstat():
    """Return the ECN and loss counters of this network namespace."""
    lines = (read("/proc/net/netstat") or "").splitlines()
    found = {}
    for names, values in zip(lines[::2], lines[1::2]):
        for name, value in zip(names.split()[1:], values.split()[1:]):
            if NETSTAT.match(name):
                found[name] = int(value)
    return found


def sockets():
    """Return {cookie: congestion control, ports, ECN and pacing} of the open TCP connections."""
    found = {}
    try:
        netlink = Sockets()
        for family in (socket.AF_INET, socket.AF_INET6):
            for message, present in netlink.dump(request(family, (diag.INFO, diag.CONG), [])):
                record = diag.record_of(message, present, diag.kernel_version())
                found[record["sk"]] = {
                    "sport": record["sport"],
                    "dport": record["dport"],
                    "cc": record["cc"],
                    "ecn": bool(record.get("tcp_options", 0) & 8),
                    "pacing_rate_bps": record.get("pacing_rate_bps"),
                }
    except OSError:
        pass
    return found


def changing(names):
    """Return what is read before and after a run."""
    found = {"netstat": netstat(), "interfaces": {}}
    for name in names:
        try:
            found["interfaces"][name] = {"qdiscs": interfaces.qdiscs(name)}
        except OSError as error:
            found["interfaces"][name] = {"error": error.strerror or str(error)}
    return found


def describe(names):
    """Return the host's description; `names` are the interfaces that are captured."""
    return {
        "format": FORMAT,
        "version": 1,
        "kernel": {"release": platform.release(), "machine": platform.machine()},
        "cpus": os.cpu_count(),
        "versions": versions(),
        "sysctls": sysctls(),
        "modules": modules(),
        "clock": clocks(),
        "interfaces": {name: interfaces.setting(name) for name in names},
        "before": changing(names),
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="host", description=__doc__.splitlines()[0])
    parser.add_argument("-i", "--interface", action="append", default=[])
    names = parser.parse_args(arguments).interface
    found = describe(names)
    found["sockets"] = list(sockets().values())
    json.dump(found, sys.stdout, indent=1)
    sys.stdout.write("\n")
