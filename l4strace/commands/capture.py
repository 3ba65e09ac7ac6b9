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


Filter = Annotated[
    str,
    typer.Option(
        "--filter", metavar="FILTER", help="pcap filter; its ports also select kernel state."
    ),
]
Duration = Annotated[
    float | None,
    typer.Option("--duration", metavar="SECONDS", min=0.1, help="Stop after this many seconds."),
]
FromKernel = Annotated[
    Kernel,
    typer.Option("--kernel", help="Source of kernel state; auto takes the best one of this host."),
]
ByBackend = Annotated[
    Backend,
    typer.Option(
        "--packets", help="Program that captures packets; auto takes the first that is installed."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the files of an earlier run.")]


class Recording(NamedTuple):
    """What is recorded, and until when."""

    interface: Annotated[
        list[str] | None,
        typer.Option(
            "--interface",
            "-i",
            metavar="IF",
            help="Interface to capture on, or `any`; may be repeated.",
        ),
    ] = None
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="STEM",
            help="Start of the file names, or FOLDER/. [default: date and time]",
        ),
    ] = ""
    duration: Duration = None
    most_packets: Annotated[
        int | None,
        typer.Option("--count", "-c", metavar="N", min=1, help="Stop after N packets."),
    ] = None
    filter: Filter = ""
    snaplen: Annotated[
        int,
        typer.Option("--snaplen", metavar="BYTES", min=64, help="Bytes to keep of each packet."),
    ] = 128
    ring: Annotated[
        int | None,
        typer.Option(
            "--ring", metavar="MB", min=1, help="Keep only the last MB megabytes of packets."
        ),
    ] = None
    kernel: FromKernel = Kernel.auto
    all_namespaces: Annotated[
        bool,
        typer.Option(
            "--all-namespaces",
            help="Record kernel state of the sockets of all network namespaces, not only of this.",
        ),
    ] = False
    packets: ByBackend = Backend.auto
    offloads: Annotated[
        Offloads,
        typer.Option(
            "--offloads", help="off: turn off offloads that merge packets, for the time of the run."
        ),
    ] = Offloads.keep
    interval: Annotated[
        float,
        typer.Option("--interval", metavar="MS", min=1, help="Time between two polls of diag."),
    ] = 10.0
    buffer: Annotated[
        int | None,
        typer.Option(
            "--buffer", metavar="MB", min=1, help="Buffer for packets, per interface. [default: 32]"
        ),
    ] = None
    kernel_buffer: Annotated[
        int | None,
        typer.Option(
            "--kernel-buffer",
            metavar="MB",
            min=1,
            help="Buffer for kernel state, per CPU. [default: 8]",
        ),
    ] = None

    def request(self, command: Sequence[str]) -> Request:
        """The options as the recorder's `Request`. Raises UsageError."""
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
            all_namespaces=self.all_namespaces,
        )


def capture(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND...",
            help="Record while this command runs, and exit with its exit code.",
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
            help="Record on HOST over ssh, or here (`local`); may be repeated.",
        ),
    ] = None,
    ssh: Annotated[
        str, typer.Option("--ssh", metavar="COMMAND", help="ssh command with its options.")
    ] = "ssh",
    force: Force = False,
) -> None:
    """Record packets and kernel congestion-control state.

    Writes STEM.pcapng, STEM.kernel.ndjson.zst, STEM.host.json and STEM.tc.txt (polls of the
    qdiscs) until COMMAND ends, the duration is over, or Ctrl-C is pressed. Kernel state comes
    from the best source of this host: bcc (needs BCC and kernel headers), tracefs (needs root) or
    diag (needs nothing). Only the owner can read the files. With COMMAND, the exit code is that
    of COMMAND.

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
