"""What is mounted where, according to the kernel: read once for each look at a workspace."""

from __future__ import annotations

import os

_DISTRUSTED = (b"9p", b"fuse", b"nfs", b"cifs", b"smb", b"vboxsf", b"prl_fs", b"virtiofs", b"afs")

_IN_MEMORY = (b"tmpfs ", b"ramfs ", b"devtmpfs ")


class Mounts:
    """The mounts that matter to one workspace. Without /proc nothing is known."""

    def __init__(self, root: bytes, device: int) -> None:
        self.times_distrusted = False
        """Directory times mean nothing here: a network or user-space file system."""
        self.in_memory = False
        """There is no disk: pages are never written back, so mapped ones are never clean."""
        self.below: set[bytes] = set()
        """The mount points inside the workspace, relative to its root, bind mounts too."""
        wanted = b"%d:%d" % (os.major(device), os.minor(device))
        inside = root.rstrip(b"/") + b"/"
        for line in _lines():
            fields, _, kind = line.partition(b" - ")
            parts = fields.split(b" ", 5)
            if len(parts) < 5:
                continue
            if parts[2] == wanted and kind.startswith(_DISTRUSTED):
                self.times_distrusted = True
            if parts[2] == wanted and kind.startswith(_IN_MEMORY):
                self.in_memory = True
            point = _unescaped(parts[4]) if b"\\" in parts[4] else parts[4]
            if point.startswith(inside):
                self.below.add(point[len(inside) :])


def _lines() -> list[bytes]:
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            return file.read().split(b"\n")
    except OSError:  # not Linux
        return []


def _unescaped(text: bytes) -> bytes:
    """Undoes the kernel's octal escapes of blanks, tabs, newlines and backslashes."""
    first, *rest = text.split(b"\\")
    return first + b"".join(bytes([int(piece[:3], 8)]) + piece[3:] for piece in rest)
