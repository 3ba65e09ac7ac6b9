"""The pcap filter of a run: the ports that it names, and the ssh session that records it."""

import os
import re


def ports_of(text):
    """Return the ports that a pcap filter names: what the kernel's state is filtered by."""
    if re.search(r"\bnot\b|!", text):
        return []
    return sorted({int(number) for number in re.findall(r"\bport\s+(\d+)", text)})


def without_own_session(text, backend, environment=None):
    """Return the filter without the ssh session that this runs in: it carries the capture.

    Our own ring compiles simple filters only: there the session stays in.
    """
    session = (environment or os.environ).get("SSH_CONNECTION", "").split()
    ports = [port for port in session[1::2] if port.isdigit()]
    if len(ports) != 2 or backend in ("ring", "none"):
        return text
    own = "not (tcp port %s and tcp port %s)" % tuple(ports)
    return "(%s) and %s" % (text, own) if text else own
