"""Reads an agent's transcript, which the agent may be writing at the same moment."""

from __future__ import annotations

import os
from stat import S_ISREG

from takeback.model.session import TranscriptPart

_LIMIT = 1 << 29
_PIECE = 1 << 20


def parts_now(paths: tuple[str, ...]) -> tuple[TranscriptPart, ...]:
    """Returns the files of a transcript with their present length; those not there are left out.

    An agent only appends, so the first bytes of that length are the transcript of this moment
    whenever they are read.
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


def read_beginning(part: TranscriptPart) -> bytes | None:
    """Returns the first bytes of a transcript; None if it is not there or no ordinary file."""
    if part.size > _LIMIT:
        return None
    try:
        fd = os.open(part.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        if not S_ISREG(os.fstat(fd).st_mode):
            return None
        pieces = []
        left = part.size
        while left > 0:
            piece = os.read(fd, min(left, _PIECE))
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)
    except OSError:
        return None
    finally:
        os.close(fd)
