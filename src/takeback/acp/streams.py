"""Streams: bytes that come in lines, and bytes that go when there is room."""

from __future__ import annotations

import os

from takeback.model.value import Value

_PIECE = 1 << 16
_FULL = 1 << 20
"""Bytes that may wait to be written; until there are fewer nothing more is read for them."""


class Piece(Value):
    """A line, or a part of one that is too long to be looked at."""

    data: bytes
    is_line: bool


class IncomingLines:
    """Cuts what comes into lines; one of more than ``most`` bytes comes in pieces."""

    def __init__(self, fd: int, most: int) -> None:
        self.fd = fd
        self.is_open = True
        self._most = most
        self._rest = bytearray()
        self._searched = 0
        self._is_within = False

    @property
    def is_between_lines(self) -> bool:
        """False while only a part of a long line has been handed out."""
        return not self._is_within

    def read(self) -> None:
        """Takes what there is; call it only if there is something, or the end."""
        try:
            data = os.read(self.fd, _PIECE)
        except OSError:  # whoever wrote has gone
            data = b""
        self.is_open = bool(data)
        self._rest += data

    def next(self) -> Piece | None:
        """Returns the next line; None if the rest of it has not come yet."""
        end = self._rest.find(b"\n", self._searched)
        if end >= 0:
            piece = Piece(self._taken(end + 1), is_line=not self._is_within)
            self._is_within = False
            return piece
        self._searched = len(self._rest)
        if not self._rest or (
            self.is_open and not self._is_within and len(self._rest) < self._most
        ):
            return None
        self._is_within = self.is_open
        return Piece(self._taken(len(self._rest)), is_line=False)

    def _taken(self, count: int) -> bytes:
        data = bytes(self._rest[:count])
        del self._rest[:count]
        self._searched = 0
        return data


class OutgoingBytes:
    """Writes to a descriptor as much as it takes at once; what it does not take waits.

    ``at_once`` is how many bytes it takes without waiting whenever it takes any.
    """

    def __init__(self, fd: int, at_once: int) -> None:
        self.fd = fd
        self.is_open = True
        self._at_once = at_once
        self._waiting = bytearray()

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    @property
    def is_full(self) -> bool:
        return len(self._waiting) > _FULL

    def write(self, data: bytes) -> None:
        """Has bytes written when there is room; nobody who has gone is written to."""
        if self.is_open:
            self._waiting += data

    def flush(self) -> None:
        """Writes once; call it only if there is room."""
        try:
            written = os.write(self.fd, memoryview(self._waiting)[: self._at_once])
        except BlockingIOError:
            return
        except OSError:  # whoever read has gone
            self.abandon()
            return
        del self._waiting[:written]

    def abandon(self) -> None:
        """Writes nothing any more."""
        self.is_open = False
        self._waiting.clear()
