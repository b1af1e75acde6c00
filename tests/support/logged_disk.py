"""A disk that keeps a log of each write and each flush, so that its power can be cut at any moment.

    file system ── mounted on ──> loop device ── reads, writes, flushes ──> a file in FUSE
                                                                              │ this module
                                         image: what was written <────────────┤
                                         log:   what was written, and when <──┘

The file is served over ``/dev/fuse`` in the kernel's own protocol, by a process that touches
nothing else: no library, nothing to compile. ``Cuts`` makes from the log what a disk may hold if
the power goes after any of its records: everything up to the last flush, and of what came after it
any part, down to single sectors.
"""

from __future__ import annotations

import os
import select
import struct
import subprocess
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.support.processes import reap

_HEADER = struct.Struct("<LLQQLLLL")  # what the kernel asks: length, opcode, unique, node, ...
_ANSWER = struct.Struct("<LlQ")
_ATTRIBUTES = struct.Struct("<QQQQQQLLLLLLLLLL")
_GETATTR, _SETATTR, _OPEN, _READ, _WRITE, _STATFS, _RELEASE = 3, 4, 14, 15, 16, 17, 18
_FSYNC, _FLUSH, _INIT, _INTERRUPT, _DESTROY = 20, 25, 26, 36, 38
_NO_ANSWER = (2, _INTERRUPT, 42)  # FORGET, INTERRUPT, BATCH_FORGET
_NOT_KNOWN = -38  # ENOSYS
_GONE = 19  # ENODEV: it was unmounted
_LARGEST = 1 << 17
_LOOKS_UP = 5.0
_LARGE_WRITES = 1 << 5  # else they come by the page
_RECORD = struct.Struct("<LQ")
_SECTOR = 512

POLICIES = ("none", "few", "half", "torn", "all")
"""What becomes of the writes after the last flush: how many of them reach the disk."""


def serve(device: int, image: Path, log: Path) -> None:
    """Answers the kernel until the file is unmounted, or whoever wanted it is gone."""
    parent = os.getppid()
    disk = os.open(image, os.O_RDWR | os.O_CLOEXEC)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    while True:
        if not select.select([device], [], [], _LOOKS_UP)[0]:
            if os.getppid() != parent:
                return
            continue
        try:
            asked = os.read(device, _LARGEST + 4096)
        except InterruptedError:
            continue
        except OSError as error:
            if error.errno == _GONE:
                return
            raise
        _, opcode, unique, *_ = _HEADER.unpack_from(asked)
        if opcode in _NO_ANSWER:
            continue
        status, said = _answer(opcode, memoryview(asked)[_HEADER.size :], disk, out)
        try:
            os.write(device, _ANSWER.pack(_ANSWER.size + len(said), status, unique) + said)
        except FileNotFoundError:  # who asked does not wait any more
            continue


def _answer(opcode: int, body: memoryview, disk: int, out: int) -> tuple[int, bytes]:
    if opcode == _INIT:
        _, minor, ahead, _ = struct.unpack_from("<LLLL", body)
        numbers = (7, min(minor, 31), ahead, _LARGE_WRITES, 0, 0, _LARGEST, 1, 0, 0)
        return 0, struct.pack("<LLLLHHLLHH32x", *numbers)
    if opcode in (_GETATTR, _SETATTR):
        size = os.fstat(disk).st_size
        blocks = size // _SECTOR
        attributes = (1, size, blocks, 0, 0, 0, 0, 0, 0, 0o100600, 1, 0, 0, 0, 4096, 0)
        return 0, struct.pack("<QLL", 3600, 0, 0) + _ATTRIBUTES.pack(*attributes)
    if opcode == _OPEN:
        return 0, struct.pack("<QLL", 0, 0, 0)
    if opcode == _READ:
        _, at, size = struct.unpack_from("<QQL", body)
        return 0, os.pread(disk, size, at)
    if opcode == _WRITE:
        _, at, size = struct.unpack_from("<QQL", body)
        data = body[40 : 40 + size]
        os.pwrite(disk, data, at)
        os.writev(out, [_RECORD.pack(size, at), data])
        return 0, struct.pack("<LL", size, 0)
    if opcode == _FSYNC:
        os.write(out, _RECORD.pack(0, 0))
        return 0, b""
    if opcode in (_FLUSH, _RELEASE, _DESTROY):
        return 0, b""
    if opcode == _STATFS:
        return 0, struct.pack("<QQQQQLLLL24x", 1 << 20, 1 << 19, 1 << 19, 1, 0, 4096, 255, 4096, 0)
    return _NOT_KNOWN, b""


class LoggedDisk:
    """Serves an image as the file ``door`` while its ``with`` lasts, and keeps the log."""

    def __init__(self, image: Path, log: Path, door: Path) -> None:
        self.door = door
        self._log = log
        door.touch()
        device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        try:
            options = f"fd={device},rootmode=100600,user_id=0,group_id=0"
            subprocess.run(
                ["mount", "-i", "-t", "fuse", "-o", options, "takeback-disk", door],
                pass_fds=[device],
                check=True,
                capture_output=True,
                timeout=30,
            )
            self._server = os.fork()
            if not self._server:
                try:
                    serve(device, image, log)
                finally:
                    os._exit(0)
        finally:
            os.close(device)

    def moment(self) -> int:
        """Returns how long the log is: all that is acknowledged by now was written before it."""
        return self._log.stat().st_size if self._log.exists() else 0

    def __enter__(self) -> LoggedDisk:
        return self

    def __exit__(self, *exc: object) -> None:
        subprocess.run(["umount", "-l", self.door], check=False, capture_output=True, timeout=30)
        reap(self._server)


class Record(NamedTuple):
    """One write, or a flush if it is empty, and where its bytes stand in the log."""

    size: int
    at: int
    data: int
    end: int


class Lost(NamedTuple):
    """How many writes came after the last flush, and how many of them a cut has lost."""

    pending: int
    lost: int


class Cuts:
    """Makes the disks that a cut may leave, at moments that only go forward."""

    def __init__(self, image: Path, log: Path) -> None:
        self._image = image
        self._log = log.open("rb")
        self.records = self._read()
        self._flushed = 0  # so many records are on the image

    def close(self) -> None:
        self._log.close()

    def _read(self) -> list[Record]:
        found = []
        size = os.fstat(self._log.fileno()).st_size
        at = 0
        while at + _RECORD.size <= size:
            length, where = _RECORD.unpack(os.pread(self._log.fileno(), _RECORD.size, at))
            start = at + _RECORD.size
            at = start + length
            found.append(Record(length, where, start, at))
        return found

    def make(self, to: Path, moment: int, policy: str, chance: Random) -> Lost:
        """Writes the disk of a cut at a moment, no earlier than that of the call before."""
        before = self._flushed
        reached = before
        while reached < len(self.records) and self.records[reached].end <= moment:
            reached += 1
        flush = max(
            (n + 1 for n in range(before, reached) if not self.records[n].size), default=before
        )
        with self._image.open("r+b") as image:
            for record in self.records[before:flush]:
                self._write(image.fileno(), record)
        self._flushed = flush
        copy_sparse(self._image, to)
        pending = [one for one in self.records[flush:reached] if one.size]
        lost = 0
        with to.open("r+b") as image:
            for record in pending:
                sectors = self._surviving(record, policy, chance)
                lost += len(sectors) < -(-record.size // _SECTOR)
                self._write(image.fileno(), record, sectors)
        return Lost(len(pending), lost)

    def _surviving(self, record: Record, policy: str, chance: Random) -> range | list[int]:
        sectors = range(-(-record.size // _SECTOR))
        kept = {"none": 0.0, "few": 0.1, "half": 0.5, "torn": 0.7, "all": 1.0}[policy]
        if chance.random() < kept:
            return sectors
        if policy != "torn":
            return range(0)
        if chance.random() < 0.5:
            return range(chance.randrange(len(sectors)))
        return [one for one in sectors if chance.random() < 0.5]

    def _write(self, image: int, record: Record, sectors: range | list[int] | None = None) -> None:
        if not record.size or (sectors is not None and not sectors):
            return
        data = os.pread(self._log.fileno(), record.size, record.data)
        if sectors is None or len(sectors) * _SECTOR >= record.size:
            os.pwrite(image, data, record.at)
            return
        for one in sectors:
            at = one * _SECTOR
            os.pwrite(image, data[at : at + _SECTOR], record.at + at)


def copy_sparse(image: Path, to: Path) -> None:
    """Copies a file whose most part are holes."""
    with image.open("rb") as source, to.open("wb") as target:
        size = os.fstat(source.fileno()).st_size
        target.truncate(size)
        at = 0
        while at < size:
            try:
                at = os.lseek(source.fileno(), at, os.SEEK_DATA)
            except OSError:  # nothing but a hole to the end
                return
            end = os.lseek(source.fileno(), at, os.SEEK_HOLE)
            os.lseek(target.fileno(), at, os.SEEK_SET)
            while at < end:
                at += os.sendfile(target.fileno(), source.fileno(), at, end - at)
