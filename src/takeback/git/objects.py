"""What git objects are made of: ids, trees, commits, deltas. Pure functions that write nothing."""

from __future__ import annotations

import os

from takeback import errors
from takeback.c_modules import small_sha1
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from typing import Protocol

    class Hasher(Protocol):
        def update(self, data: bytes | memoryview, /) -> None: ...
        def digest(self) -> bytes: ...

# -- deltas: how a repacked object is written as copies from another plus new bytes


def read_number(data: bytes, position: int) -> tuple[int, int]:
    """Returns a little-endian base-128 number and the position after it."""
    number = shift = 0
    while position < len(data) and shift < 64:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, position
    raise errors.StoreDamaged("it holds a garbled number")


def check_size(size: int, most: int | None) -> None:
    """Raises StoreDamaged if an object claims to be longer than allowed."""
    if most is not None and size > most:
        raise errors.StoreDamaged(f"it says that it has {size} bytes, more than {most}")


def apply_delta(base: bytes, delta: bytes, most: int) -> bytes:
    """Returns what ``delta`` makes of ``base``; raises StoreDamaged if they do not fit."""
    return b"".join(delta_pieces(base, delta, most))


def size_made(delta: bytes) -> int:
    """Returns how many bytes a delta says that it makes."""
    return read_number(delta, read_number(delta, 0)[1])[0]


def delta_pieces(base: bytes, delta: bytes, most: int) -> Generator[bytes, None, None]:
    """Yields what ``delta`` makes of ``base``; raises StoreDamaged if they do not fit.

    A few instructions can copy the base again and again: the result is limited to ``most`` bytes.
    """
    base_size, position = read_number(delta, 0)
    size, position = read_number(delta, position)
    if base_size != len(base):
        raise errors.StoreDamaged("it holds a delta that does not fit its base")
    check_size(size, most)
    made = 0
    end = len(delta)
    while position < end and made <= size:
        order = delta[position]
        position += 1
        if order & 0x80:
            offset = length = 0
            for bit in range(7):
                if order & (1 << bit):
                    if position >= end:
                        raise errors.StoreDamaged("it holds a delta that is cut short")
                    if bit < 4:
                        offset |= delta[position] << (8 * bit)
                    else:
                        length |= delta[position] << (8 * (bit - 4))
                    position += 1
            piece = base[offset : offset + (length or 0x10000)]
            if len(piece) != (length or 0x10000):
                raise errors.StoreDamaged("it holds a delta that copies from beyond its base")
        else:
            piece = delta[position : position + order]
            if not order or len(piece) != order:
                raise errors.StoreDamaged("it holds a delta that is cut short")
            position += order
        made += len(piece)
        yield piece
    if made != size:
        raise errors.StoreDamaged("it holds a delta that makes another size than it says")


# -- what git objects are made of
#
# Trees differ from git's own in one point: the mode field carries all permission bits
# (``100600``, ``40750``), which git reads as 644 or 755 and fsck is told to accept.


ObjectId = bytes
"""The 20 raw bytes of a SHA-1."""

COMMIT = 1
TREE = 2
BLOB = 3
TAG = 4

KIND_NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob", TAG: b"tag"}
KINDS = {name: kind for kind, name in KIND_NAMES.items()}

LONGEST = {COMMIT: 16 << 20, TREE: 160 << 20}
"""The most bytes that one of these may have: they are held in memory to be read, and those that
takeback writes are shorter. A directory of as many names as a capture takes, each of the greatest
length, has 142 MB. A file may have any length; it is read in pieces."""

EMPTY_TREE = bytes.fromhex("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
EMPTY_BLOB = bytes.fromhex("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")

_IDENTITY = b"takeback <takeback@localhost>"
_FORMAT = 0o170000
_DIRECTORY = 0o040000
_LINK = 0o120000
_HEX_LENGTH = 40
_NO_NAMES = frozenset((b"", b".", b".."))


class _HashChoice:
    """Which SHA-1 this process uses.

    The C module ``_sha1`` loads in 0.3 ms but needs 6 ms for a MB; OpenSSL loads in
    4 to 6 ms and needs 0.6. A hook that hashes fourteen small files wants the first, a
    first capture the second, so the process changes over once it has hashed enough.
    """

    __slots__ = ("fast", "left")

    def __init__(self) -> None:
        self.fast = False
        self.left = 1 << 20


_choice = _HashChoice()


_sha1: Callable[[], Hasher] = small_sha1


def new_hasher(expected_bytes: int) -> Hasher:
    """Returns an empty SHA-1 that suits about ``expected_bytes`` of input."""
    global _sha1
    if not _choice.fast:
        _choice.left -= expected_bytes
        if _choice.left < 0:
            _choice.fast = True
            from takeback.c_modules import fast_sha1

            _sha1 = fast_sha1
    return _sha1()


def stream_id(kind: int, fd: int, size: int) -> ObjectId | None:
    """Returns the id of what an open file holds from its position on, which it keeps.

    None if that is not exactly ``size`` bytes.
    """
    start = os.lseek(fd, 0, os.SEEK_CUR)
    hasher = new_hasher(size)
    hasher.update(b"%s %d\0" % (KIND_NAMES[kind], size))
    left = size + 1
    while left and (piece := os.read(fd, min(left, 1 << 20))):
        left -= len(piece)
        hasher.update(piece)
    os.lseek(fd, start, os.SEEK_SET)
    return hasher.digest() if left == 1 else None


def object_id(kind: int, data: bytes) -> ObjectId:
    """Returns the id that git gives to an object of this kind and content."""
    hasher = new_hasher(len(data))
    hasher.update(b"%s %d\0" % (KIND_NAMES[kind], len(data)))
    hasher.update(data)
    return hasher.digest()


def is_tree(mode: int) -> bool:
    """Tells whether a tree entry of this mode is a directory."""
    return mode & _FORMAT == _DIRECTORY


def is_link(mode: int) -> bool:
    """Tells whether a tree entry of this mode is a symbolic link."""
    return mode & _FORMAT == _LINK


def _sort_key(entry: tuple[int, bytes, bytes]) -> bytes:
    return entry[1] + b"/" if entry[0] & _FORMAT == _DIRECTORY else entry[1]


def encode_tree(entries: Iterable[tuple[int, bytes, ObjectId]]) -> bytes:
    """Returns the content of a tree object with the entries (mode, name, id) in git's order.

    Raises ValueError for a name that cannot be one entry of a directory, for a name given
    twice and for an id of the wrong length: these are mistakes of the caller.
    """
    ordered = sorted(entries, key=_sort_key)
    seen = set()
    parts = []
    for mode, name, oid in ordered:
        if name in _NO_NAMES or b"/" in name or b"\0" in name:
            raise ValueError(f"not a name for a tree entry: {name!r}")
        if len(oid) != 20:
            raise ValueError(f"not an object id: {oid!r}")
        seen.add(name)
        parts.append(b"%o %s\0%s" % (mode, name, oid))
    if len(seen) != len(parts):
        raise ValueError("a name stands twice in one tree")
    return b"".join(parts)


def decode_tree(data: bytes) -> list[tuple[int, bytes, ObjectId]]:
    """Returns the entries (mode, name, id) of a tree object.

    Raises StoreDamaged for anything that ``encode_tree`` would not have written: a tree
    may come from elsewhere (pull), and its names are about to become paths.
    """
    entries = []
    modes: dict[bytes, int] = {}
    find = data.find
    position, end = 0, len(data)
    last = b""
    while position < end:
        zero = find(b"\0", position)
        if zero < 0 or zero + 21 > end:
            raise errors.StoreDamaged("a tree object is cut short")
        digits, _, name = data[position:zero].partition(b" ")
        mode = modes.get(digits)
        if mode is None:
            mode = modes[digits] = _parse_mode(digits)
        key = name + b"/" if mode & _FORMAT == _DIRECTORY else name
        if key <= last or b"/" in name or name in _NO_NAMES:
            raise errors.StoreDamaged(f"a tree object has a name out of place: {name!r}")
        last = key
        position = zero + 21
        entries.append((mode, name, data[zero + 1 : position]))
    if len({entry[1] for entry in entries}) != len(entries):
        raise errors.StoreDamaged("a tree object has a name twice")
    return entries


def _parse_mode(digits: bytes) -> int:
    if not digits or len(digits) > 7 or digits.strip(b"01234567"):
        raise errors.StoreDamaged(f"a tree object has no mode: {digits!r}")
    return int(digits, 8)


class Commit(Value):
    """One commit of the store. ``message`` is for reading only and carries no meaning."""

    tree: ObjectId
    parents: tuple[ObjectId, ...]
    time: int
    message: str


def encode_commit(commit: Commit) -> bytes:
    """Returns the content of a commit object; what UTF-8 cannot express becomes ``?``."""
    stamp = b"%s %d +0000" % (_IDENTITY, max(commit.time, 0))
    lines = [b"tree " + commit.tree.hex().encode()]
    lines += [b"parent " + parent.hex().encode() for parent in commit.parents]
    lines += [b"author " + stamp, b"committer " + stamp, b""]
    # git ends a message at its first NUL and fsck complains about it
    text = commit.message.replace("\0", "\N{REPLACEMENT CHARACTER}")
    lines.append(text.encode("utf-8", "replace"))
    body = b"\n".join(lines)
    return body if body.endswith(b"\n") else body + b"\n"


def decode_commit(data: bytes) -> Commit:
    """Returns the commit that an object holds, whoever wrote it.

    Only the tree and the parents must be right (else StoreDamaged): unknown headers are skipped and
    an unreadable time is 0.
    """
    head, _, message = data.partition(b"\n\n")
    tree = None
    parents = []
    time = 0
    for line in head.split(b"\n"):
        key, _, rest = line.partition(b" ")
        if key == b"tree" and tree is None:
            tree = _parse_hex(rest)
        elif key == b"parent":
            parents.append(_parse_hex(rest))
        elif key == b"committer":
            fields = rest.rsplit(b" ", 2)
            if len(fields) == 3 and fields[1].isdigit() and len(fields[1]) < 16:
                time = int(fields[1])
    if tree is None:
        raise errors.StoreDamaged("a commit object names no tree")
    text = message.decode("utf-8", "replace").removesuffix("\n")
    return Commit(tree, tuple(parents), time, text)


def _parse_hex(text: bytes) -> ObjectId:
    oid = parse_hex(text)
    if oid is None:
        raise errors.StoreDamaged(f"a commit object has no id where one belongs: {text!r}")
    return oid


def parse_hex(text: bytes) -> ObjectId | None:
    """Returns the id that 40 lower-case hex digits spell, or None for anything else."""
    if len(text) != _HEX_LENGTH or text.strip(b"0123456789abcdef"):
        return None
    return bytes.fromhex(text.decode("ascii"))
