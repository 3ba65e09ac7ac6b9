"""Parameters that the files of a run carry themselves: flent's metadata and host files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from l4strace.errors import InputError
from l4strace.ingest import file_names, host_file, untrusted
from l4strace.ingest.files import HOST_BESIDE, unpacked
from l4strace.studies import places
from l4strace.studies.parameters import Value, flat
from l4strace.studies.places import File
from l4strace.studies.sources.names import FLENT

MOST_BYTES = 64 << 20
TITLE = re.compile(r"(\w+):(\S+)")
"""A flent batch writes its arguments into the title: `qdisc:dualpi2 bandwidth:50Mbit rtt:20ms`."""
METADATA = {"BATCH_NAME": "batch", "NAME": "test", "KERNEL_RELEASE": "kernel"}


def parameters(files: Sequence[File]) -> dict[str, Value]:
    """Parameters from host files, then from flent files; remote files are not fetched for this."""
    found: dict[str, Value] = {}
    # A pipe without a writer would stop the search for runs; in its run it is a timeout.
    local = [one for one in files if not places.is_url(one.path) and _is_file(one.path)]
    for one in local:
        if unpacked(one.name).endswith(HOST_BESIDE):
            found |= _of_host(one.path)
    for one in local:
        if unpacked(one.name).endswith(FLENT):
            found |= _of_flent(one.path)
    return found


def _is_file(path: str) -> bool:
    """Unlike `Path.is_file`, false for names that no file can have."""
    return os.path.isfile(path)  # noqa: PTH113


def _of_host(path: str) -> dict[str, Value]:
    """The kernel. A host file that cannot be read fails its run, not the discovery."""
    try:
        kernel = untrusted.mapping(host_file.read(file_names.registered(path)).get("kernel"))
    except InputError:
        return {}
    release = untrusted.text(kernel.get("release"))
    return {} if release is None else {"kernel": release}


def _of_flent(path: str) -> dict[str, Value]:
    try:
        data = untrusted.document(file_names.registered(path), MOST_BYTES)
    except (InputError, OSError, ValueError):
        return {}
    metadata = untrusted.mapping(data.get("metadata"))
    found: dict[str, Value] = {}
    for key, name in METADATA.items():
        if (text := untrusted.text(metadata.get(key))) is not None:
            found[name] = text
    found |= flat(untrusted.mapping(metadata.get("TEST_PARAMETERS")))
    return found | dict(TITLE.findall(untrusted.text(metadata.get("TITLE")) or ""))
