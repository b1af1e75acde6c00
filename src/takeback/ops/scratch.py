"""Scratch: a directory of takeback's own for something that is over soon.

    $TAKEBACK_HOME/<what for>-<token>/
        lock      held as long as it is in use: without it, the directory is a leftover
        ...       whatever it is for

Whatever ends the process, the next one that makes such a directory removes what is left of it.
"""

from __future__ import annotations

import os
from stat import S_ISDIR

from takeback import durable
from takeback.errors import TakebackError
from takeback.store import location as locations
from takeback.store.clearing import delete_below
from takeback.store.lock import Lock
from takeback.worktree.removal import remove_tree

_LOCK = "lock"
_TOKEN = 6


class ScratchDirectory:
    """One such directory, in use until it is removed."""

    def __init__(self, home: str, purpose: str) -> None:
        """Makes it, after removing those of the same purpose that nobody uses any more."""
        durable.make_directories(home)
        _remove_leftovers(home, purpose)
        self.path = os.path.join(home, f"{purpose}-{os.urandom(_TOKEN).hex()}")
        durable.mkdir(self.path)
        self._lock = Lock(os.path.join(self.path, _LOCK))
        self._lock.acquire(purpose, wait=0)

    def inside(self, name: str) -> str:
        """Returns the path of something in it."""
        return os.path.join(self.path, name)

    def remove(self) -> None:
        """Removes it with everything in it; raises OSError if something is still written there."""
        try:
            _remove_all(self.path)
        finally:
            self._lock.release()


def _remove_leftovers(home: str, purpose: str) -> None:
    """Removes what killed processes left; one that is in use is locked."""
    for name in locations.listing(home):
        path = os.path.join(home, name)
        if _is_scratch(name, purpose) and S_ISDIR(os.lstat(path).st_mode):
            _remove_unused(path, purpose)


def _is_scratch(name: str, purpose: str) -> bool:
    """Tells whether a name is one that ``ScratchDirectory`` makes."""
    token = name.removeprefix(f"{purpose}-")
    return len(token) == 2 * _TOKEN and token != name and set(token) <= set("0123456789abcdef")


def _remove_unused(path: str, purpose: str) -> None:
    lock = Lock(os.path.join(path, _LOCK))
    try:
        lock.acquire(purpose, wait=0)
    except TakebackError:
        return
    try:
        _remove_all(path)
    except OSError:
        return  # a program that the killed process had started still writes there
    finally:
        lock.release()


def _remove_all(path: str) -> None:
    """Removes a directory of ours; whatever modes are in it, and the lock last."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for name in os.listdir(fd):
            if name != _LOCK:
                remove_tree(fd, os.fsencode(name))
    finally:
        os.close(fd)
    delete_below(path)
    durable.rmdir(path)
