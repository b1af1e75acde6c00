"""Writes packs: all the new objects of one capture as one file and its index."""

from __future__ import annotations

import os
import zlib
from struct import pack

from takeback import durable, kernel
from takeback.git.objects import KIND_NAMES, ObjectId, new_hasher, object_id
from takeback.git.packfile import IndexEntries, encode_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from takeback.git.objects import Hasher


# -- finds ISA-L, which compresses as zlib does in a third of the time, where it is installed
#
# Both write the same format and an object's id does not depend on it; ISA-L takes one or two
# hundredths more bytes. It comes with ``pip install takeback[fast]``. A writer of packs asks for it
# once it has compressed so much that loading it pays: no hook does.


_PACKAGE = "isal"


def installed() -> ModuleType | None:
    """Returns ISA-L's module, None if it is not installed or does not load.

    It is looked for only beside takeback itself and among the packages of this Python. A plain
    import would also look in the directory that a program was started in, which is often the
    project: whoever writes there could have his code run.
    """
    import os
    import sys
    import sysconfig
    from importlib import import_module
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    is_loaded = _PACKAGE in sys.modules
    try:
        if not is_loaded:
            beside = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
            spec = PathFinder.find_spec(_PACKAGE, [beside, sysconfig.get_path("platlib")])
            if spec is None or spec.loader is None:
                return None
            # the library imports other parts of its package, and has to find this one
            sys.modules[_PACKAGE] = package = module_from_spec(spec)
            spec.loader.exec_module(package)
        return import_module(f"{_PACKAGE}.isal_zlib")
    except ImportError:  # made for another Python or machine
        if not is_loaded:
            sys.modules.pop(_PACKAGE, None)
        return None


# -- writes packs
#
# No process is started and nothing is visible until ``finish``:
#
#     tmp_takeback_pack_*  written, flushed
#     tmp_takeback_idx_*   written, flushed
#     pack-<sha1>.pack     renamed
#     pack-<sha1>.idx      renamed: from here on git and our reader see the objects
#     directory            flushed
#
# A process that dies before that leaves temporaries, which git's own housekeeping recognizes by
# their first four letters.


TEMPORARY = "tmp_takeback_"
"""The prefix of the names of unfinished packs."""

PIECE = 1 << 20
BUFFER = 8 << 20
"""A pack up to this size is written with one call; a capture's pack is usually 60 KB."""

_LEVEL = 1  # half the time of git's default for a tenth more bytes; repack does the rest
_WORTH_LOADING = 4 << 20
"""Finding and loading a faster library takes 5 ms, as much as it saves with a megabyte: the
captures of a turn, which agents wait for, never come this far."""
_HEADER = b"PACK\0\0\0\x02\0\0\0\0"
_COUNT_AT = 8
_MODE = 0o400  # an object never changes; git's own packs are read-only too


def entry_header(kind: int, size: int) -> bytes:
    """Returns the type and size in the form in which they precede an object's bytes in a pack."""
    byte = kind << 4 | size & 0x0F
    size >>= 4
    header = bytearray()
    while size:
        header.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    header.append(byte)
    return bytes(header)


class SourceFailed(OSError):
    """The file to be added could not be read; nothing is wrong with the pack."""


class PackWriter:
    """Gathers objects into a pack, or several of about ``split_at`` bytes.

    An OSError from the disk of the store reaches the caller after ``abort``. The split keeps every
    offset below 2 GB. One writer belongs to one process; several processes may each have one on
    the same directory.
    """

    def __init__(self, directory: str, *, split_at: int = 2 << 30) -> None:
        if not len(_HEADER) < split_at <= 2 << 30:
            raise ValueError("split_at must lie between a pack's header and 2 GB")
        self._directory = directory
        self._split_at = split_at
        self._zlib: ModuleType = zlib
        self._until_faster = _WORTH_LOADING
        self._added: dict[ObjectId, int | None] = {}
        """With Python's own hash of the bytes, unless they came as a stream."""
        self._names: list[str] = []
        self._temporaries: list[str] = []
        self.aborted = False
        """Whether a failure (or a call) has ended this writer."""
        self._begin()

    def _begin(self) -> None:
        self._entries = IndexEntries()
        self._buffer = bytearray(_HEADER)
        self._flushed = 0
        self._fd = -1

    def __contains__(self, oid: ObjectId) -> bool:
        return oid in self._added

    def may_be(self, oid: ObjectId, data: bytes) -> bool:
        """Tells whether an object that was added can have these bytes.

        Python's hash of bytes has a secret key in each process: nobody can construct a collision.
        """
        hashed = self._added[oid]
        return hashed is None or hashed == hash(data)

    @property
    def count(self) -> int:
        """How many objects were added, in all packs."""
        return len(self._added)

    def add(self, kind: int, data: bytes, oid: ObjectId | None = None) -> ObjectId:
        """Adds one object and returns its id; one that was added before costs nothing."""
        if oid is None:
            oid = object_id(kind, data)
        if oid in self._added:
            return oid
        start = self._start()
        raw = entry_header(kind, len(data)) + self._library(len(data)).compress(data, _LEVEL)
        self._write(raw)
        self._record(oid, zlib.crc32(raw), start, hash(data))
        return oid

    def add_stream(self, kind: int, fd: int, size: int) -> ObjectId | None:
        """Adds what an open file holds, piece by piece, and returns its id.

        Returns None, and has no effect, if the file does not hold exactly ``size`` bytes from its
        present position: it is being written. A file that cannot be read (SourceFailed) leaves the
        writer usable too (``aborted`` is False then).
        """
        start = self._start()
        hasher = new_hasher(size)
        hasher.update(b"%s %d\0" % (KIND_NAMES[kind], size))
        raw = entry_header(kind, size)
        crc = zlib.crc32(raw)
        self._write(raw)
        deflater = self._library(size).compressobj(_LEVEL)
        left = size
        while left:
            piece = self._read(fd, min(left, PIECE), start)
            if not piece:
                self._take_back(start)
                return None
            left -= len(piece)
            hasher.update(piece)
            raw = deflater.compress(piece)
            crc = zlib.crc32(raw, crc)
            self._write(raw)
        if self._read(fd, 1, start):
            self._take_back(start)
            return None
        raw = deflater.flush()
        self._write(raw)
        oid = hasher.digest()
        if oid in self._added:
            self._take_back(start)
        else:
            self._record(oid, zlib.crc32(raw, crc), start, None)
        return oid

    def finish(self, *, at_once: bool = False, names: bool = True) -> list[str]:
        """Makes the packs visible and durable and returns their names (``pack-<sha1>``).

        ``at_once`` flushes pack and index together, if that is quicker. Without ``names`` the
        directory is left to be flushed: nothing may rely on the packs before.

        Without objects nothing is written and the list is empty. A pack of the same name
        is replaced: it holds the same bytes, or did before it was damaged.
        """
        self._check()
        self._added.clear()
        self._finish_pack(at_once=at_once and kernel.is_quiet(), names=names)
        self._begin()
        return list(self._names)

    def abort(self) -> None:
        """Removes what is not yet visible; never raises, and does nothing after ``finish``."""
        self.aborted = True
        self._close()
        for path in self._temporaries:
            try:
                durable.unlink(path)
            except OSError:
                continue
        self._temporaries.clear()
        # not cleared: the exception that led here may still hold a view of it
        self._buffer = bytearray()

    def _check(self) -> None:
        if self.aborted:
            raise ValueError("this pack was given up")

    def _start(self) -> int:
        """Returns the offset of the next object."""
        self._check()
        if self._flushed + len(self._buffer) >= self._split_at and self._entries:
            self._finish_pack()
            self._begin()
        return self._flushed + len(self._buffer)

    def _library(self, size: int) -> ModuleType:
        """Returns what compresses the next ``size`` bytes: zlib, or once it is much its better."""
        if self._until_faster > 0:
            self._until_faster -= size
            if self._until_faster <= 0:
                self._zlib = installed() or zlib
        return self._zlib

    def _record(self, oid: ObjectId, crc: int, start: int, hashed: int | None) -> None:
        self._added[oid] = hashed
        self._entries.add(oid, crc, start)

    def _read(self, fd: int, length: int, start: int) -> bytes:
        try:
            return os.read(fd, length)
        except OSError as error:
            self._take_back(start)
            raise SourceFailed(error.errno, error.strerror) from error

    def _write(self, raw: bytes) -> None:
        self._buffer += raw
        if len(self._buffer) >= BUFFER:
            try:
                self._flush()
            except OSError:
                self.abort()
                raise

    def _take_back(self, start: int) -> None:
        """Forgets an object that began at ``start``."""
        if start >= self._flushed:
            del self._buffer[start - self._flushed :]
            return
        self._buffer = bytearray()
        try:
            durable.truncate(self._fd, start)
        except OSError:
            self.abort()
            raise
        self._flushed = start

    def _flush(self) -> None:
        if self._fd < 0:
            self._fd = self._create("pack")
        durable.write(self._fd, memoryview(self._buffer))
        self._flushed += len(self._buffer)
        self._buffer = bytearray()

    def _create(self, kind: str) -> int:
        number = len(self._names)
        while True:
            # Without ".pack" or ".idx" at the end: git takes any such file for a pack, and a repack
            # would combine it and remove it while we write it.
            path = f"{self._directory}/{TEMPORARY}{kind}_{os.getpid()}_{number}"
            try:
                fd = durable.create(path, mode=_MODE)
            except FileExistsError:  # a dead process had our number, or a second writer here
                number += 1
                continue
            self._temporaries.append(path)
            return fd

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _finish_pack(self, *, at_once: bool = False, names: bool = True) -> None:
        if not self._entries:
            self._drop_empty()
            return
        try:
            checksum = self._finish_file(flush=not at_once)
            index = encode_index(self._entries, checksum)
            self._fd = self._create("idx")
            durable.write(self._fd, index)
            if not at_once:
                durable.sync(self._fd)
            elif not durable.flush_file_system(self._fd):
                durable.sync(self._fd)
                self._sync_pack()
            self._close()
            name = f"pack-{checksum.hex()}"
            pack_path, index_path = self._temporaries
            durable.rename(pack_path, f"{self._directory}/{name}.pack")
            del self._temporaries[0]
            durable.rename(index_path, f"{self._directory}/{name}.idx")
            self._temporaries.clear()
            if names:
                durable.sync_directory(self._directory)
        except OSError:
            self.abort()
            raise
        if name not in self._names:
            self._names.append(name)

    def _sync_pack(self) -> None:
        fd = os.open(self._temporaries[0], os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            durable.sync(fd)
        finally:
            os.close(fd)

    def _finish_file(self, *, flush: bool) -> bytes:
        """Completes the pack's file and returns its checksum."""
        count = pack(">I", len(self._entries))
        if self._fd < 0:
            self._buffer[_COUNT_AT : _COUNT_AT + 4] = count
            hasher = new_hasher(len(self._buffer))
            hasher.update(memoryview(self._buffer))
        else:
            self._flush()
            durable.overwrite(self._fd, _COUNT_AT, count)
            hasher = self._hash_file()
        checksum = hasher.digest()
        self._buffer += checksum
        self._flush()
        if flush:
            durable.sync(self._fd)
        self._close()
        return checksum

    def _hash_file(self) -> Hasher:
        # the checksum covers the count, which comes first and is known last: the file is read
        # again, usually from memory (0.8 s for a GB)
        hasher = new_hasher(self._flushed)
        offset = 0
        while offset < self._flushed:
            piece = os.pread(self._fd, PIECE, offset)
            if not piece:
                raise OSError(5, "the pack being written has lost bytes")
            hasher.update(piece)
            offset += len(piece)
        return hasher

    def _drop_empty(self) -> None:
        """Removes the file of a pack whose every object was taken back."""
        self._close()
        while self._temporaries:
            durable.unlink(self._temporaries.pop())
