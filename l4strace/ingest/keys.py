"""QUIC whose keys are given: tshark decrypts it, and the native module tracks what tshark shows.

Keys are a log as SSLKEYLOGFILE makes it, or lie at the beginning of a pcapng file (a Decryption
Secrets Block). Nothing is decrypted here. Without tshark, or where no key fits, QUIC stays
encrypted, and the reason is stated.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, NamedTuple

from l4strace.core import _native
from l4strace.errors import InputError, reason
from l4strace.ingest import file_names, files, untrusted
from l4strace.wording.quantities import count

SECRET = re.compile(
    rb"(?:QUIC_)?(?:CLIENT|SERVER)_(?:EARLY_TRAFFIC_SECRET|HANDSHAKE_TRAFFIC_SECRET"
    rb"|TRAFFIC_SECRET(?:_\d{1,9})?) [0-9a-fA-F]{64} [0-9a-fA-F]{64,128}"
)
"""What QUIC's keys follow from; other lines of a key log are of other protocols."""
BLOCK = 1 << 20
MOST_SECRETS = 100_000
"""Four a connection; 20 MB."""
CHUNK = 1 << 16
TSHARK = "tshark"
OPTIONS = ("-n", "-r", "-", "-Y", "quic", "-T", "fields", "-E", "occurrence=a")
"""Packets from standard input, a line for each that is QUIC."""
MISSING = "tshark is missing (package tshark, or wireshark-cli)"
SECRETS_BLOCK, TLS_KEYS = 0x0000000A, 0x544C534B
"""Block type of secrets in pcapng, and the type of secrets that is a key log (`TLSK`)."""
SECTION_BLOCK = 0x0A0D0D0A


class Log(NamedTuple):
    """One key log: how many secrets it holds, and what was wrong with it."""

    path: str
    secrets: int
    left_out: int
    compression: str | None
    bytes_read: int
    error: str | None


class Opened(NamedTuple):
    """What keys made of the captures of a run."""

    dissected: list[_native.Dissection]
    """By capture; empty where no keys are given."""
    logs: list[Log]
    unused: dict[int, str]
    """Why keys opened nothing, by the number of the capture."""


def opened(inputs: files.Inputs) -> Opened:
    """What tshark decrypts of the captures, with the keys among the inputs and in the captures.

    Raises InputError for a named key log that cannot be read.
    """
    beside = [path for path in inputs.keys_beside if files.KEYS.match(files.head(path))]
    given = [*inputs.keys, *beside]
    inside = [_holds_keys(path) for path in inputs.captures]
    if not inputs.captures or not (given or any(inside)):
        return Opened([], [], {})
    # Few runs have keys.
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="l4strace-") as folder:
        log = Path(folder) / "keys"
        logs = _gathered(given, log)
        program = shutil.which(TSHARK)
        dissected: list[_native.Dissection] = []
        unused: dict[int, str] = {}
        for source, (path, holds) in enumerate(zip(inputs.captures, inside, strict=True)):
            one = _native.Dissection()
            if given or holds:
                why = _dissect(program, path, log if given else None, folder, one)
                if why:
                    # Tables of the schema need polars, which a capture is read without.
                    from l4strace.schema.words import ENCRYPTED

                    unused[source] = f"{ENCRYPTED}: {why}."
            dissected.append(one)
        return Opened(dissected, logs, unused)


def _gathered(paths: Sequence[str], target: Path) -> list[Log]:
    """Writes the secrets of all key logs into one, in a folder of its owner alone."""
    logs = []
    with target.open("wb") as out:
        for path in paths:
            secrets = left_out = 0
            lines = untrusted.lines(path, BLOCK)
            try:
                for line in (line for block in lines for line in bytes(block).splitlines()):
                    if not SECRET.fullmatch(line.strip()):
                        continue
                    if secrets == MOST_SECRETS:
                        left_out += 1
                        continue
                    out.write(line.strip() + b"\n")
                    secrets += 1
            except OSError as error:
                raise InputError(f"{path}: {reason(error)}") from error
            logs.append(
                Log(path, secrets, left_out, lines.compression, lines.bytes_read, lines.error)
            )
    return logs


def _dissect(
    program: str | None, path: str, log: Path | None, folder: str, into: _native.Dissection
) -> str:
    """Why nothing of a capture was decrypted, or an empty text."""
    if program is None:
        return MISSING
    if not file_names.read_twice(path):
        return "a stream is read once only; name a file"
    command = [program, *OPTIONS, *(word for name in into.FIELDS for word in ("-e", name))]
    if log is not None:
        command += ["-o", f"tls.keylog_file:{log}"]
    # Without the preferences and plugins of who calls.
    surroundings = os.environ | {"WIRESHARK_CONFIG_DIR": folder, "HOME": folder}
    lines = False
    with closing(_through(command, surroundings, path)) as texts:
        for text in texts:
            into.feed(text)
            lines = True
    if into.left_out:
        return f"{count(into.left_out, 'packet')} beyond those that fit into memory"
    if len(into):
        return ""
    if not lines:
        return "tshark shows no QUIC in the capture"
    return "no key of the log opens a connection whose handshake and whole packets are captured"


def _through(command: Sequence[str], surroundings: dict[str, str], path: str) -> Generator[bytes]:
    """What a program makes of a capture, which is handed to it decompressed."""
    from subprocess import DEVNULL, PIPE, Popen
    from threading import Thread

    # The output is read through its descriptor: a buffer would wait until it is full.
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=surroundings) as process:
        feeder = Thread(target=_feed, args=(path, process.stdin))
        feeder.start()
        try:
            while text := os.read(process.stdout.fileno(), CHUNK):  # type: ignore[union-attr]
                yield text
        finally:
            # It may still have packets to write.
            process.kill()
            feeder.join()


def _feed(path: str, source: IO[bytes]) -> None:
    """Writes a capture, as far as it is wanted."""
    with suppress(OSError), source:
        for chunk in _native.read_text(file_names.opened(path)):
            source.write(chunk)


def _holds_keys(path: str) -> bool:
    """Whether a pcapng file begins with a block of secrets of TLS, before its first packets."""
    if not file_names.read_twice(path):
        return False
    head = files.head(path)
    if head[:4] != SECTION_BLOCK.to_bytes(4, "big"):
        return False
    order = "little" if head[8:12] == b"\x4d\x3c\x2b\x1a" else "big"

    def number(at: int) -> int:
        return int.from_bytes(head[at : at + 4], order)  # type: ignore[arg-type]

    at = 0
    while at + 12 <= len(head):
        if number(at) == SECRETS_BLOCK and number(at + 8) == TLS_KEYS:
            return True
        at += max(12, number(at + 4))
    return False
