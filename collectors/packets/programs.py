"""Which program captures packets here."""

import os
import shutil

from process import cannot

BACKENDS = ("dumpcap", "tcpdump", "ring")
EXTRA_PATH = ("/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/local/bin", "/usr/bin")


def which(name):
    """Find a program, also where an ssh session's PATH does not look."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *list(EXTRA_PATH)])
    return shutil.which(name, path=path)


def choose(wanted):
    """Return the backend to use: the one asked for, or the first that is here."""
    if wanted != "auto":
        if wanted != "ring" and not which(wanted):
            cannot("%s is not installed" % wanted, "install it or use --backend ring")
        return wanted
    return next(name for name in BACKENDS if name == "ring" or which(name))
