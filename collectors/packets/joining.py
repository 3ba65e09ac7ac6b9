"""The pieces of a ring as one file."""

from files import write_all


def join(files, output):
    """Put the ring's files, oldest first, behind each other: pcapng allows several sections."""
    for path in files:
        with open(path, "rb") as part:
            while True:
                data = part.read(1 << 20)
                if not data:
                    break
                write_all(output, data)
