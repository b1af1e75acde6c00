"""Ends a process, or makes its disk fail, at the Nth durable step of what it does.

takeback calls ``durable.faults.step(name)`` before each change of a disk. An action runs in a
forked process with a ``Faults`` in that place; the parent learns how it ended.
"""

from __future__ import annotations

import marshal
import os
import signal
import traceback
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from takeback import durable
from takeback.errors import TakebackError
from tests.support.alarm import alarm
from tests.support.processes import reap

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer


class Faults:
    """Counts steps; from step ``at`` (1 is the first) on it kills the process or fails.

    ``errno`` is raised at that step alone, or at each from there on if ``sticky``. Without an
    ``errno`` the process is killed. ``tear`` kills in the middle of that step if it is a write:
    half of the bytes reach the file.
    """

    def __init__(
        self, at: int = 0, *, errno: int = 0, sticky: bool = False, tear: bool = False
    ) -> None:
        self.at = at
        self.errno = errno
        self.sticky = sticky
        self.tear = tear
        self.names: list[str] = []

    def step(self, name: str) -> None:
        self.names.append(name)
        count = len(self.names)
        if not self.at or count < self.at or (count > self.at and not self.sticky):
            return
        if self.errno:
            raise OSError(self.errno, os.strerror(self.errno))
        if self.tear and name == "write":
            os.write = _write_half_and_die  # this process has one more system call to live
            return
        die()


class Ran(NamedTuple):
    """How an action ended: killed, or with the name and text of an error, or neither."""

    killed: bool
    steps: tuple[str, ...]
    error: str
    clean: bool
    """The error, if any, is one of takeback's own."""
    text: str
    answer: Any = None
    """What the action returned: plain values only."""

    @property
    def done(self) -> bool:
        return not self.killed and not self.error


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _write_half_and_die(fd: int, data: Buffer) -> int:
    whole = bytes(data)
    os.pwrite(fd, whole[: len(whole) // 2], os.lseek(fd, 0, os.SEEK_CUR))
    die()
    return 0


class Running:
    """A forked process that carries out an action; wait for it, or kill it first."""

    def __init__(self, action: Callable[[], Any], faults: Faults | None, limit: int) -> None:
        self._answer, write = os.pipe()
        with warnings.catch_warnings():
            # Python 3.12 warns that a fork copies one thread only; the others are pytest's.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            os.close(self._answer)
            os.setsid()
            _act(action, faults or Faults(), write, limit)
        os.close(write)

    def kill(self) -> None:
        """Kills it with all that it started."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has not made its own group yet
            os.kill(self.pid, signal.SIGKILL)

    def outcome(self) -> Ran:
        """Waits until it has ended, and returns how; the test fails if by no kill and no answer."""
        with os.fdopen(self._answer, "rb") as pipe:
            answer = pipe.read()
        status = reap(self.pid)
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL, f"ended by signal {os.WTERMSIG(status)}"
            return Ran(True, (), "", True, "")
        assert os.WEXITSTATUS(status) == 0, f"ended with status {os.WEXITSTATUS(status)}"
        names, error, clean, text, value = marshal.loads(answer)
        return Ran(False, tuple(names), error, clean, text, value)


def start(action: Callable[[], Any], faults: Faults | None = None, *, limit: int = 60) -> Running:
    """Begins to carry out ``action`` in a forked process, in a process group of its own."""
    return Running(action, faults, limit)


def run(action: Callable[[], Any], faults: Faults | None = None, *, limit: int = 60) -> Ran:
    """Carries out ``action`` in a forked process and returns how it ended."""
    return start(action, faults, limit=limit).outcome()


def _act(action: Callable[[], Any], faults: Faults, answer: int, limit: int) -> None:
    """Runs in the forked process and never returns into the test's frames."""
    status = 1
    try:
        durable.faults = faults
        error, clean, text, value = "", True, "", None
        try:
            with alarm(limit):  # those of the test are not for its children
                value = action()
        except TakebackError as failure:
            error, text = type(failure).__name__, f"{failure.message} ({failure.hint})"
        except BaseException as failure:  # noqa: BLE001 - the parent must hear of every kind
            error, clean, text = type(failure).__name__, False, traceback.format_exc()
        durable.faults = None
        report = marshal.dumps((faults.names, error, clean, text, value))
        while report:
            report = report[os.write(answer, report) :]
        status = 0
    finally:
        os._exit(status)
