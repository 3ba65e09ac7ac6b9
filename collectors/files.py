"""The files of a run: made new, never through a link, readable by their owner alone.

Each stays open from the start, so that what a name leads to later on does not matter.
"""

import os
import tempfile

NEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
MODE = 0o600


def owner():
    """Return (user, group) of who called sudo, who is to diagnose the files; None without sudo."""
    found = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
    return (int(found[0]), int(found[1])) if all(text.isdigit() for text in found) else None


def create(path):
    """Return a new file's descriptor. Raises OSError, also for a link that leads nowhere."""
    made = os.open(path, os.O_RDWR | NEW, MODE)
    give_to_user(made)
    return made


def give_to_user(descriptor):
    user = owner() if os.geteuid() == 0 else None
    if user:
        os.fchown(descriptor, *user)


class Files:
    """What this run made, by name."""

    def __init__(self, stem):
        self.stem = stem
        self.open = {}

    def create(self, ending):
        """Make one file of the run; return its descriptor. Raises OSError."""
        self.open[self.stem + ending] = made = create(self.stem + ending)
        return made

    def replace(self, ending, text):
        """Write a file of the run anew: whole or not at all. Raises OSError."""
        path = self.stem + ending
        made, name = tempfile.mkstemp(prefix=".l4strace-", dir=os.path.dirname(path) or ".")
        try:
            give_to_user(made)
            write_all(made, text.encode())
            os.rename(name, path)
        except OSError:
            os.close(made)
            os.unlink(name)
            raise
        os.close(self.open.get(path, made))
        self.open[path] = made

    def sizes(self):
        """Return {path: bytes that reached the disk}."""
        return {path: os.fstat(one).st_size for path, one in self.open.items()}

    def empty(self, ending):
        """Begin a file again."""
        made = self.open[self.stem + ending]
        os.ftruncate(made, 0)
        os.lseek(made, 0, os.SEEK_SET)

    def discard(self, ending):
        """Take a file back."""
        made = self.open.pop(self.stem + ending, None)
        if made is not None:
            os.close(made)
            os.unlink(self.stem + ending)

    def discard_all(self):
        for path in list(self.open):
            self.discard(path[len(self.stem) :])


def write_all(descriptor, data):
    """Write every byte. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
