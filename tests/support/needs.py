"""What a test needs that a user of l4strace need not have; pyproject.toml has the markers."""

from __future__ import annotations

import os
import shutil

import pytest

PACKAGES = {
    "bpftool": "bpftool",
    "chromium": "chromium",
    "clang": "clang",
    "cpio": "cpio",
    "debootstrap": "debootstrap",
    "dumpcap": "tshark",
    "ethtool": "ethtool",
    "g++": "g++",
    "ip": "iproute2",
    "mkfs.ext4": "e2fsprogs",
    "pdftoppm": "poppler-utils",
    "pdftotext": "poppler-utils",
    "ps": "procps",
    "qemu-system-x86_64": "qemu-system-x86",
    "sshd": "openssh-server",
    "tc": "iproute2",
    "tcpdump": "tcpdump",
    "tshark": "tshark",
    "xz": "xz-utils",
    "zstd": "zstd",
}
"""Program -> the Debian package that it is in."""
OTHER_NAMES = {"chromium": ("chromium-browser", "google-chrome")}
SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"
"""Where Debian keeps programs that a user's PATH may leave out."""


def program(name: str) -> str | None:
    """Path of a program, or null."""
    path = f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_PATH}"
    names = (name, *OTHER_NAMES.get(name, ()))
    return next((found for one in names if (found := shutil.which(one, path=path))), None)


def lacking(item: pytest.Item) -> str:
    """Why this machine cannot run the test; nothing where it can."""
    wanted = [name for marker in item.iter_markers("needs") for name in marker.args]
    packages = {PACKAGES[name] for name in wanted if not program(name)}
    if packages:
        return f"install {', '.join(sorted(packages))} (names of Debian packages)"
    if os.geteuid() and item.get_closest_marker("root"):
        return "needs root"
    return ""
