"""What is staged in the project's index, as a digest: it is never restored.

Only what a person staged counts (mode, object id, stage and name of each entry), not the stat data
that git rewrites with every look. Read as plain bytes; a split, compressed or large index has no
digest.
"""

from __future__ import annotations

import os
from stat import S_ISREG
from struct import Struct, error

from takeback.git.objects import BLOB, object_id
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.worktree.project import GitDirectory

_LARGEST = 2 << 20
"""About 20,000 entries, which take 20 ms if git has written the index since the last time."""
_HEADER = 12
_WIDTHS = (20, 32)
_LONG = 0x0FFF
_EXTENDED = 0x4000
_STAGE = 0x3000
_NOTHING = "nothing"


def staged(git: GitDirectory, known: str | None = None) -> str | None:
    """Returns the digest of the index and what identifies the file; None if it has no digest.

    ``known`` is what this returned before: the file is read only if it has changed since.
    """
    path = git.git_dir + b"/index"
    try:
        found = os.lstat(path)
    except OSError:
        return _NOTHING
    if not S_ISREG(found.st_mode) or found.st_size > _LARGEST:
        return None
    seen = f"{found.st_ino:x}-{found.st_size:x}-{found.st_mtime_ns:x}"
    if known is not None and known.endswith(f" {seen}"):
        return known
    try:
        with open(path, "rb", opener=ordinary) as file:
            digest = _digest(file.read(_LARGEST + 1))
    except OSError:
        return None
    return None if digest is None else f"{digest} {seen}"


def differ(then: str | None, now: str | None) -> bool:
    """Tells whether it is known that something different is staged now."""
    if then is None or now is None:
        return False
    return then.split()[0] != now.split()[0]


def _digest(index: bytes) -> str | None:
    if index[:4] != b"DIRC" or int.from_bytes(index[4:8], "big") not in (2, 3):
        return None
    count = int.from_bytes(index[8:_HEADER], "big")
    if not count:
        return _NOTHING
    for width in _WIDTHS:
        entries = _entries(index, count, width)
        if entries is not None:
            return object_id(BLOB, b"\0".join(entries)).hex()
    return None


def _entries(index: bytes, count: int, width: int) -> list[bytes] | None:
    """Returns what is staged, by entry; None if ids are not that wide, or the index is split."""
    found = []
    position, ids = _HEADER, 40 + width
    flags_at = Struct(">H").unpack_from
    try:
        for _ in range(count):
            (flags,) = flags_at(index, position + ids)
            start = position + ids + (4 if flags & _EXTENDED else 2)
            length = flags & _LONG
            end = start + length if length < _LONG else index.index(b"\0", start)
            oid, mode = index[position + 40 : position + ids], index[position + 24 : position + 28]
            found.append(b"%b%b%d %b" % (mode, oid, flags & _STAGE, index[start:end]))
            position += (end - position + 8) & ~7
    except (error, ValueError):
        return None
    return found if _ends_well(index, position, len(index) - width) else None


def _ends_well(index: bytes, position: int, stop: int) -> bool:
    """Tells whether extensions follow up to the trailer, and none that holds other entries."""
    while position < stop:
        size = int.from_bytes(index[position + 4 : position + 8], "big")
        if (
            not index[position : position + 4].isalpha()
            or index[position : position + 4] == b"link"
        ):
            return False
        position += 8 + size
    return position == stop
