"""What this host can and cannot do for L4S work and for capture, each line with the remedy.

python3 collectors doctor
"""

import argparse
import json
import subprocess
import sys

from host import checks, interfaces, path
from host.checks import BAD, GOOD, PART, line


def checked(topic, check, *arguments):
    """Return one line. A check that fails is a line too, and stops nothing."""
    try:
        return check(*arguments)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return line(topic, PART, "unknown: %s" % error)


def examine(names):
    """Return all lines; `names` are the interfaces to judge, by default those that are up."""
    config = checks.kernel_config()
    rows = [("kernel", checks.check_kernel), ("AccECN", checks.check_accecn)]
    rows += [("Prague", checks.check_prague), ("DCTCP", checks.check_dctcp)]
    rows += [(name, checks.check_qdisc, name, config) for name in ("fq", "dualpi2", "fq_codel")]
    rows += [("privileges", checks.check_privileges), ("packets", checks.check_packets)]
    rows += [("tracefs", checks.check_tracefs), ("inet_diag", checks.check_diag)]
    rows += [("kprobes", checks.check_kprobes, config), ("BTF", checks.check_btf)]
    rows += [("BCC", checks.check_bcc), ("headers", checks.check_headers)]
    rows += [("clock", checks.check_clock)]
    rows += [(name, checks.check_interface, name) for name in names or interfaces.used()]
    return [checked(*row) for row in rows]


def sentence(lines):
    """Return what can be captured here, and whether L4S can run here, in one sentence."""
    state = {row["topic"]: row["state"] for row in lines}
    says = {row["topic"]: row["says"] for row in lines}
    return "%s; %s." % (capture_part(state), l4s_part(state, says))


def capture_part(state):
    packets = "packets" if state["packets"] != BAD else "no packets"
    by_bcc = ("privileges", "kprobes", "BCC", "headers")
    if all(state[topic] == GOOD for topic in by_bcc) and state["BTF"] != BAD:
        source = "bcc"
    elif state["privileges"] == GOOD and state["tracefs"] == GOOD:
        source = "tracefs"
    elif state["inet_diag"] == GOOD:
        source = "diag"
    else:
        return "Capture here records %s and no kernel state" % packets
    return "Capture here records %s and kernel state by %s" % (packets, source)


def l4s_part(state, says):
    missing = []
    if state["AccECN"] == BAD:
        missing.append("AccECN is off (%s)" % says["AccECN"].split(":")[0])
    if state["Prague"] != GOOD:
        missing.append(says["Prague"])
    if not missing:
        return "L4S can run here"
    return "L4S cannot run here yet: " + " and ".join(missing)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="doctor", description=__doc__.splitlines()[0])
    parser.add_argument("-i", "--interface", action="append", default=[])
    parser.add_argument("--host", help="test the path to this server")
    parser.add_argument("--port", type=int, default=443)
    given = parser.parse_args(arguments)
    lines = path.examine(given.host, given.port) if given.host else examine(given.interface)
    short = path.sentence(lines) if given.host else sentence(lines)
    json.dump({"doctor": lines, "sentence": short}, sys.stdout)
    sys.stdout.write("\n")
