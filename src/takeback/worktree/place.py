"""Places: directories held open, a position among them, and what is on the disk at one name."""

from __future__ import annotations

import errno
import os
from stat import S_ISDIR, S_ISLNK, S_ISREG

from takeback import kernel
from takeback.git.objects import BLOB, new_hasher, object_id
from takeback.model.checkpoint import Entry, entry_mode
from takeback.model.value import Value
from takeback.ordinary import all_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from takeback.worktree.apply import Inside

    Signature = tuple[int, ...]

# -- a position in a tree of directories, moved up and down through open descriptors
#
# A tree may be deeper than the longest allowed path, and have more levels than a process may have
# descriptors. So only the nearest levels are held open; the way up beyond them is ``..``, taken
# only if it leads to the very directory that we came from.


_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_HELD_OPEN = 8


class Descent:
    """Starts at an open directory, which the caller keeps. Raises OSError where it cannot go.

    No step crosses a symbolic link. ``fd`` is the current directory.
    """

    def __init__(self, fd: int) -> None:
        self._top = fd
        self._names: list[bytes] = []
        self._identities = [_identity(fd)]
        self._open: list[int] = []  # of the deepest levels, the last is where we are

    def __enter__(self) -> Descent:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def fd(self) -> int:
        return self._open[-1] if self._open else self._top

    def down(self, name: bytes) -> None:
        """Goes into one directory."""
        fd = os.open(name, _DIRECTORY, dir_fd=self.fd)
        self._open.append(fd)
        self._names.append(name)
        self._identities.append(_identity(fd))
        if len(self._open) > _HELD_OPEN:
            os.close(self._open.pop(0))

    def up(self) -> None:
        """Goes back to the directory that we came from; ESTALE if the way there is gone."""
        if len(self._open) == 1 and len(self._names) > 1:
            above = os.open(b"..", _DIRECTORY, dir_fd=self._open[0])
            if _identity(above) != self._identities[-2]:
                os.close(above)
                raise OSError(errno.ESTALE, "a directory was moved meanwhile")
            self._open.insert(0, above)
        os.close(self._open.pop())
        self._names.pop()
        self._identities.pop()

    def go(self, path: bytes) -> None:
        """Goes to a directory by its path below the start, by the shortest way."""
        wanted = path.split(b"/") if path else []
        same = 0
        for here, there in zip(self._names, wanted, strict=False):
            if here != there:
                break
            same += 1
        while len(self._names) > same:
            self.up()
        for name in wanted[same:]:
            self.down(name)

    def close(self) -> None:
        """Gives the descriptors back."""
        while self._open:
            os.close(self._open.pop())


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


# -- directories of the workspace that are held open while files in them are changed


_AT_MOST = 256
_AT_LEAST = 4


def _room() -> int:
    """Returns how many may be held open: a quarter of what a process may have."""
    import resource  # not needed before the first directory is opened

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _AT_MOST
    return max(_AT_LEAST, min(_AT_MOST, soft // 4))


class OpenDirectories:
    """Opens each directory once, crossing no link and no mount, and closes the oldest first.

    A descriptor is valid until the next directory is asked for.
    """

    def __init__(self, root_fd: int) -> None:
        self._root_fd = root_fd
        self._open: dict[bytes, int] = {}
        self._room = 0

    def __getitem__(self, path: bytes) -> int:
        fd = self._open.get(path)
        if fd is None:
            self._room = self._room or _room()
            while len(self._open) >= self._room:
                self._close_oldest(1)
            fd = self._opened(path)
            self._open[path] = fd
        return fd

    def _opened(self, path: bytes) -> int:
        while True:
            try:
                return kernel.open_directory_beneath(self._root_fd, path)
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._open:
                    raise
                # others hold more than we thought: with fewer of ours it may work
                self._room = max(_AT_LEAST, len(self._open) // 2)
                self._close_oldest((len(self._open) + 1) // 2)

    def _close_oldest(self, number: int) -> None:
        for path in list(self._open)[:number]:
            os.close(self._open.pop(path))

    def forget(self, path: bytes) -> None:
        """Closes a directory that is about to be removed."""
        fd = self._open.pop(path, None)
        if fd is not None:
            os.close(fd)

    def close(self) -> None:
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()


# -- looks at what is on the disk at one name, and compares it with an entry of a snapshot


_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_PIECE = 1 << 20


class Seen(Value):
    """What was found at a name, hashed, and the signature it had before and after the hashing."""

    entry: Entry
    signature: Signature


def status(dir_fd: int, name: bytes) -> os.stat_result | None:
    """Returns the status of a name, not following a link; None if it is not there."""
    try:
        return os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def signature(found: os.stat_result) -> Signature:
    """Returns what changes when a file is written to, replaced, renamed or linked."""
    return (
        found.st_ctime_ns,
        found.st_dev,
        found.st_ino,
        found.st_mode,
        found.st_size,
        found.st_mtime_ns,
    )


def entry_at(dir_fd: int, name: bytes) -> Entry | None:
    """Returns what is at a name as an entry: content hashed, nothing trusted.

    A directory's id is empty: compare its contents separately. None if there is nothing, or a
    special file. Raises OSError if it cannot be read, or changes while it is being read.
    """
    seen = look(dir_fd, name)
    return None if seen is None else seen.entry


def look(dir_fd: int, name: bytes) -> Seen | None:
    """Returns what ``entry_at`` does, with the signature that it had throughout."""
    found = status(dir_fd, name)
    return None if found is None else _read(dir_fd, name, found)


def _read(dir_fd: int, name: bytes, found: os.stat_result) -> Seen | None:
    if S_ISLNK(found.st_mode):
        target = os.readlink(name, dir_fd=dir_fd)
        return Seen(Entry(entry_mode(found.st_mode), object_id(BLOB, target)), signature(found))
    if S_ISDIR(found.st_mode):
        return Seen(Entry(entry_mode(found.st_mode), b""), signature(found))
    if not S_ISREG(found.st_mode):
        return None
    fd = os.open(name, _FLAGS, dir_fd=dir_fd)
    try:
        found = os.fstat(fd)
        if not S_ISREG(found.st_mode):
            return None
        hasher = new_hasher(found.st_size)
        hasher.update(b"blob %d\0" % found.st_size)
        while piece := os.read(fd, _PIECE):
            hasher.update(piece)
        if signature(os.fstat(fd)) != signature(found):
            raise OSError(errno.EAGAIN, "it changes while it is read", name)
        return Seen(Entry(entry_mode(found.st_mode), hasher.digest()), signature(found))
    finally:
        os.close(fd)


def matches(dir_fd: int, name: bytes, entry: Entry | None, inside: Inside = ()) -> bool:
    """Tells whether a name holds exactly ``entry`` (None: nothing), a directory with ``inside``."""
    if entry is None:
        return status(dir_fd, name) is None
    return examine(dir_fd, name, entry, inside) is not None


def examine(
    dir_fd: int, name: bytes, entry: Entry, inside: Inside = ()
) -> dict[bytes, Signature] | None:
    """Returns the signature of each path in an entry (its own is ``b""``); None if it differs.

    ``unchanged`` later uses them to find out, without reading, whether it is still the same.
    """
    found = status(dir_fd, name)
    if found is None or entry_mode(found.st_mode) != entry.mode:
        return None
    seen = _read(dir_fd, name, found)
    if seen is None or seen.entry.mode != entry.mode:
        return None
    signatures = {b"": seen.signature}
    if not entry.is_directory:
        return signatures if seen.entry.oid == entry.oid else None
    wanted = dict(inside)
    with Descent(dir_fd) as at:
        at.down(name)
        for path, below in walk(at.fd):
            expected = wanted.pop(path, None)
            if expected is None or below is None or expected.mode != below.entry.mode:
                return None
            if not expected.is_directory and expected.oid != below.entry.oid:
                return None
            signatures[path] = below.signature
    return None if wanted else signatures


def unchanged(dir_fd: int, name: bytes, signatures: Mapping[bytes, Signature]) -> bool:
    """Tells whether a directory is as ``examine`` found it, whatever its own name is now."""
    found = status(dir_fd, name)
    # renaming the top has changed its own ctime
    if found is None or signature(found)[1:] != signatures[b""][1:]:
        return False
    count = 1
    with Descent(dir_fd) as at:
        at.down(name)
        for path, _, _, below in _everything(at.fd):
            if signature(below) != signatures.get(path):
                return False
            count += 1
    return count == len(signatures)


def walk(dir_fd: int) -> Iterator[tuple[bytes, Seen | None]]:
    """Yields everything below an open directory, hashed; None for a special file.

    Parents come before children. Raises OSError if something cannot be read.
    """
    for path, fd, name, found in _everything(dir_fd):
        yield path, _read(fd, name, found)


def names_in(dir_fd: int) -> list[bytes]:
    """Returns the names in an open directory, sorted."""
    return sorted(map(os.fsencode, all_names(dir_fd)))


def _everything(dir_fd: int) -> Iterator[tuple[bytes, int, bytes, os.stat_result]]:
    """Yields (path, its directory's descriptor, name, status) of all below, parents first."""
    with Descent(dir_fd) as at:
        pending = [(b"", names_in(dir_fd)[::-1])]
        while pending:
            prefix, names = pending[-1]
            if not names:
                pending.pop()
                if pending:
                    at.up()
                continue
            name = names.pop()
            found = status(at.fd, name)
            if found is None:
                continue  # it vanished after the listing
            yield prefix + name, at.fd, name, found
            if S_ISDIR(found.st_mode):
                at.down(name)
                pending.append((prefix + name + b"/", names_in(at.fd)[::-1]))
