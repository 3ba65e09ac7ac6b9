"""Offloads switched off for a run and on again after it, also when nobody lives to do it.

What was on is written down before it is changed; the next start restores what a killed run left.
"""

import json
import os

from files import create, write_all
from host import interfaces
from netlink import network
from process import began

FOLDER = "/run/l4strace"
"""Root's own, gone after a boot as the settings are."""
PREFIX = "offloads-"


class Offloads:
    """What this run switched off."""

    def __init__(self, names, folder=FOLDER):
        self.path = os.path.join(folder, PREFIX + str(os.getpid()))
        self.were_on = {name: interfaces.merging(name) for name in names}
        os.makedirs(folder, 0o700, exist_ok=True)
        made = create(self.path)
        try:
            left = {"network": network(), "began": began(os.getpid()), "on": self.were_on}
            write_all(made, json.dumps(left).encode())
        finally:
            os.close(made)

    def switch_off(self):
        """Raises OSError when the driver or the privileges do not allow it; nothing is changed."""
        try:
            for name, keys in self.were_on.items():
                for key in keys:
                    interfaces.set_offload(name, key, False)
        except OSError:
            self.restore()
            raise

    def restore(self):
        """Switch on again what was on; return what could not be."""
        failed = switch_on(self.were_on)
        try:
            os.unlink(self.path)
        except OSError:
            pass
        return failed


def switch_on(were_on):
    failed = []
    for name, keys in were_on.items():
        for key in keys:
            try:
                interfaces.set_offload(name, key, True)
            except OSError as error:
                failed.append("%s of %s: %s" % (key, name, error.strerror))
    return failed


def restore_left(folder=FOLDER):
    """Restore what runs left that were killed; return the interfaces."""
    found = []
    try:
        names = os.listdir(folder)
    except OSError:
        return found
    for name in names:
        pid = name[len(PREFIX) :]
        if not (name.startswith(PREFIX) and pid.isdigit()):
            continue
        path = os.path.join(folder, name)
        try:
            with open(path) as file:
                left = json.load(file)
            # Another process may have the number by now.
            if left["network"] != network() or left["began"] == began(int(pid)):
                continue
            switch_on(left["on"])
            found += left["on"]
            os.unlink(path)
        except (OSError, ValueError, AttributeError, KeyError, TypeError):
            continue
    return found
