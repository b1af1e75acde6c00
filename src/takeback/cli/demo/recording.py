"""An independent witness: records what is in a directory, without any code of the engine."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    Recording = dict[bytes, tuple[str, int, bytes]]


def record(directory: str, *, skip: bytes = b".git") -> Recording:
    """Returns type, permission bits and bytes (a link's target) of every path below."""
    found: Recording = {}
    root = os.fsencode(directory)
    pending = [b""]
    while pending:
        parent = pending.pop()
        for name in os.listdir(os.path.join(root, parent)):
            if name == skip:
                continue
            path = os.path.join(parent, name)
            found[path] = _entry(os.path.join(root, path))
            if found[path][0] == "directory":
                pending.append(path)
    return found


def _entry(full: bytes) -> tuple[str, int, bytes]:
    status = os.lstat(full)
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return "link", mode, os.readlink(full)
    if stat.S_ISDIR(status.st_mode):
        return "directory", mode, b""
    with open(full, "rb") as file:
        return "file", mode, file.read()


def differences(then: Recording, now: Recording) -> list[bytes]:
    """Returns the paths that differ in any way."""
    return sorted(path for path in then.keys() | now.keys() if then.get(path) != now.get(path))


def files_in(recording: Recording) -> int:
    return sum(1 for kind, _, _ in recording.values() if kind != "directory")


def bytes_in(recording: Recording) -> int:
    return sum(len(content) for _, _, content in recording.values())
