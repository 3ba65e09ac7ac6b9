"""The checks of `doctor`: each returns one line about one thing, with the remedy."""

import glob
import gzip
import os
import platform
import socket

from host import interfaces
from host.describe import read
from kernel import btf, offsets, prague_layouts, tracing
from kernel.diag import kernel_version
from log import prague_parameters
from netlink import Sockets, request
from packets import programs
from run.parts import python_with_bcc

GOOD, PART, BAD = "ok", "limited", "no"
CAPABILITIES = {"net_raw": 13, "net_admin": 12, "sys_admin": 21, "perfmon": 38, "bpf": 39}
PACKAGE_HINT = "apt install %s (or your distribution's name for it)"


def line(topic, state, says, remedy=""):
    return {"topic": topic, "state": state, "says": says, "remedy": remedy}


def kernel_config():
    """Return {option: y or m} of the running kernel, {} where it is not published."""
    text = None
    try:
        with gzip.open("/proc/config.gz", "rt") as file:
            text = file.read()
    except (OSError, EOFError):
        text = read("/boot/config-" + platform.release())
    found = {}
    for row in (text or "").splitlines():
        if row.startswith("CONFIG_"):
            name, _, value = row.partition("=")
            found[name[7:]] = value
    return found


def module_file(name):
    """Return whether the kernel can load module `name`, from modules.dep or modules.builtin."""
    folder = "/lib/modules/%s/" % platform.release()
    for listing in ("modules.dep", "modules.builtin"):
        text = read(folder + listing) or ""
        if ("/%s.ko" % name) in text or ("/%s.ko" % name.replace("_", "-")) in text:
            return True
    return False


def capabilities():
    """Return the names of the capabilities that this process has."""
    for row in (read("/proc/self/status") or "").splitlines():
        if row.startswith("CapEff:"):
            mask = int(row.split()[1], 16)
            return {name for name, bit in CAPABILITIES.items() if mask >> bit & 1}
    return set()


def check_kernel():
    version = kernel_version()
    says = "Linux %s" % platform.release()
    if version >= (7, 0):
        return line("kernel", GOOD, says + ": AccECN can be enabled")
    if version >= (6, 18):
        return line(
            "kernel", PART, says + ": AccECN is there but cannot be enabled", "Linux 7.0 or newer"
        )
    return line("kernel", PART, says + ": no AccECN in mainline", "Linux 7.0, or an L4S kernel")


def check_accecn():
    value = read("/proc/sys/net/ipv4/tcp_ecn")
    option = read("/proc/sys/net/ipv4/tcp_ecn_option")
    says = "net.ipv4.tcp_ecn = %s" % value
    if value in ("3", "4"):
        if option == "0":
            return line(
                "AccECN", PART, says + ", option off", "sysctl -w net.ipv4.tcp_ecn_option=2"
            )
        return line("AccECN", GOOD, says)
    if value == "5":
        return line("AccECN", PART, says + ": only as server", "sysctl -w net.ipv4.tcp_ecn=3")
    remedy = "sysctl -w net.ipv4.tcp_ecn=3 (needs Linux 7.0 or an L4S kernel)"
    if "prague" in available():
        # TCP_CONG_NEEDS_ACCECN: its sockets negotiate AccECN whatever the sysctl is; a server's
        # that listen with another congestion control do not.
        return line("AccECN", PART, says + ": only sockets of Prague, which needs it", remedy)
    return line("AccECN", BAD, says + ": not negotiated", remedy)


def available():
    return (read("/proc/sys/net/ipv4/tcp_available_congestion_control") or "").split()


def check_prague():
    loaded = "prague" in available()
    if not loaded and not module_file("tcp_prague"):
        return line("Prague", BAD, "this kernel has no tcp_prague", "github.com/L4STeam/linux")
    if not loaded:
        return line("Prague", PART, "tcp_prague is not loaded", "modprobe tcp_prague")
    fallback = read("/sys/module/tcp_prague/parameters/prague_ecn_fallback")
    switched = {None: "not in this build", "0": "off", "1": "on", "2": "detection only"}
    says = "loaded, classic-ECN fallback %s, %s" % (switched.get(fallback, fallback), layout())
    return line("Prague", GOOD, says + "; width of alpha: not stated, derived from the updates")


def layout():
    """Return which layout of struct prague is read, or which ones are guessed."""
    kernel = btf.load()
    found = offsets.prague(kernel) if kernel else None
    if found:
        name = "of no published build" if found["name"] == "btf" else found["name"]
        return "layout %s (read from type information)" % name
    names = prague_layouts.candidates(prague_parameters())
    guess = "%s by its parameters" % " or ".join(names) if names else "unknown"
    if not kernel:
        return "layout %s (guessed, and not read: that needs vmlinux BTF)" % guess
    return "layout %s (guessed; capture decides by what running flows hold)" % guess


def check_dctcp():
    if "dctcp" in available():
        return line("DCTCP", GOOD, "available")
    if module_file("tcp_dctcp"):
        return line("DCTCP", PART, "not loaded", "modprobe tcp_dctcp")
    return line("DCTCP", BAD, "not in this kernel", "only needed to compare with Prague")


def check_qdisc(name, config):
    module = "sch_" + name
    option = config.get("NET_SCH_" + name.upper())
    if os.path.isdir("/sys/module/" + module) or option == "y":
        return line(name, GOOD, "available")
    if module_file(module):
        return line(name, GOOD, "available as module %s" % module)
    if not config and not os.path.isdir("/lib/modules/" + platform.release()):
        return line(name, PART, "unknown: no kernel configuration and no modules here")
    return line(name, BAD, "not in this kernel", "build with CONFIG_NET_SCH_%s" % name.upper())


def check_btf():
    kernel = btf.load()
    if kernel is None:
        says = "no vmlinux BTF that can be read"
        return line("BTF", BAD, says, "a kernel with CONFIG_DEBUG_INFO_BTF")
    if "prague" in available() and not offsets.prague(kernel):
        return line("BTF", PART, "not for tcp_prague", "CONFIG_DEBUG_INFO_BTF_MODULES")
    return line("BTF", GOOD, "vmlinux")


def check_kprobes(config):
    symbols = read("/proc/kallsyms") or ""
    lockdown = read("/sys/kernel/security/lockdown") or ""
    if config.get("KPROBES") == "y" or " register_kprobe\n" in symbols:
        if "[confidentiality]" in lockdown:
            return line("kprobes", BAD, "lockdown forbids them", "boot without lockdown")
        return line("kprobes", GOOD, "available")
    if not symbols and not config:
        return line("kprobes", PART, "unknown without root", "sudo l4strace doctor")
    return line("kprobes", BAD, "not in this kernel", "CONFIG_KPROBES; or use tracefs or diag")


def check_bcc():
    found = python_with_bcc()
    if not found:
        return line("BCC", BAD, "no Python here imports bcc", PACKAGE_HINT % "python3-bpfcc")
    return line("BCC", GOOD, "imported by %s" % found)


def check_headers():
    release = platform.release()
    if os.path.isdir("/lib/modules/%s/build/include" % release):
        return line("headers", GOOD, "/lib/modules/%s/build" % release)
    if os.path.exists("/sys/kernel/kheaders.tar.xz"):
        return line("headers", GOOD, "kheaders in the kernel")
    if glob.glob("/usr/src/linux-headers-*/include/generated/autoconf.h"):
        return line("headers", GOOD, "of another kernel, which is enough: offsets come from BTF")
    return line("headers", BAD, "BCC cannot compile", PACKAGE_HINT % ("linux-headers-" + release))


def check_privileges():
    have = capabilities()
    if "sys_admin" in have:
        return line("privileges", GOOD, "root, or equivalent")
    missing = [name for name in ("net_raw", "bpf", "perfmon") if name not in have]
    return line("privileges", PART, "without " + ", ".join(missing), "sudo, for all but diag")


def check_tracefs():
    for folder in tracing.MOUNT_POINTS:
        if os.path.exists(folder + "/events/tcp/tcp_probe/format"):
            return line("tracefs", GOOD, "tcp:tcp_probe in " + folder)
        if os.path.isdir(folder + "/events"):
            return line("tracefs", BAD, "no tcp:tcp_probe", "Linux 4.16 or newer")
    if "sys_admin" in capabilities():
        return line("tracefs", GOOD, "not mounted: capture mounts a private one")
    return line("tracefs", BAD, "not readable", "sudo")


def check_diag():
    try:
        list(Sockets().dump(request(socket.AF_INET, (2,), [])))
    except OSError as error:
        return line("inet_diag", BAD, str(error), "modprobe tcp_diag")
    return line("inet_diag", GOOD, "available")


def check_packets():
    backend = programs.choose("auto")
    if backend == "ring":
        if "net_raw" not in capabilities():
            return line(
                "packets", BAD, "not allowed: no dumpcap, no tcpdump, no CAP_NET_RAW", "sudo"
            )
        return line(
            "packets", PART, "built-in capture (AF_PACKET)", PACKAGE_HINT % "wireshark-common"
        )
    if "net_raw" not in capabilities() and not has_capability(programs.which(backend)):
        return line("packets", BAD, "%s may not capture as this user" % backend, "sudo")
    return line("packets", GOOD, "by %s" % backend)


def has_capability(path):
    """Return whether a program brings the right to capture: a file capability, or setuid."""
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return bool(os.stat(path).st_mode & 0o4000)


def check_interface(name):
    """Judge one interface: offloads merge packets, and Prague wants fq below it."""
    present = [entry for _, entry in socket.if_nameindex()]
    if name not in present:
        return line(name, BAD, "no such interface", "there are: " + ", ".join(sorted(present)))
    merging = [key.upper() for key in interfaces.merging(name)]
    kinds = [row["kind"] for row in interfaces.qdiscs(name)] or ["none"]
    says = "%s, qdisc %s" % (interfaces.driver(name) or "no driver", "+".join(sorted(set(kinds))))
    if merging:
        says += ", merges packets (%s)" % " ".join(merging)
        return line(name, PART, says, "to count marks: l4strace capture --offloads off")
    return line(name, GOOD, says)


def check_clock():
    current = read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    if current in ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"):
        return line("clock", GOOD, current)
    return line("clock", PART, "%s is slow or coarse" % current, "clocksource=tsc if it is stable")
