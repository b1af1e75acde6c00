"""Reads agents' transcripts: the only code that opens one.

An agent may be writing it at the same moment, and another program may have put anything in its
place. So only an ordinary file is read, never more of it than a limit, and never by blocking.
"""

from __future__ import annotations

import os
from errno import EINVAL
from stat import S_ISREG

from takeback.model.session import TranscriptPart

_LIMIT = 1 << 29
_PIECE = 1 << 20
_HEAD = 1 << 12
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


def parts_now(paths: tuple[str, ...]) -> tuple[TranscriptPart, ...]:
    """Returns the files of a transcript with their present length; missing ones are left out.

    An agent only appends, so that many first bytes are the transcript of this moment whenever they
    are read.
    """
    found = []
    for path in paths:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            continue
        if S_ISREG(status.st_mode):
            found.append(TranscriptPart(path, status.st_size))
    return tuple(found)


def read_part(part: TranscriptPart) -> tuple[TranscriptPart, bytes] | None:
    """Returns the first bytes of a file, and which part they are.

    The part says how many they are and which file they were found in. None if the file is missing,
    not an ordinary one, or too long to be kept.
    """
    if part.size > _LIMIT:
        return None
    try:
        with _Opened(part.path) as file:
            data = file.read(part.size)
            return part.replace(size=len(data), place=file.place, file=file.id), data
    except (OSError, ValueError):
        return None


def read_ends(
    part: TranscriptPart, first: int, at: int
) -> tuple[TranscriptPart, bytes, bytes] | None:
    """Returns the ``first`` bytes of a file and those from ``at`` on, and which part they end.

    None as in ``read_part``, and if the file does not reach as far as ``at``.
    """
    if not at < part.size <= _LIMIT:
        return None
    try:
        with _Opened(part.path) as file:
            head, tail = file.read(first), file.read(part.size - at, at=at)
            found = part.replace(size=at + len(tail), place=file.place, file=file.id)
            return (found, head, tail) if tail else None
    except (OSError, ValueError):
        return None


def read_now(path: str) -> bytes | None:
    """Returns all of a file; None if ``read_part`` would return None."""
    try:
        with _Opened(path) as file:
            data = file.read(_LIMIT + 1) if file.size <= _LIMIT else None
    except (OSError, ValueError):
        return None
    return None if data is None or len(data) > _LIMIT else data


def read_tail(path: str, most: int) -> bytes | None:
    """Returns the last bytes of a file; None if it is missing or not an ordinary one."""
    try:
        with _Opened(path) as file:
            return file.read(most, at=max(0, file.size - most))
    except (OSError, ValueError):
        return None


def identity_of(part: TranscriptPart, *, grown: bool) -> tuple[str | int, ...]:
    """Returns what tells a file that has this part from another at its path; empty if none has.

    One that was only appended to is another one too, unless it may have ``grown``.
    """
    try:
        with _Opened(part.path) as file:
            if file.size < part.size:
                return ()
            own = (file.id, hash(file.read(min(part.size, _HEAD))))
            return own if grown else (*own, file.size, file.changed)
    except (OSError, ValueError):
        return ()


def first_line(path: str, most: int) -> bytes | None:
    """Returns the first line, or ``most`` bytes of it; None as in ``read_tail``."""
    try:
        with _Opened(path) as file:
            line = b""
            while b"\n" not in line and len(line) < most:
                piece = file.read(min(_PIECE // 16, most - len(line)), at=len(line))
                if not piece:
                    break
                line += piece
    except (OSError, ValueError):
        return None
    return line.partition(b"\n")[0]


def place_of(status: os.stat_result) -> str:
    """Returns what tells a file or a directory from any other that may be at its path."""
    return f"{status.st_dev:x}-{status.st_ino:x}"


class _Opened:
    """An ordinary file, open for reading; raises OSError or ValueError if there is none."""

    def __init__(self, path: str) -> None:
        folder, name = os.path.split(path)
        above = os.open(folder or ".", _FOLDER)
        try:
            self.place = place_of(os.fstat(above))
            self._fd = os.open(name, _FILE, dir_fd=above)
        finally:
            os.close(above)
        status = os.fstat(self._fd)
        if not S_ISREG(status.st_mode):
            os.close(self._fd)
            raise OSError(EINVAL, os.strerror(EINVAL), path)
        self.id = place_of(status)
        self.size = status.st_size
        self.changed = status.st_mtime_ns

    def __enter__(self) -> _Opened:
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self._fd)

    def read(self, most: int, *, at: int = 0) -> bytes:
        """Returns ``most`` bytes from a position on, or what there is."""
        pieces = []
        while most > 0:
            piece = os.pread(self._fd, min(most, _PIECE), at)
            if not piece:
                break
            pieces.append(piece)
            at += len(piece)
            most -= len(piece)
        return b"".join(pieces)
