"""Reads agents' transcripts: the only code that opens one.

An agent may be writing it at the same moment, and another program may have put anything in its
place. So only an ordinary file is read, never more of it than a limit, and never by blocking.

An event says where a transcript is, and a model may have told it. So it is read only where it may
lie: beneath a directory of the agent's own, or one that a person has set. No link below that is
followed, and whatever is read later must be in that very directory.
"""

from __future__ import annotations

import os
from errno import EACCES, EINVAL
from stat import S_ISREG

from takeback import kernel
from takeback.model.session import TranscriptPart
from takeback.paths import user_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ops.context import Context
    from takeback.ports import Adapter

_LIMIT = 1 << 29
_PIECE = 1 << 20
_HEAD = 1 << 12
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


def transcript_roots(context: Context, adapter: Adapter) -> tuple[str, ...]:
    """Returns the directories beneath which the transcripts of an agent are read.

    They are its own, or the workspace if it says none, and those that the person has set.
    """
    own = adapter.sessions_root(context.environ) or os.fsdecode(context.workspace.root)
    home = os.fsdecode(user_home(context.environ))
    more = (
        f"{home}{one[1:]}" if one == "~" or one.startswith("~/") else one
        for one in context.policy.transcripts
    )
    return tuple(one for one in (own, *more) if os.path.isabs(one))


def may_lie_at(path: str, roots: tuple[str, ...]) -> bool:
    """Tells whether a transcript may be there: beneath one of some directories."""
    try:
        return _beneath(os.path.realpath(path), roots) is not None
    except (OSError, ValueError):
        return False


def _beneath(real: str, roots: tuple[str, ...]) -> tuple[str, str] | None:
    """Returns the directory that a path without links is beneath, and the rest of the path.

    None, too, for a file that usually holds a secret: no conversation is in it.
    """
    for root in roots:
        above = os.path.realpath(root).rstrip("/")
        if real.startswith(f"{above}/"):
            from takeback.model.sensitive import is_sensitive  # only where there is a transcript

            inside = real[len(above) + 1 :]
            return None if is_sensitive(os.fsencode(inside)) else (above or "/", inside)
    return None


def parts_now(
    paths: tuple[str, ...], roots: tuple[str, ...] | None = None
) -> tuple[TranscriptPart, ...]:
    """Returns the files of a transcript with their present length; missing ones are left out.

    So are those that are not beneath one of the ``roots``, if any are given. An agent only appends,
    so that many first bytes are the transcript of this moment whenever they are read.
    """
    found = []
    for path in paths:
        try:
            real = os.path.realpath(path)
            with _Opened(real, roots=roots) as file:
                named = real if os.path.islink(path) else path
                found.append(TranscriptPart(named, file.size, file.place))
        except (OSError, ValueError):
            continue
    return tuple(found)


def read_part(part: TranscriptPart) -> tuple[TranscriptPart, bytes] | None:
    """Returns the first bytes of a file, and which part they are.

    The part says how many they are and which file they were found in. None if the file is missing,
    not an ordinary one, or too long to be kept.
    """
    if part.size > _LIMIT:
        return None
    try:
        with _Opened(part.path, part.place) as file:
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
        with _Opened(part.path, part.place) as file:
            head, tail = file.read(first), file.read(part.size - at, at=at)
            found = part.replace(size=at + len(tail), place=file.place, file=file.id)
            return (found, head, tail) if tail else None
    except (OSError, ValueError):
        return None


def read_now(part: TranscriptPart, roots: tuple[str, ...] = ()) -> bytes | None:
    """Returns all of a file as it is now; None if ``read_part`` would return None.

    It may have come to lie in another directory since, if that is beneath one of the ``roots``.
    """
    try:
        with _Opened(part.path, part.place, roots=roots) as file:
            data = file.read(_LIMIT + 1) if file.size <= _LIMIT else None
    except (OSError, ValueError):
        return None
    return None if data is None or len(data) > _LIMIT else data


def read_tail(part: TranscriptPart, most: int) -> bytes | None:
    """Returns the last bytes of a file as it is now; None as in ``read_part``."""
    try:
        with _Opened(part.path, part.place) as file:
            return file.read(most, at=max(0, file.size - most))
    except (OSError, ValueError):
        return None


def identity_of(part: TranscriptPart, *, grown: bool) -> tuple[str | int, ...]:
    """Returns what tells a file that has this part from another at its path; empty if none has.

    One that was only appended to is another one too, unless it may have ``grown``.
    """
    try:
        with _Opened(part.path, part.place) as file:
            if file.size < part.size:
                return ()
            own = (file.id, hash(file.read(min(part.size, _HEAD))))
            return own if grown else (*own, file.size, file.changed)
    except (OSError, ValueError):
        return ()


def first_line(path: str, most: int) -> bytes | None:
    """Returns the first line, or ``most`` bytes of it; None if it is no ordinary file."""
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


def _recorded(folder: str, place: str) -> int | None:
    """Opens a directory; None if it is not the one that was recorded, if one was."""
    fd = os.open(folder, _FOLDER)
    if not place or place_of(os.fstat(fd)) == place:
        return fd
    os.close(fd)
    return None


def _folder_beneath(real: str, roots: tuple[str, ...]) -> int:
    """Opens the directory of a file beneath one of the roots, through no link."""
    found = _beneath(real, roots)
    if found is None:
        raise OSError(EACCES, os.strerror(EACCES), real)
    root = os.open(found[0], _FOLDER)
    try:
        inside = os.fsencode(os.path.dirname(found[1]))
        return kernel.open_directory_beneath(root, inside, only_to_read=True)
    finally:
        os.close(root)


class _Opened:
    """An ordinary file, open for reading; raises OSError or ValueError if there is none.

    With a ``place`` it is in that directory, else, with ``roots``, beneath one of them; and then it
    is no link.
    """

    def __init__(self, path: str, place: str = "", *, roots: tuple[str, ...] | None = None) -> None:
        folder, name = os.path.split(path)
        anywhere = not place and roots is None
        above = _recorded(folder or ".", place) if place or anywhere else None
        if above is None:
            above = _folder_beneath(os.path.join(os.path.realpath(folder), name), roots or ())
        try:
            self.place = place_of(os.fstat(above))
            flags = _FILE if anywhere else _FILE | os.O_NOFOLLOW
            self._fd = os.open(name, flags, dir_fd=above)
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
