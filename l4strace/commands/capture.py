"""`l4strace capture`: packets and kernel state of a run, on this host or others."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from l4strace import console
from l4strace.errors import UsageError


class Kernel(str, Enum):
    """Where kernel state comes from."""

    auto = "auto"
    bcc = "bcc"
    tracefs = "tracefs"
    diag = "diag"
    none = "none"


class Backend(str, Enum):
    """What captures packets."""

    auto = "auto"
    dumpcap = "dumpcap"
    tcpdump = "tcpdump"
    ring = "ring"


def capture(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND...", help="Record while this runs.", show_default=False),
    ] = None,
    interface: Annotated[
        list[str] | None,
        typer.Option("--interface", "-i", metavar="IF", help="Capture here; may be repeated."),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="STEM", help="Begin of the files' names. [default: the time]"
        ),
    ] = "",
    duration: Annotated[
        float | None, typer.Option("--duration", metavar="SECONDS", min=0.1, help="Then stop.")
    ] = None,
    filter: Annotated[  # noqa: A002 - the option's name
        str, typer.Option("--filter", help="pcap filter; its ports filter kernel state too.")
    ] = "",
    snaplen: Annotated[
        int, typer.Option("--snaplen", min=64, help="Bytes of each packet to keep.")
    ] = 128,
    ring: Annotated[
        int | None,
        typer.Option("--ring", metavar="MB", min=1, help="Keep only the last MB of packets."),
    ] = None,
    kernel: Annotated[
        Kernel, typer.Option("--kernel", help="Source of kernel state; auto takes the best.")
    ] = Kernel.auto,
    packets: Annotated[
        Backend, typer.Option("--packets", help="What captures packets; auto takes the first here.")
    ] = Backend.auto,
    interval: Annotated[
        float, typer.Option("--interval", metavar="MS", min=1, help="Between polls of diag.")
    ] = 10.0,
    host: Annotated[
        list[str] | None,
        typer.Option(
            "--host",
            metavar="[NAME=]USER@HOST[,IF]",
            help="Record there over ssh, `local` for here; may be repeated.",
        ),
    ] = None,
    ssh: Annotated[
        str, typer.Option("--ssh", metavar="COMMAND", help="ssh with its options.")
    ] = "ssh",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an earlier run.")] = False,
) -> None:
    """Record packets and kernel congestion-control state.

    Writes STEM.pcapng, STEM.kernel.ndjson.zst and STEM.host.json, until COMMAND ends, the
    duration is over or Ctrl-C. Kernel state comes from the best source that this host has: bcc
    (needs BCC and kernel headers), tracefs (needs root), diag (needs nothing).

    \b
    Examples:
      l4strace capture -i eth0 -o run -- iperf3 -c server -C prague
      l4strace capture -i eth0 --host root@client --host root@server --duration 30
    """
    from l4strace.capture import local, summary
    from l4strace.capture.progress import Live
    from l4strace.capture.request import Request, check_free, stem_of

    request = Request(
        interfaces=tuple(interface or ()),
        stem=stem_of(output),
        duration_s=duration,
        filter_text=filter,
        snaplen=snaplen,
        ring_mb=ring,
        kernel=kernel.value,
        backend=packets.value,
        interval_ms=interval,
        command=tuple(command or ()),
    )
    if host:
        from l4strace.capture import remote

        if remote.capture(request, host, ssh, force):
            raise typer.Exit(1)
        return
    if not request.interfaces:
        raise UsageError("no interface to capture on", "Name one with -i; `ip link` lists them.")
    check_free(request.stem, force)
    recorded = summary.packed(local.record(request, Live()))
    console.note(summary.render(recorded))
    console.emit(summary.next_step([request.stem.with_name(request.stem.name + ".pcapng")]))
    if recorded["died"]:
        raise typer.Exit(1)
