"""Records what is in a directory, so that two moments can be compared with ``==``."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "character device",
    stat.S_IFBLK: "block device",
}


class Entry(NamedTuple):
    """One path. ``content`` is a file's bytes or a link's target, else empty.

    What may not be read has ``errno`` instead of content: a test compares it all the same.
    ``inode`` and ``mtime_ns`` are 0 unless asked for; a directory's mtime is never recorded,
    as it changes with any entry in it.
    """

    kind: str
    mode: int
    content: bytes = b""
    errno: int = 0
    inode: int = 0
    mtime_ns: int = 0


def tree_state(path: Path | bytes, *, identity: bool = False) -> dict[bytes, Entry]:
    """Returns every entry below ``path`` except what is named ``.git``, by relative path.

    With ``identity`` the inode and mtime are part of it: equal means untouched, not only equal
    in bytes. The root itself is not an entry.
    """
    return _walk(os.fsencode(path), identity=identity, skip=b".git")


def git_state(path: Path | bytes, *, identity: bool = False) -> dict[bytes, Entry]:
    """Returns every byte and mode of ``path``/.git (a directory, or a worktree's file).

    The ``.git`` itself is the entry ``.git``. Without one the answer is empty.
    """
    root = os.fsencode(path)
    try:
        top = _entry(os.path.join(root, b".git"), identity=identity)
    except FileNotFoundError:
        return {}
    state = {b".git": top}
    if top.kind == "directory":
        below = _walk(os.path.join(root, b".git"), identity=identity, skip=None)
        state |= {b".git/" + name: entry for name, entry in below.items()}
    return state


def differences(before: dict[bytes, Entry], after: dict[bytes, Entry]) -> list[str]:
    """Returns one line for each path that is not the same in both, for a readable failure."""
    lines = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old != new:
            lines.append(f"{name!r}: {_shown(old)} -> {_shown(new)}")
    return lines


def _walk(root: bytes, *, identity: bool, skip: bytes | None) -> dict[bytes, Entry]:
    state: dict[bytes, Entry] = {}
    pending = [b""]
    while pending:
        parent = pending.pop()
        try:
            names = os.listdir(os.path.join(root, parent) if parent else root)
        except PermissionError as error:
            if not parent:
                raise
            state[parent] = state[parent]._replace(errno=error.errno or 0)
            continue
        for name in names:
            if name == skip:
                continue
            relative = os.path.join(parent, name)
            entry = _entry(os.path.join(root, relative), identity=identity)
            state[relative] = entry
            if entry.kind == "directory":
                pending.append(relative)
    return state


def _entry(path: bytes, *, identity: bool) -> Entry:
    status = os.lstat(path)
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "unknown")
    content, errno = b"", 0
    try:
        if kind == "link":
            content = os.readlink(path)
        elif kind == "file":
            with open(path, "rb") as file:
                content = file.read()
    except PermissionError as error:
        errno = error.errno or 0
    return Entry(
        kind=kind,
        mode=stat.S_IMODE(status.st_mode),
        content=content,
        errno=errno,
        inode=status.st_ino if identity else 0,
        mtime_ns=status.st_mtime_ns if identity and kind != "directory" else 0,
    )


def _shown(entry: Entry | None) -> str:
    if entry is None:
        return "absent"
    shown = f"{entry.kind} {entry.mode:04o} {entry.content[:40]!r}"
    if len(entry.content) > 40:
        shown += f"... ({len(entry.content)} bytes)"
    if entry.inode:
        shown += f" inode {entry.inode} mtime {entry.mtime_ns}"
    return shown
