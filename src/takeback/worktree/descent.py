"""A position in a tree of directories, moved up and down through open descriptors.

A tree may be deeper than the longest allowed path, and have more levels than a process may have
descriptors. So only the nearest levels are held open; the way up beyond them is ``..``, taken only
if it leads to the very directory that we came from.
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
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
        fd = os.open(name, _FLAGS, dir_fd=self.fd)
        self._open.append(fd)
        self._names.append(name)
        self._identities.append(_identity(fd))
        if len(self._open) > _HELD_OPEN:
            os.close(self._open.pop(0))

    def up(self) -> None:
        """Goes back to the directory that we came from; ESTALE if the way there is gone."""
        if len(self._open) == 1 and len(self._names) > 1:
            above = os.open(b"..", _FLAGS, dir_fd=self._open[0])
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
