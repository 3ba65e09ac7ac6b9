"""What the native core offers; the seam is `native/src/python`.

Functions that read a file raise `l4strace.errors.InputError` with one line. `-` is standard input.
Any function may raise `InternalError`.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any, Protocol, TypedDict

__version__: str

def _panic(message: str) -> None:
    """Panics, as a bug would; for tests."""

class InternalError(RuntimeError):
    """A bug of the native part (a Rust panic), as one line with its place in the source."""

class ArrowTable:
    """Rows that ``polars.DataFrame(...)`` takes over without a copy."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __len__(self) -> int: ...
    def constants(self) -> ArrowTable | None:
        """One row: columns that hold the same number in every row, kept once; None without any."""
    def varying(self) -> ArrowTable:
        """The other columns."""

class Batches(Iterator[ArrowTable]):
    """Rows of one capture in batches, some empty; ``progress`` is (bytes read, bytes in all)."""

    progress: tuple[int, int]

    def __iter__(self) -> Batches: ...
    def __next__(self) -> ArrowTable: ...

class Chunks(Iterator[bytes]):
    """Decompressed bytes of a file; one that breaks off ends early and sets ``error``."""

    compression: str | None
    bytes_read: int
    error: str | None

    def __iter__(self) -> Chunks: ...
    def __next__(self) -> bytes: ...

class Block:
    """Some lines of a text."""

    def __bytes__(self) -> bytes: ...
    def first_line(self) -> bytes:
        """Takes the first line out, and returns it without its end."""

class Lines(Iterator[Block]):
    """Blocks of whole lines of a decompressed file, one for every ``least`` bytes that are read.

    Lines that have not ended after ``longest`` bytes by then are left out and counted in ``long``.
    A file that breaks off ends early and sets ``error``.
    """

    compression: str | None
    bytes_read: int
    error: str | None
    long: int

    def __init__(self, path: str, least: int, longest: int) -> None: ...
    def __iter__(self) -> Lines: ...
    def __next__(self) -> Block: ...

class Follower:
    """A plain capture that something else is still writing, tracked piece by piece."""

    def __init__(self, path: str) -> None: ...
    def poll(self) -> dict[str, Any]:
        """The tables of `track`; `rounds` has only those that ended since the last call."""

def track(
    paths: list[str],
    progress: Callable[[int, int], Any] | None = None,
    threads: int | None = None,
    dissected: list[Dissection] = ...,
) -> dict[str, Any]:
    """The tables of the Capture stage; they are the same on any number of ``threads``.

    ``dissected`` has what is decrypted of the first captures; each is empty afterwards.
    """

class Dissection:
    """What a dissector that has the keys shows of the QUIC packets of one capture."""

    FIELDS: list[str]
    """What stands in a line: names of Wireshark. Tabs part them, and commas values of one."""
    left_out: int
    """Datagrams that were too many."""

    def __init__(self) -> None: ...
    def feed(self, text: bytes) -> None: ...
    def __len__(self) -> int:
        """Datagrams whose packet numbers are known."""

def packets(
    path: str,
    source: int = 0,
    starts: list[tuple[int, int]] | None = None,
    columns: Sequence[str] = (),
    stretches: Sequence[tuple[Set[int] | None, tuple[int, int] | None, int | None]] = ...,
) -> Batches:
    """Batches of the `packets` table, or of some ``columns`` of it.

    ``starts`` has first frame and number of each conversation that tracking kept. ``stretches``
    choose among the packets: flows, a time on the capture's clock, and the frame behind which
    nothing more is looked for where that time is over. Null: all flows, the whole time, never.
    """

def acks(
    path: str,
    source: int,
    starts: list[tuple[int, int]],
    stretches: Sequence[tuple[Set[int] | None, tuple[int, int] | None, int | None]] = ...,
) -> Batches:
    """Batches of the `acks` table, as far as packets show it; arguments as of ``packets``."""

def proving(
    path: str,
    source: int,
    starts: list[tuple[int, int]],
    columns: Sequence[str],
    lookups: Sequence[tuple[Set[int], int | None, tuple[int, int] | None, bool, bool, int]],
    codes: Set[int],
    offset_ns: int,
) -> ArrowTable:
    """Packets that ``lookups`` want, in the order of the capture; reading ends with the last.

    Of each: frames that it names, a flow whose telling packets it wants, when these passed,
    whether retransmissions tell something, whether feedback is AccECN's, and how many it wants.
    ``codes`` are frames of final ACKs. See `proof.search` for the columns.
    """

def walk(path: str) -> tuple[int, int]:
    """Steps over the records of a capture: (records, bytes read)."""

def decode(path: str) -> int:
    """Decodes a capture and drops every packet: the number of TCP packets."""

def read_text(path: str) -> Chunks:
    """Chunks of a file, decompressed where it is gz, xz or zst."""

def gzip(text: str, level: int) -> bytes:
    """``text`` as gzip; the same text gives the same bytes."""

def stat_names() -> dict[str, str]:
    """Names that `stats` may hold for a capture, with their severity: info, loss or error."""

class PragueBuild(TypedDict):
    """Constants of one published build of net/ipv4/tcp_prague.c that has the detector.

    B is PRAGUE_ALPHA_BITS. Keys from `l_sticky_score` on have the same value in every build.
    """

    name: str
    """`20-bit`, `24-bit buggy` (20-bit references on a 24-bit scale) or `24-bit fixed`."""
    bits: int
    """B: alpha 1.0 and one point of classic_ecn are both 2^B."""
    l_sticky: int
    """L_STICKY, 16 << (B - 1): up to here the path counts as L4S."""
    classic_ecn: int
    """CLASSIC_ECN, L_STICKY + 2^B: from here on the floor under alpha is whole."""
    c_sticky: int
    """C_STICKY, CLASSIC_ECN + L_STICKY: upper end of classic_ecn."""
    modulus: int
    """2^(B - 1): steps of classic_ecn are whole multiples of it, less the references."""
    residues: list[int]
    """Unclamped steps modulo that: deviation term alone, then with the depth term."""
    v0_lg: int
    """V0_LG: half of log2(750 us) on the scale that the source wrote it for."""
    d0_lg: int
    """D0_LG: half of log2(2000 us), likewise."""
    mdev_reference_us: float
    """RTT mean deviation that V0_LG means in this build: 750 us; 1.51 us in the buggy one."""
    depth_reference_us: float
    """Queue depth that D0_LG means in this build: 2000 us; 1.61 us in the buggy one."""
    l_sticky_score: float
    """8: L_STICKY in points of the score."""
    classic_ecn_score: float
    """9: CLASSIC_ECN in points of the score."""
    c_sticky_score: float
    """17: C_STICKY in points of the score."""
    alpha_floor: float
    """0.625: least alpha from CLASSIC_ECN on (prague_classic_ecn_fallback)."""
    cut_floor: float
    """0.3125: share of the window that this alpha gives up (prague_enter_cwr)."""
    published_bits: list[int]
    """[20, 24, 31]: B of all published trees, the one without detector included."""
    frac_cwnd_unit: int
    """2^20 (CWND_UNIT): one packet in frac_cwnd."""
    shift_g: int
    """4 (PRAGUE_SHIFT_G): gain 1/16; upscaled_alpha is alpha * 2^(B + 4)."""
    rtt_transition: int
    """500 (DEFAULT_RTT_TRANSITION of P1 to P3): rounds before the target RTT counts."""
    target_rtt_us: int
    """25,000 (prague_rtt_target)."""
    max_srtt_bits: int
    """18 (PRAGUE_MAX_SRTT_BITS); the deviation has one more."""
    init_mdev_carry: int
    """741,455 = 2^19.5 (PRAGUE_INIT_MDEV_CARRY): rest_mdev_us at first; rest_depth_us is half."""
    init_adj_us: int
    """2^18 (PRAGUE_INIT_ADJ_US)."""

def prague_builds() -> list[PragueBuild]:
    """The builds, in the order of the columns that `prague_replay` adds."""

class ArrowRows(Protocol):
    """What a ``polars.DataFrame`` is to the native core."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

def prague_identify(bits: int, steps: ArrowRows) -> ArrowTable:
    """`build` and `residue` of each step, from its columns `before` and `after`."""

def prague_replay(steps: ArrowRows) -> ArrowTable:
    """`fixed`, `buggy`, `exact` and one column per build: see `prague.replay.replayed`."""

def prague_alpha(
    bits: int, upscaled: list[int], delivered: list[int], ce: list[int]
) -> list[int]: ...
def first_acks(
    path: str,
    starts: list[tuple[int, int]],
    receivers: list[tuple[int, bool]],
    wanted: ArrowRows,
    most: int,
) -> ArrowTable:
    """`packet_ns` of those of ``wanted`` (`flow`, `snd_una`) that a capture shows acknowledged.

    The first time of each. ``receivers`` are the flow directions whose packets acknowledge;
    ``most`` packets of the capture are read; ``starts`` is as for `packets`.
    """

def datagrams(
    path: str,
    flows: list[tuple[int, str, str, int, str, int]],
    most: int,
    spans: list[tuple[int, int, int]] = ...,
    frames: Set[int] | None = None,
) -> ArrowTable:
    """Datagrams of UDP conversations: `frame`, `flow`, `forward`, `ts_ns`, `bytes`, `ip_ecn`.

    With `offset`, `captured_len` and `wire_len` of the record, as in `packets`. Where they state
    it in clear also their `number`, the highest that they report on (`reported`) and how many
    packets with CE none before reported (`ce`). ``flows`` are number, transport, client, its port,
    server and its port of each; ``most`` datagrams of each direction are kept in each of ``spans``
    (flow, begin and end on the capture's own clock, both included), and only those of ``frames``.
    """

def records(block: Block, fields: list[tuple[str, str]]) -> tuple[ArrowTable, int]:
    """Lines of one JSON object each as rows, and how many lines do not fit.

    ``fields`` are names and kinds: `int`, `uint`, `float`, `bool`, `str`.
    """

def samples(
    block: Block,
    fields: list[tuple[str, str]],
    thinning: tuple[int, list[str], list[str]] | None = None,
) -> tuple[ArrowTable, int, int, int, list[tuple[str, bytes]]]:
    """The samples among the records of a kernel log.

    As rows; how many lines do not fit or have no time, how many are samples and how many of those
    are thinned; and the lines of notes, aggregates, losses and the trailer, each with its type.
    ``thinning`` has the tick in nanoseconds, the events that are thinned and the columns whose
    changes stay.
    """

class LogLines:
    """A text log, chunk by chunk; ``shape`` is `event` or `fields` (see native/src/ktext)."""

    def __init__(self, shape: str) -> None: ...
    def feed(self, chunk: bytes) -> ArrowTable | None: ...
    def finish(self) -> ArrowTable | None: ...
    def counts(self) -> dict[str, int]:
        """`rows`, `unread`, `first_unread` (line, 0 when none), `lost`."""

class QlogReader:
    """A qlog, chunk by chunk: samples of its senders where their state changes."""

    def __init__(self) -> None: ...
    def feed(self, chunk: bytes) -> ArrowTable | None: ...
    def finish(self) -> ArrowTable: ...
    def traces(self) -> ArrowTable:
        """One row per connection: header, ends, datagrams by codepoint."""

    def datagrams(self) -> ArrowTable: ...
    def counts(self) -> dict[str, int]:
        """`events`, `unread`, `traces_left_out`, and whether the log is `whole`."""

class QlogPieces:
    """Splits a qlog into its parts; ``unread`` counts what was too long or broke off."""

    unread: int

    def __init__(self) -> None: ...
    def feed(self, chunk: bytes) -> list[tuple[str, bytes | None]]:
        """`header`, `event` or `record` with each part that the chunk completes.

        Null stands for one that readers cannot parse.
        """

    def finish(self) -> bool:
        """False when a bracket is still open."""

L4S_MARK_US: float
SPIKE_JOIN_NS: int
SPIKE_LOOK_BACK_NS: int
MIN_STEADY: int
MIN_STEADY_PACKETS: int
MIN_ROUNDS: int
MIN_ACKED_PACKETS: int
FRAME_BYTES: int
CLOCK_STEP_NS: int
NOTED_US: float
QUEUE_US: float
DEEP_US: float
FAR_US: float
HELD_BACK: float
HIDES: float
FULL_SHARE: float
"""Part of the capacity at which `phases.ramp_ns` ends."""
SLICE_NS: int
"""Time over which `Measured.during` takes a rate."""
EMPTY_US: float
"""Queue delay below which `Measured.queue_waits` takes the queue for empty."""
L4S_MARK_PACKETS: float
"""Border of marking delays between L4S and classic AQMs: the larger of this time and so many times
of a packet."""

class Measured:
    """Rounds by direction and `round`, and the directions of a run, each known by its row."""

    def __init__(
        self, rounds: ArrowRows, directions: ArrowRows, sent: ArrowRows, senders: ArrowRows
    ) -> None:
        """``directions`` with `at` (number of the path), `near`, `scalable` and `prague`.

        ``sent`` has what flows over UDP sent over time, ``senders`` their directions with `at`.
        Tables in one chunk. Raises ValueError where rounds of a direction do not stand together, by
        `round`.
        """

    @staticmethod
    def numbered(rounds: ArrowRows, directions: ArrowRows) -> ArrowTable:
        """The `direction` of each row of ``rounds``, in any order; tables in one chunk."""

    def slots(self) -> ArrowTable:
        """Slots of the paths that carried enough, with `at` for a path."""

    def phases(self, noise: ArrowRows) -> Phases:
        """Phases of these; ``noise`` has `noise_us` of paths `at`, in one chunk."""

    def features(
        self, phases: Phases, known: ArrowRows, only: ArrowRows | None = None
    ) -> ArrowTable:
        """Columns of `derive.queue_features.features`, by number of the direction `of`.

        ``known`` is that of `queue_features`; ``only``: stretches (`at`, `phase`) whose rounds
        count.
        """

    def coexistence(self, known: ArrowRows) -> ArrowTable:
        """Ordered pairs of directions with the columns of `coexistence`.

        ``known``: `marked_as`, `max_payload`, `unmerged` and `scaled` of each direction.
        """

    def policed(self) -> ArrowTable:
        """Per path `at`: columns of `derive.queue_features.features` that show a policer."""

    def floors(self, known: ArrowRows) -> ArrowTable:
        """Per near direction `of`: `floor_us`, `floor_rise_us`, `usual_us` and `lasted`.

        For `derive.queue_delay`: the smallest RTT, the tenth of the rounds above it, and the median
        of many. ``known``: `doubt` of each direction.
        """

    def one_way(self, known: ArrowRows) -> ArrowTable:
        """Per direction `of`: `owd_floor_us`, `owd_low_us` and `owd_marked_us` (`derive.one_way`).

        ``known``: `base_us`, `late_packets` and `overtakes` of each direction.
        """

    def delays(self, known: ArrowRows) -> ArrowTable:
        """`base_us`, `delay_us` and `one_way` of each round that counts, by direction `of`.

        ``known`` is that of `derive.delays`.
        """

    def spikes(self, known: ArrowRows) -> ArrowTable:
        """Events of paths, with the direction `of` that each hit hardest (`derive.spikes`).

        ``known`` is that of `derive.delays`.
        """

    def noise(self) -> ArrowTable:
        """How the delays of near directions (`of`) spread after their start (`derive.noise`)."""

    def rates(self) -> ArrowTable:
        """`rate_bps` of paths `at` after the start of these directions."""

    def sums(self, known: ArrowRows, asked: Sequence[int]) -> ArrowTable:
        """What these near directions (`of`) carried: `rounds`, `acked`, `marks`, `losses`."""

    def overall(self) -> ArrowTable:
        """What all rounds of each direction show: see `derive.overall`."""

    def frames_at(self, direction: tuple[int, int, bool], ns: int) -> tuple[int, int] | None:
        """First and last frame of the first round of ``direction`` that contains time ``ns``."""

    def begun(self, moments: ArrowRows) -> ArrowTable:
        """The last round that began until `ts_ns`, of the direction `KEY` of each of ``moments``.

        One row each: `round`, `end_ns`, `queue_delay_us`; null where none had begun.
        """

    def queue_waits(self, asked: Sequence[tuple[int, int, bool]]) -> ArrowTable:
        """How long packets of ``asked`` near directions waited (`derive.queue_delay`), by `KEY`."""

    def during(
        self, asked: Sequence[tuple[int, int, bool]], begin_ns: int, end_ns: int
    ) -> ArrowTable:
        """What ``asked`` directions did between two moments (`derive.phases`), by `KEY`."""

    def laws(self) -> ArrowTable:
        """How the windows of ECT(1) senders follow their marks (`derive.senders.laws`), by `KEY`.

        With the log-likelihood of each member of a family of laws: `family number`.
        """

    def pressed(self, known: ArrowRows) -> ArrowTable:
        """What directions sent while most arrived as CE (`derive.senders.responding`), by `KEY`.

        ``known`` has whether each is asked for (`fed_back`).
        """

    def builds(self) -> ArrowTable:
        """What shows the builds of ECT(1) senders (`derive.senders.alphas`), by `KEY`."""

    def cuts(self) -> ArrowTable:
        """Rounds with marks or losses, and the windows after them (`derive.senders.cuts`)."""

    def detector(self) -> ArrowTable:
        """Steps of the detector (`derive.senders.detector`), by flow, direction and time."""

class Phases:
    """Phases of all paths, in the order of path and time."""

    def table(self) -> ArrowTable:
        """The columns of `phases`, with `at` for source and path."""

    def of(self, rows: ArrowRows) -> ArrowTable:
        """The `phase` of each row with `at` and `start_ns`; a table in one chunk."""

STARVED_SHARE: float
"""Share of a pair's rate below which a flow starves (`derive.coexistence`)."""

ROUNDING: float
"""Packets: smallest error of a predicted window (`derive.senders.laws`)."""

def scores(steps: ArrowRows, directions: ArrowRows) -> ArrowTable:
    """How the replayed score of each of ``directions`` lies about 8, as `fallback.replayed` has it.

    ``steps`` are rows of `detector` from packets, by direction and time; tables in one chunk.
    """

def logged(rounds: ArrowRows, samples: ArrowRows) -> ArrowTable:
    """What ``samples`` of logs, by time, show beside rounds (`derive.senders.logged`), by `KEY`.

    Tables in one chunk.
    """

def alphas(rounds: ArrowRows, builds: ArrowRows) -> ArrowTable:
    """`alpha`, `alpha_lo` and `alpha_hi` of rounds in any order, by the builds of directions.

    ``rounds`` are in one chunk; columns as `derive.senders.alphas` names them.
    """

def path_networks(flows: ArrowRows) -> tuple[ArrowTable, list[tuple[str, bool]]]:
    """Numbers `near` and `far`, and names; true with those that only `neighbors.network` knows."""

def thin(values: Sequence[float], most: int) -> list[int]:
    """Indexes of at most ``most`` of ``values`` that keep every peak (`page.drawing.thin`)."""

def give_back() -> None:
    """Gives memory that was freed in many pieces back to the system."""

def quantiles(rows: ArrowRows, shares: Sequence[float]) -> list[float]:
    """Of each of ``shares``: the `value` below which that part of the `weight` lies.

    Weights are whole numbers; without one above 0 the list is empty.
    """

def per_interval(
    rows: ArrowRows, interval: float, columns: Sequence[str]
) -> tuple[int, list[list[int]]]:
    """Number of the first interval in which a row `ended`, and from it on sums of ``columns``."""

def totals(rounds: ArrowRows) -> ArrowTable:
    """What the rounds of each direction add up to.

    Columns: `source`, `flow`, `forward`, `start_ns`, `end_ns`, `acked_packets`, `acked_bytes`,
    `retransmits`, `marks`, and `begins`: how often classic ECE began.
    """

def path_slots(rounds: ArrowRows, origin_ns: int, interval: float) -> tuple[int, list[list[int]]]:
    """Number of the first interval (s) since ``origin_ns`` in which a round of `own` ended.

    From it on sums of acknowledged bytes and packets, marks and retransmissions.
    """

def thinned(rows: ArrowRows, most: int) -> list[list[float]]:
    """Columns of numbers where none is null: at most ``most`` rows that keep peaks of the last."""

class AddressMap:
    """Prefix-preserving map of addresses under a ``key`` of 32 bytes."""

    def __init__(self, key: bytes) -> None: ...
    def address(self, text: str) -> str | None:
        """An IPv4 or IPv6 address mapped; None for any other text."""

    def mac(self, address: bytes) -> bytes:
        """The six bytes of an Ethernet address mapped."""

class RedactedCapture:
    """Bytes of a capture's redacted copy, compressed as the capture is.

    Raises InputError for what is no capture.
    """

    def __init__(self, path: str, key: bytes) -> None: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def __next__(self) -> bytes: ...
    @property
    def counts(self) -> tuple[int, int]:
        """Packets, and those of an unknown link type, which are empty in the copy."""

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes read, and size of the input or 0."""

class Packer:
    """Compresses bytes as `gz`, `xz` or `zst`; None leaves them as they are."""

    def __init__(self, compression: str | None) -> None: ...
    def add(self, data: bytes) -> bytes:
        """Takes bytes; returns those that are compressed by now."""

    def finish(self, cut: bool = False) -> bytes:
        """The rest; with ``cut`` without the mark of a whole file."""
