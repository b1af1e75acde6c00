"""A program that is run for the person: it leads a process group, and ends with all it started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
