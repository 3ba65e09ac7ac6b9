"""`l4strace redact`: copies of a run that can be shared."""

from __future__ import annotations

from typing import Annotated

import typer

from l4strace import console
from l4strace.commands.arguments import Key, NoCompanions, Paths
from l4strace.errors import InputError
from l4strace.wording.quantities import count

FORGOTTEN = (
    "The key was random and is forgotten: another run maps addresses differently. "
    "Use --key to redact several runs alike."
)


def redact(
    paths: Paths,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the copies.")
    ],
    key: Key = "",
    no_companions: NoCompanions = False,
) -> None:
    """Write copies that can be shared: no addresses, names, payload.

    Copies of captures, logs and host files keep their file names, times and lengths, and give
    the same findings on TCP; what ran over UDP is hidden with its payload. IP addresses are
    replaced so that common prefixes stay common and private ones private, Ethernet addresses
    and names are replaced, and payload, comments, secrets and TCP options that l4strace does
    not read are removed; checksums are recomputed. Headers, ports, sequence numbers and times
    remain: someone who knows the traffic can still recognize it. What cannot be redacted is
    left out.

    \b
    Examples:
      l4strace redact run.pcapng -o shared
      l4strace redact client.pcap server.pcap --key secret.key -o shared
    """
    from l4strace.redact import mask
    from l4strace.redact.output import Folder
    from l4strace.redact.run import redact as redacted

    secret = mask.Mask(mask.key(key))
    folder = Folder(output)
    with console.Progress("redacting") as progress, console.stage("redact"):
        copies = redacted(paths, folder, secret, not no_companions, progress)
    for copy in copies:
        if copy.left_out:
            console.note(f"{copy.path}: left out: {copy.left_out}")
            continue
        console.emit(f"{output.rstrip('/') or '/'}/{copy.name}")
        if copy.emptied:
            console.note(
                f"{copy.path}: {count(copy.emptied, 'packet')} of an unknown link type: the copy "
                "keeps only their times and lengths"
            )
    if not key:
        console.note(FORGOTTEN)
    missing = [copy.path for copy in copies if copy.left_out and not copy.beside]
    if missing:
        raise InputError(f"not redacted: {', '.join(missing)}", "Do not share the originals.")
