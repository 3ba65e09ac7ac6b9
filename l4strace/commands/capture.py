"""`l4strace capture`: packets and kernel state of a run, on this host or others."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from l4strace import console
from l4strace.errors import UsageError

if TYPE_CHECKING:
    from l4strace.capture.request import Request


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
    none = "none"


class Offloads(str, Enum):
    """What to do about offloads that merge packets."""

    keep = "keep"
    off = "off"


class Recording(NamedTuple):
    """What is recorded, and until when."""

    interface: Annotated[
        list[str] | None,
        typer.Option(
            "--interface", "-i", metavar="IF", help="Capture here, or `any`; may be repeated."
        ),
    ] = None
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="STEM",
            help="Start of the files' names, or FOLDER/. [default: the time]",
        ),
    ] = ""
    duration: Annotated[
        float | None,
        typer.Option("--duration", metavar="SECONDS", min=0.1, help="Stop after this time."),
    ] = None
    most_packets: Annotated[
        int | None,
        typer.Option("--count", "-c", metavar="N", min=1, help="Stop after N packets."),
    ] = None
    filter: Annotated[
        str,
        typer.Option("--filter", help="pcap filter; its ports select kernel state, too."),
    ] = ""
    snaplen: Annotated[
        int, typer.Option("--snaplen", min=64, help="Bytes of each packet to keep.")
    ] = 128
    ring: Annotated[
        int | None,
        typer.Option("--ring", metavar="MB", min=1, help="Keep only the last MB of packets."),
    ] = None
    kernel: Annotated[
        Kernel, typer.Option("--kernel", help="Source of kernel state; auto takes the best.")
    ] = Kernel.auto
    packets: Annotated[
        Backend,
        typer.Option("--packets", help="What captures packets; auto takes the first installed."),
    ] = Backend.auto
    offloads: Annotated[
        Offloads,
        typer.Option("--offloads", help="off: no merged packets; restored after the run."),
    ] = Offloads.keep
    interval: Annotated[
        float, typer.Option("--interval", metavar="MS", min=1, help="Between two polls of diag.")
    ] = 10.0
    buffer: Annotated[
        int | None,
        typer.Option("--buffer", metavar="MB", min=1, help="For packets, per interface. [32]"),
    ] = None
    kernel_buffer: Annotated[
        int | None,
        typer.Option("--kernel-buffer", metavar="MB", min=1, help="For kernel state, per CPU. [8]"),
    ] = None

    def request(self, command: Sequence[str]) -> Request:
        """As the recorder takes it. Raises UsageError."""
        from l4strace.capture.request import Request, check_command, check_interfaces, stem_of

        check_interfaces(self.interface or ())
        check_command(command)
        if self.packets is Backend.none and self.kernel is Kernel.none:
            raise UsageError("nothing to record", "Leave out --packets none or --kernel none.")
        return Request(
            interfaces=tuple(self.interface or ()),
            stem=stem_of(self.output),
            duration_s=self.duration,
            filter_text=self.filter,
            snaplen=self.snaplen,
            ring_mb=self.ring,
            kernel=self.kernel.value,
            backend=self.packets.value,
            interval_ms=self.interval,
            command=tuple(command),
            count=self.most_packets,
            buffer_mb=self.buffer,
            kernel_buffer_mb=self.kernel_buffer,
            offloads=self.offloads.value,
        )


def capture(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND...",
            help="Record while this command runs; its exit code is ours.",
            show_default=False,
        ),
    ] = None,
    *,
    recording: Recording,
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
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier run.")] = False,
) -> None:
    """Record packets and kernel congestion-control state.

    Writes STEM.pcapng, STEM.kernel.ndjson.zst and STEM.host.json, until COMMAND ends, the
    duration is over, or Ctrl-C. Kernel state comes from the best source of this host: bcc (needs
    BCC and kernel headers), tracefs (needs root), diag (needs nothing). All files are readable by
    their owner alone. With COMMAND the exit code is that of COMMAND.

    \b
    Examples:
      l4strace capture -i eth0 -o run -- iperf3 -c server -C prague
      l4strace capture -i eth0 --host root@client --host root@server --duration 30
    """
    from l4strace.capture import local, summary
    from l4strace.capture.progress import Live
    from l4strace.capture.request import check_free

    request = recording.request(command or ())
    if host:
        from l4strace.capture import remote

        if code := remote.capture(request, host, ssh, force):
            raise typer.Exit(code)
        return
    if not request.interfaces:
        raise UsageError("no interface to capture on", "Name one with -i; `ip link` lists them.")
    check_free(request.stem, force)
    recorded = summary.packed(local.record(request, Live()))
    console.note(summary.render(recorded))
    if inputs := summary.inputs(recorded):
        console.emit(summary.next_step(inputs))
    if code := summary.exit_code(recorded):
        raise typer.Exit(code)
