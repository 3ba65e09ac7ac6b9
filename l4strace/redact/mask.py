"""What addresses and names become under one key: the same in captures, logs, host files and pages.

IP addresses keep their common prefixes (native/src/redact/map.rs, which captures use too);
Ethernet addresses, sockets and names become keyed digests.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import stat
from functools import lru_cache
from pathlib import Path

from l4strace.core import _native
from l4strace.errors import UsageError, reason

KEY_BYTES = 32
MOST_KEY_FILE = 1 << 20
KEY_ROUNDS = 200_000
"""Rounds of PBKDF2: a tenth of a second makes guessing a short key slow."""
SALT = b"l4strace redact 1"
KEPT = 1 << 16
"""Distinct texts whose digest is remembered."""

ADDRESS = re.compile(
    r"(?<![\w.])(?:"
    r"(?:[0-9A-Fa-f]{1,2}[:-]){5}[0-9A-Fa-f]{1,2}(?![\w:])"  # Ethernet
    r"|(?:[0-9A-Fa-f]{0,4}:){2,7}(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4})(?:%[\w.-]+)?"
    r"|\d{1,3}(?:\.\d{1,3}){3}"
    r")"
)
"""Text that may be an address, including its zone (`%eth0`)."""
MAC = re.compile(r"(?:[0-9A-Fa-f]{1,2}[:-]){5}[0-9A-Fa-f]{1,2}")
ENDPOINT = re.compile(r"\[?(.*?)\]?:(\d+)")
BETWEEN = re.compile(r"[\d\s:>\-\[\],/.]*")
"""What stands between the addresses of a socket: ports and arrows, but no name."""
SOCKET = re.compile(r"(0x|cookie-|)([0-9a-f]+)")


def key(given: str) -> bytes:
    """The key that ``given`` names: a file's bytes, or the text itself; random when it is empty.

    Raises UsageError for a file that cannot be read or is empty.
    """
    if not given:
        return secrets.token_bytes(KEY_BYTES)
    secret = _file(given)
    if secret is None:
        secret = given.encode("utf-8", "surrogateescape")
    return hashlib.pbkdf2_hmac("sha256", secret, SALT, KEY_ROUNDS, KEY_BYTES)


def _file(given: str) -> bytes | None:
    """Bytes of the file with this name; null without one."""
    path = Path(given)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{given}: not a readable key file", "Name a file or a text.")
        with path.open("rb") as file:
            secret = file.read(MOST_KEY_FILE + 1)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        if path.name == given:
            return None
        raise UsageError(f"{given}: {reason(error)}") from error
    if not 0 < len(secret) <= MOST_KEY_FILE:
        raise UsageError(f"{given}: empty or larger than 1 MB", "A key has some 32 bytes.")
    return secret


class Mask:
    """The map under one key."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self._map = _native.AddressMap(key)
        self._digest = lru_cache(KEPT)(self._keyed)

    def address(self, text: str) -> str | None:
        """An IP address mapped, without its zone; null for any other text."""
        return self._map.address(text.strip("[]").partition("%")[0])

    def endpoint(self, text: str) -> str | None:
        """`10.0.1.2:80`, `[fd00::1]:80` or `name:80` with its host mapped; null for other text."""
        found = ENDPOINT.fullmatch(text)
        if found is None:
            return None
        host = self.host(found[1])
        return f"[{host}]:{found[2]}" if ":" in host else f"{host}:{found[2]}"

    def host(self, text: str) -> str:
        """An address mapped, or another name; nothing stays nothing."""
        return self.address(text) or (self.name(text) if text else "")

    def mac(self, text: str) -> str:
        """An Ethernet address mapped."""
        parts = bytes(int(part, 16) for part in re.split("[:-]", text))
        return self._map.mac(parts).hex(":")

    def socket(self, text: str) -> str:
        """The name of a socket: another pointer for a pointer, mapped addresses for addresses."""
        if found := SOCKET.fullmatch(text.lower()):
            return found[1] + self._digest(found[2].lstrip("0"))
        plain = ADDRESS.search(text) and BETWEEN.fullmatch(ADDRESS.sub("", text))
        return self.text(text) if plain else self.name(text)

    def name(self, text: str) -> str:
        """Another name: the same one for the same text."""
        return f"name-{self._digest(text)[:8]}"

    def text(self, text: str) -> str:
        """``text`` with every address in it mapped; for text that holds no names."""
        return ADDRESS.sub(self._found, text)

    def _found(self, found: re.Match[str]) -> str:
        if MAC.fullmatch(found[0]):
            return self.mac(found[0])
        return self.address(found[0]) or found[0]

    def _keyed(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self.key, digest_size=8).hexdigest()
