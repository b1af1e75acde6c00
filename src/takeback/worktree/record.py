"""One directory of the stat cache as flat bytes, which ``native/look.c`` reads as they lie there.

        size, checksum, mode, flags | listed | lengths | signatures | ids | path, names | the rest

Whoever uses what a record says has its checksum compared. The look at all files does not: if it
finds no change, nothing of the record is used, and else the directory is made of it, checked.
"""

from __future__ import annotations

import marshal
from struct import Struct
from zlib import crc32

from takeback.worktree.directory import LISTED_SIZE, SIGNATURE_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.worktree.directory import Row

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
