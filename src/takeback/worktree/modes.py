"""Changes the permission bits of one directory."""

from __future__ import annotations

import os

from takeback import durable
from takeback.worktree.resume import CHANGED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.worktree.unit import Unit

MODE_SET = "set"
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def set_directory_mode(parent_fd: int, unit: Unit) -> str | None:
    """Returns MODE_SET, None if the bits are right already, or why they are left alone.

    The root of the workspace has no name: it is the directory that is given.
    """
    assert unit.new is not None
    assert unit.old is not None
    fd = _opened(parent_fd, unit.name or b".")
    try:
        present = os.fstat(fd).st_mode & 0o777
        if present == unit.new.mode & 0o777:
            return None
        if present != unit.old.mode & 0o777:
            return CHANGED
        durable.chmod(fd, unit.new.mode)
        return MODE_SET
    finally:
        os.close(fd)


def _opened(parent_fd: int, name: bytes) -> int:
    """Opens a directory; if its bits forbid that, as a mere path, which is enough to set them."""
    try:
        return os.open(name, _FLAGS, dir_fd=parent_fd)
    except PermissionError:
        if not hasattr(os, "O_PATH"):
            raise
        flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, dir_fd=parent_fd)
