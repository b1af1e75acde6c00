"""Scratch: a directory for what is over soon, and a program that ends with all it started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from stat import S_ISDIR

from takeback import durable
from takeback.errors import TakebackError
from takeback.store import location as locations
from takeback.store.journal import delete_below
from takeback.store.lock import Lock
from takeback.worktree.removal import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# -- a program that is run for the person: it leads a process group, and ends with all it started


ELSEWHERE = frozenset(("OLDPWD", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"))
"""Variables that only say where somebody was: such a program does not get them."""
_PATIENCE = 3.0
"""Seconds that a program has to end by itself after it was told to."""
_PUT_OFF = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Unbroken:
    """Puts off what ends this process until a command is started, and can be ended with it.

    They are not blocked: the command would inherit that.
    """

    def __enter__(self) -> None:
        self._came: list[int] = []
        self._before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():  # only there they are heard
            self._before = {one: signal.signal(one, self._note) for one in _PUT_OFF}

    def __exit__(self, *exc: object) -> None:
        for one, before in self._before.items():
            signal.signal(one, before)
        for one in self._came:
            signal.raise_signal(one)

    def _note(self, number: int, frame: object) -> None:
        self._came.append(number)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a command with all that it started, by force if it does not end by itself."""
    kill_group(process, signal.SIGTERM)
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        pass
    kill_group(process, signal.SIGKILL)
    process.wait()


def kill_group(process: subprocess.Popen[bytes], number: int) -> None:
    """Sends a signal to the group that the command leads; it may be gone."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return


# -- scratch: a directory of takeback's own for something that is over soon
#
#     $TAKEBACK_HOME/<what for>-<token>/
#         lock      held as long as it is in use: without it, the directory is a leftover
#         ...       whatever it is for
#
# Whatever ends the process, the next one that makes such a directory removes what is left of it.


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
