"""What the numbers of a watch mean, in memory that one process after the other looks into.

        0          the note: how far the watch and the stat cache go together
        4 KB       for each number of the queue, where its path is
        1 GB       lengths and paths, one after the other

It is a file without a name, of which only what was written takes memory. The standby holds it for
its spares and never looks into it. Finding the path of a number, or noting one, takes as long with
a hundred thousand directories as with ten.
"""

from __future__ import annotations

import marshal
import os
from struct import Struct

from takeback.model.value import Value

_NUMBERS = 4096
_PATHS = 1 << 30
_MOST = 1 << 28
"""Bytes of paths: a watch that has seen more directories come and go is made anew."""
_PLACE = Struct("=q")
_LENGTH = Struct("=i")
_AT_ONCE = 512

ARMED, BUSY, IN_STEP = "armed", "busy", "in step"


class Note(Value):
    """How far a watch and the stat cache go together.

    It is ``ARMED`` until everything was looked at once, ``BUSY`` from before the queue is read
    until what was in it is in the cache whose ``token`` it is then ``IN_STEP`` with. ``unsure`` is
    where the directories are listed that the cache does not vouch for, ``rounds`` how many looks
    relied on the watch since the last one at everything.
    """

    state: str
    token: bytes
    root: tuple[int, int]
    mounts: tuple[bytes, ...]
    unsure: int = 0
    rounds: int = 0


class WatchTable:
    """The table of one watch; ``fd`` is all of it. Raises OSError."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @classmethod
    def new(cls) -> WatchTable:
        table = cls(os.memfd_create("takeback-watch"))
        table._write(_NUMBERS - _PLACE.size, _PLACE.pack(0))
        table._write(_PATHS, bytes(_LENGTH.size))  # so that no path is at 0
        return table

    # -- the note

    @property
    def note(self) -> Note:
        length = _LENGTH.unpack(os.pread(self.fd, _LENGTH.size, 0))[0]
        return Note(*marshal.loads(os.pread(self.fd, length, _LENGTH.size)))

    def write_note(self, note: Note) -> None:
        """Replaces the note; one that is too long is that of a watch nobody relies on."""
        fields = (note.state, note.token, note.root, note.mounts, note.unsure, note.rounds)
        data = marshal.dumps(fields)
        if len(data) > _NUMBERS // 2:
            data = marshal.dumps((BUSY, b"", note.root, (), 0, 0))
        self._write(0, _LENGTH.pack(len(data)) + data)

    # -- numbers and paths

    @property
    def watches(self) -> int:
        """How many directories are watched."""
        place = os.pread(self.fd, _PLACE.size, _NUMBERS - _PLACE.size)
        return int(_PLACE.unpack(place)[0])

    def path(self, number: int) -> bytes | None:
        """Returns the path that a number of the queue stands for; None if it is unknown."""
        at = self._place(number)
        return self.kept(at) if at else None

    def put(self, number: int, path: bytes) -> None:
        """Notes which directory a number stands for, from now on."""
        at = self._place(number)
        if at and self.kept(at) == path:
            return
        self._write(_NUMBERS + number * _PLACE.size, _PLACE.pack(self.keep(path)))
        if not at:
            self._count(1)

    def remove(self, number: int) -> None:
        """Notes that a number stands for nothing any more."""
        if self._place(number):
            self._write(_NUMBERS + number * _PLACE.size, _PLACE.pack(0))
            self._count(-1)

    def _place(self, number: int) -> int:
        place = os.pread(self.fd, _PLACE.size, _NUMBERS + number * _PLACE.size)
        return int(_PLACE.unpack(place)[0]) if len(place) == _PLACE.size else 0

    def _count(self, more: int) -> None:
        self._write(_NUMBERS - _PLACE.size, _PLACE.pack(self.watches + more))

    # -- bytes

    @property
    def is_full(self) -> bool:
        return os.fstat(self.fd).st_size > _PATHS + _MOST

    def keep(self, data: bytes) -> int:
        """Keeps some bytes, and returns where."""
        end = os.fstat(self.fd).st_size
        self._write(end, _LENGTH.pack(len(data)) + data)
        return end

    def kept(self, at: int) -> bytes:
        """Returns what was kept there."""
        data = os.pread(self.fd, _AT_ONCE, at)
        length = _LENGTH.unpack_from(data)[0] + _LENGTH.size
        if length > len(data):
            data = os.pread(self.fd, length, at)
        return data[_LENGTH.size : length]

    def _write(self, at: int, data: bytes) -> None:
        if os.pwrite(self.fd, data, at) != len(data):
            raise OSError("there is no memory for the watch")
