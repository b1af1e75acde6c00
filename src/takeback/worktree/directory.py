"""What the stat cache remembers of one directory, as flat bytes that load fast."""

from __future__ import annotations

import marshal
from struct import Struct, error
from zlib import crc32

from takeback.model.coverage import IGNORED, REASONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator
    from typing import Any

    from takeback.model.coverage import Reason

    Row = tuple[Any, ...]
    """A directory as it comes from the cache. Most are only looked at, never changed: making
    an object of each of ten thousand would cost 40 ms."""

# -- what the stat cache remembers of one directory, in a form that loads fast
#
# A hundred thousand files make ten thousand of these. Names, stat signatures and object ids are
# kept in flat byte strings, so that loading makes ten objects per directory and not ten per file:
# 12 ms against 150 ms for the whole cache.


_FIVE = Struct("=5q")
_THREE = Struct("=3q")
SIGNATURE_SIZE = _FIVE.size
LISTED_SIZE = _THREE.size
NEVER_TRUSTED = bytes(SIGNATURE_SIZE)
"""A signature that no file has: the file is read again at the next capture."""

UNSIGNED = 1 << 64
"""Subtracted from a number of 2^63 or more, because the numbers of a signature are signed."""
_LATEST = (1 << 63) - 1
DOUBT = 1 << 30
"""A bit of the mode that no file has."""
REPOSITORY = 1
UNRULED = 2
"""A directory whose ignore file git cannot be asked to read: git is not asked below it."""
LINKED = 4
"""A directory with a file that has several links: it may change by a name that is elsewhere."""
IGNORED_DIRECTORY = "ignored directory"
"""Marks a gap that coverage calls ignored: it may hold tracked files."""
LEFT_OUT = ", left out"
"""How the reason of a gap ends if a file did not fit the limits of one capture."""
HELD_BEFORE = ", held before"
HELD_BELOW = ", held below"
"""How the reason of a gap ends if earlier snapshots held the file, or the directory's files."""
_REASONS: dict[str, Reason] = {reason: reason for reason in REASONS}


def gap_reason(gap: str) -> Reason:
    """Returns what coverage calls a gap, without the marks that it has here."""
    word = IGNORED if gap == IGNORED_DIRECTORY else gap.partition(", ")[0]
    return _REASONS[word]


def signature(status: os.stat_result) -> bytes:
    """Returns what must be unchanged for a file not to need reading again; never raises."""
    try:
        return _FIVE.pack(
            status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode
        )
    except error:
        return _FIVE.pack(
            status.st_size,
            _time(status.st_mtime_ns),
            _time(status.st_ctime_ns),
            _inode(status.st_ino),
            status.st_mode,
        )


def directory_signature(status: os.stat_result) -> bytes:
    """Returns what must be unchanged for a directory's listing to be still valid; never raises."""
    try:
        return _THREE.pack(status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    except error:
        return _THREE.pack(
            _time(status.st_mtime_ns), _time(status.st_ctime_ns), _inode(status.st_ino)
        )


def doubted(mark: bytes) -> bytes:
    """Returns a signature that matches no file, but from which the file's own can be recovered."""
    size, mtime, ctime, inode, mode = _FIVE.unpack(mark)
    return _FIVE.pack(size, mtime, ctime, inode, mode | DOUBT)


def undoubted(mark: bytes) -> bytes:
    """Returns the signature that ``doubted`` was given, or the argument itself."""
    size, mtime, ctime, inode, mode = _FIVE.unpack(mark)
    return _FIVE.pack(size, mtime, ctime, inode, mode & ~DOUBT) if mode & DOUBT else mark


def _time(nanoseconds: int) -> int:
    """Returns a time that fits: one before 1677 or after 2262 becomes one that is never trusted."""
    return nanoseconds if -_LATEST <= nanoseconds <= _LATEST else _LATEST


def _inode(number: int) -> int:
    """Returns an inode number as 64 signed bits: overlays and servers give out 2^63 and up."""
    return number - UNSIGNED if number > _LATEST else number


def all_doubted(signatures: bytes) -> bytes:
    """Returns a column of signatures, each as ``doubted`` gives it."""
    numbers = memoryview(signatures).cast("q").tolist()
    numbers[4::5] = [mode | DOUBT if mode else 0 for mode in numbers[4::5]]
    return Struct(f"={len(numbers)}q").pack(*numbers)


class FileTable:
    """Names with a signature and an object id each, in flat columns."""

    __slots__ = ("names", "oids", "signatures")

    def __init__(self, names: bytes = b"", signatures: bytes = b"", oids: bytes = b"") -> None:
        self.names = names
        self.signatures = signatures
        self.oids = oids

    @classmethod
    def of(cls, rows: Iterable[tuple[bytes, bytes, bytes]]) -> FileTable:
        """Makes the columns from (name, signature, oid) rows."""
        ordered = sorted(rows)
        if not ordered:
            return NO_FILES
        return cls(
            b"/".join(name for name, _, _ in ordered),
            b"".join(mark for _, mark, _ in ordered),
            b"".join(oid for _, _, oid in ordered),
        )

    def __iter__(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        if not self.names:
            return
        for i, name in enumerate(self.names.split(b"/")):
            yield (
                name,
                self.signatures[i * SIGNATURE_SIZE : (i + 1) * SIGNATURE_SIZE],
                self.oids[i * 20 : (i + 1) * 20],
            )

    def __len__(self) -> int:
        return len(self.oids) // 20


NO_FILES = FileTable()
"""The table of every directory that has none: a table is replaced, never changed."""

PATH, MODE, LISTED, NAMES, SIGNATURES, OIDS = range(6)
SAVED_NAMES, SAVED_SIGNATURES, SAVED_OIDS, SUBS, GAPS, TRACKED, RACY, FLAGS, TREE = range(6, 15)


class Directory:
    """One directory: its held files, its saved ignored files, its sub-directories, its gaps.

    ``listed`` is its signature when it was listed, or b"" if it must be listed again.
    ``subs`` maps a held sub-directory's name to (mode, tree id). ``gaps`` maps a name to the
    reason why it is not held. ``tracked`` are names held although an ignore rule matches.
    ``modes`` of files are in their signatures, except for racy ones: ``racy`` maps these.
    """

    __slots__ = (
        "files",
        "flags",
        "gaps",
        "listed",
        "mode",
        "path",
        "racy",
        "saved",
        "subs",
        "tracked",
        "tree",
    )

    def __init__(self, path: bytes) -> None:
        self.path = path
        self.mode = 0o40755
        self.listed = b""
        self.files = self.saved = NO_FILES
        self.subs: dict[bytes, tuple[int, bytes]] = {}
        self.gaps: dict[bytes, str] = {}
        self.tracked: tuple[bytes, ...] = ()
        self.racy: dict[bytes, tuple[int, int]] = {}
        self.flags = 0
        self.tree = b""

    def dump(self) -> Row:
        """Returns a form that marshal writes; the order is that of the constants above."""
        return (
            self.path,
            self.mode,
            self.listed,
            self.files.names,
            self.files.signatures,
            self.files.oids,
            self.saved.names,
            self.saved.signatures,
            self.saved.oids,
            self.subs,
            self.gaps,
            self.tracked,
            self.racy,
            self.flags,
            self.tree,
        )

    @classmethod
    def load(cls, row: Row) -> Directory:
        """Reads ``dump``'s form."""
        self = cls.__new__(cls)
        columns: list[bytes]
        (
            self.path,
            self.mode,
            self.listed,
            *columns,
            self.subs,
            self.gaps,
            self.tracked,
            self.racy,
            self.flags,
            self.tree,
        ) = row
        self.files = FileTable(*columns[:3])
        self.saved = FileTable(*columns[3:])
        return self

    @property
    def is_sure(self) -> bool:
        """False if it, or a file in it, is looked at again whatever its times are."""
        if not self.listed:
            return False
        modes = memoryview(self.files.signatures + self.saved.signatures).cast("q").tolist()[4::5]
        return all(mode and not mode & DOUBT for mode in modes)

    def file_mode(self, name: bytes, mark: bytes) -> tuple[int, int]:
        """Returns (st_mode, size) of a held or saved file, trusted or not."""
        if mark == NEVER_TRUSTED:
            return self.racy[name]
        five = _FIVE.unpack(mark)
        return five[4] & ~DOUBT, five[0]


# -- one directory of the stat cache as flat bytes, which ``native/look.c`` reads as they lie there
#
#         size, checksum, mode, flags | listed | lengths | signatures | ids | path, names | the rest
#
# Whoever uses what a record says has its checksum compared. The look at all files does not: if it
# finds no change, nothing of the record is used, and else the directory is made of it, checked.


_FRONT = Struct("=II")
_HEAD = Struct(f"=II{LISTED_SIZE}s6I")
_BODY_AT = _FRONT.size + _HEAD.size
_LISTED = 1 << 16
_MARKED = 1 << 17
_FLAGS = _LISTED - 1
_ALIGNED = 8
_OID = 20


class CacheDamaged(ValueError):
    """The stat cache is not as it was written: what it says of a directory cannot be used."""


def encode(row: Row) -> bytes:
    """Returns the record of a directory."""
    path, mode, listed, names, marks, oids, saved_names, saved_marks, saved_oids, *rest = row
    subs, gaps, tracked, racy, flags, tree = rest
    others = marshal.dumps((subs, gaps, tracked, racy, tree))
    if listed:
        flags |= _LISTED
    if flags & _FLAGS or gaps or saved_names or tracked:
        flags |= _MARKED
    head = _HEAD.pack(
        mode,
        flags,
        listed,
        len(path),
        len(names),
        len(oids) // _OID,
        len(saved_names),
        len(saved_oids) // _OID,
        len(others),
    )
    strings = b"%b\0%b\0%b\0" % (path, names, saved_names)
    body = b"".join((head, marks, saved_marks, oids, saved_oids, strings, others))
    body += bytes(-len(body) % _ALIGNED)
    return _FRONT.pack(_FRONT.size + len(body), crc32(body)) + body


def decode(record: bytes) -> Row:
    """Returns the directory that a record was made of; raises CacheDamaged."""
    mode, flags, listed, path, names, files, saved_names, saved, others = _checked(record)
    marks_end = _BODY_AT + files * SIGNATURE_SIZE
    saved_marks_end = marks_end + saved * SIGNATURE_SIZE
    oids_end = saved_marks_end + files * _OID
    saved_oids_end = oids_end + saved * _OID
    path_end = saved_oids_end + path
    names_end = path_end + 1 + names
    saved_names_end = names_end + 1 + saved_names
    subs, gaps, tracked, racy, tree = marshal.loads(
        record[saved_names_end + 1 : saved_names_end + 1 + others]
    )
    return (
        record[saved_oids_end:path_end],
        mode,
        listed if flags & _LISTED else b"",
        record[path_end + 1 : names_end],
        record[_BODY_AT:marks_end],
        record[saved_marks_end:oids_end],
        record[names_end + 1 : saved_names_end],
        record[marks_end:saved_marks_end],
        record[oids_end:saved_oids_end],
        subs,
        gaps,
        tracked,
        racy,
        flags & _FLAGS,
        tree,
    )


def listing(record: bytes) -> Row:
    """Returns the first three columns, which is all that a look at the directory itself needs."""
    mode, flags, listed, path, _, files, _, saved, _ = _checked(record)
    path_at = _BODY_AT + (files + saved) * (SIGNATURE_SIZE + _OID)
    return record[path_at : path_at + path], mode, listed if flags & _LISTED else b""


def _checked(record: bytes) -> tuple[Any, ...]:
    if len(record) < _BODY_AT:
        raise CacheDamaged("a record of the stat cache is cut short")
    size, checksum = _FRONT.unpack_from(record)
    if size != len(record) or crc32(memoryview(record)[_FRONT.size :]) != checksum:
        raise CacheDamaged("a record of the stat cache is not as it was written")
    return _HEAD.unpack_from(record, _FRONT.size)


def is_marked(record: bytes) -> bool:
    """Tells whether a directory is more than files and directories: few are."""
    flags: int = _HEAD.unpack_from(record, _FRONT.size)[1]
    return bool(flags & _MARKED)
